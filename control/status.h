// The one place that maps absl::Status to and from grpc::Status. Codes have the same numbers and
// meanings in both; the text goes along.
//
// Thread safety: pure functions.

#ifndef WEIR_CONTROL_STATUS_H_
#define WEIR_CONTROL_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace weir::control {

// In a text that is not UTF-8 (it may quote a peer's bytes) they become '?': clients decode UTF-8.
grpc::Status ToGrpc(const absl::Status& status);
// A code that gRPC does not define becomes UNKNOWN.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace weir::control

#endif  // WEIR_CONTROL_STATUS_H_
