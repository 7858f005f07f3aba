// weir.control.v1.Control over a control::Service: converts messages and statuses, decides nothing.
// Includes gRPC: for server.cc only.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_CONTROL_GRPC_SERVICE_H_
#define WEIR_CONTROL_GRPC_SERVICE_H_

#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "control/node_info.h"
#include "control/service.h"
#include "weir/control/v1/control.grpc.pb.h"

namespace weir::control {

// Watch is asynchronous, so that idle watchers hold no threads; the other calls may block on the
// store or on a drain and have a thread each.
class GrpcService : public v1::Control::WithCallbackMethod_Watch<v1::Control::Service> {
 public:
  // `service` and `clock` must outlive this.
  GrpcService(control::Service* service, const Clock* clock, NodeInfoSource info)
      : service_(service), clock_(clock), info_(std::move(info)), began_(clock->Now()) {}

  // REQUIRES: called before the server accepts.
  void set_address(std::string address) {
    MutexLock lock(&mu_);
    address_ = std::move(address);
  }

  grpc::Status Apply(grpc::ServerContext* context, const v1::ApplyRequest* request,
                     v1::ApplyResponse* response) override;
  grpc::Status List(grpc::ServerContext* context, const v1::ListRequest* request,
                    v1::ListResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchResponse>* Watch(grpc::CallbackServerContext* context,
                                                     const v1::WatchRequest* request) override;
  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest* request,
                         v1::GetStatusResponse* response) override;
  grpc::Status Measure(grpc::ServerContext* context, const v1::MeasureRequest* request,
                       v1::MeasureResponse* response) override;
  grpc::Status ListCalls(grpc::ServerContext* context, const v1::ListCallsRequest* request,
                         v1::ListCallsResponse* response) override;
  grpc::Status Tell(grpc::ServerContext* context, const v1::TellRequest* request,
                    v1::TellResponse* response) override;
  grpc::Status ExplainCall(grpc::ServerContext* context, const v1::ExplainCallRequest* request,
                           v1::ExplainCallResponse* response) override;

 private:
  control::Service* const service_;  // not the base class of that name
  const Clock* const clock_;
  const NodeInfoSource info_;
  const Nanos began_;
  Mutex mu_;
  std::string address_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::control

#endif  // WEIR_CONTROL_GRPC_SERVICE_H_
