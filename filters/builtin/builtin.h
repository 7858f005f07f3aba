// The filters that Weir ships.
//
// Thread safety: pure functions.

#ifndef WEIR_FILTERS_BUILTIN_BUILTIN_H_
#define WEIR_FILTERS_BUILTIN_BUILTIN_H_

#include "filters/filter.h"

namespace weir::filters {

// Adds `access`, `balancer`, `cache`, `count`, `delay`, `deny`, `fault`, `log`, `message-log`,
// `rate-limit`, `replace`, `router` and `transform`. REQUIRES: none of them is there yet.
void AddBuiltinFilters(FilterKinds* kinds);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_BUILTIN_H_
