// The filter kind `grpc`: a filter in another process that serves weir.filter.v1.

#ifndef WEIR_FILTERS_REMOTE_GRPC_KIND_H_
#define WEIR_FILTERS_REMOTE_GRPC_KIND_H_

#include <memory>

#include "filters/filter.h"

namespace weir::filters {

// Must outlive the filters that it makes.
std::unique_ptr<FilterKind> NewGrpcKind();

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_GRPC_KIND_H_
