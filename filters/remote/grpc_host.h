// A filter written in C++ as a gRPC server of weir.filter.v1, around a HostedFilter.

#ifndef WEIR_FILTERS_REMOTE_GRPC_HOST_H_
#define WEIR_FILTERS_REMOTE_GRPC_HOST_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "filters/remote/hosted_filter.h"

namespace weir::filters {

// Serves until it is destroyed, which ends all streams and waits for the answers under way.
class GrpcHost {
 public:
  virtual ~GrpcHost() = default;
  // "unix:PATH" or "HOST:PORT" with the real port.
  virtual std::string address() const = 0;
};

// `address` is "unix:PATH" or "HOST:PORT". `filter` must outlive the host; it answers to any name.
// UNAVAILABLE if nobody can listen there.
absl::StatusOr<std::unique_ptr<GrpcHost>> ServeGrpcFilter(const std::string& address,
                                                          HostedFilter* filter);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_GRPC_HOST_H_
