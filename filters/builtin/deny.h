// Refuses calls with a system exception: the up method `deny`.
//
// Parameter `exception`: the exception's name, NO_PERMISSION unless set. The minor code is Weir's
// kDenied, the completion status NO.

#ifndef WEIR_FILTERS_BUILTIN_DENY_H_
#define WEIR_FILTERS_BUILTIN_DENY_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

std::unique_ptr<FilterKind> NewDenyKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_DENY_H_
