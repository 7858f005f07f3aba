#include "tools/weir/filter_kinds.h"

#include "filters/builtin/builtin.h"
#include "filters/outgoing/repeater.h"
#include "filters/remote/grpc_kind.h"
#include "filters/remote/ref_kind.h"

namespace weir::tools {

void AddFilterKinds(filters::FilterKinds* kinds, filters::OrbHandle* orb) {
  filters::AddBuiltinFilters(kinds);
  kinds->Add(filters::NewGrpcKind());
  kinds->Add(filters::NewRefKind(orb));
  kinds->Add(filters::NewRepeaterKind(orb));
}

}  // namespace weir::tools
