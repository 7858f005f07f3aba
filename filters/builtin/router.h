// `router`: sends calls to another object, of the same server or of any other.

#ifndef WEIR_FILTERS_BUILTIN_ROUTER_H_
#define WEIR_FILTERS_BUILTIN_ROUTER_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

std::unique_ptr<FilterKind> NewRouterKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_ROUTER_H_
