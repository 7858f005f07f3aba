#include "filters/builtin/builtin.h"

#include "filters/builtin/count.h"
#include "filters/builtin/deny.h"
#include "filters/builtin/log.h"

namespace weir::filters {

void AddBuiltinFilters(FilterKinds* kinds) {
  kinds->Add(NewCountKind());
  kinds->Add(NewDenyKind());
  kinds->Add(NewLogKind());
}

}  // namespace weir::filters
