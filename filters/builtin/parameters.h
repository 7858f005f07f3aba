// Reading a plug's parameters.
//
// Thread safety: pure functions.

#ifndef WEIR_FILTERS_BUILTIN_PARAMETERS_H_
#define WEIR_FILTERS_BUILTIN_PARAMETERS_H_

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "filters/filter.h"

namespace weir::filters {

// INVALID_ARGUMENT if `parameters` has another key than those `known` to the filter named `filter`.
absl::Status CheckKeys(const FilterParameters& parameters, std::string_view filter,
                       std::initializer_list<std::string_view> known);

// The number in `parameters[key]`, or `otherwise` if it is not set. INVALID_ARGUMENT unless it is
// in [min, max].
absl::StatusOr<int64_t> IntegerParameter(const FilterParameters& parameters, const char* key,
                                         int64_t min, int64_t max, int64_t otherwise);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_PARAMETERS_H_
