// Counts calls by operation: requests in the up method `count`, replies in the down method `count`.
//
// Operation names come from peers, so their number is limited: parameter `operations` (1 to 65536,
// 1024 unless set). Further ones, and names over 255 bytes, are counted together as "(other)".
//
// The counters of an operation are `requests`, `replies`, and of those `user_exceptions` and
// `system_exceptions`.

#ifndef WEIR_FILTERS_BUILTIN_COUNT_H_
#define WEIR_FILTERS_BUILTIN_COUNT_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

std::unique_ptr<FilterKind> NewCountKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_COUNT_H_
