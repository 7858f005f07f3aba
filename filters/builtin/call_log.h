// The filter that `log` and `message-log` make: a line for each request and each reply, with or
// without the body.

#ifndef WEIR_FILTERS_BUILTIN_CALL_LOG_H_
#define WEIR_FILTERS_BUILTIN_CALL_LOG_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "filters/filter.h"

namespace weir::filters {

// With the first `body_bytes` octets of each body, if set. Method 0 of each phase is the only one.
//
// Thread safety: the filter is safe for concurrent use.
std::unique_ptr<Filter> NewCallLog(std::optional<size_t> body_bytes, const FilterContext& context);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_CALL_LOG_H_
