#include "tools/weir/filter_kinds.h"

#include "filters/builtin/builtin.h"
#include "filters/remote/grpc_kind.h"

namespace weir::tools {

void AddFilterKinds(filters::FilterKinds* kinds) {
  filters::AddBuiltinFilters(kinds);
  kinds->Add(filters::NewGrpcKind());
}

}  // namespace weir::tools
