// Logs calls, one line each: the up method `request`, the down method `reply`.
//
//   event=request plug=audit call=17 peer=tcp:10.0.0.7:40112 key=NameService operation=resolve
//   event=reply plug=audit call=17 peer=... key=... operation=resolve
//       status=SYSTEM_EXCEPTION exception=OBJECT_NOT_EXIST minor=2 completed=NO microseconds=184
//
// (each on one line). `microseconds` counts from when the first filter saw the request.

#ifndef WEIR_FILTERS_BUILTIN_LOG_H_
#define WEIR_FILTERS_BUILTIN_LOG_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

std::unique_ptr<FilterKind> NewLogKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_LOG_H_
