// The control plane as a client sees it: weir.control.v1 without gRPC in sight.
//
// Every error says what was being done, at which address, and what to do next.
//
// Thread safety: none; one call at a time.

#ifndef WEIR_TOOLS_WEIR_CONTROL_CLIENT_H_
#define WEIR_TOOLS_WEIR_CONTROL_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/control/v1/control.pb.h"

namespace weir::tools {

class ControlClient {
 public:
  // Connects to `address` ("unix:PATH" or "HOST:PORT") within `timeout` seconds, which bounds each
  // later call, too. `doing` is what for, for errors: "plug audit". Errors: INVALID_ARGUMENT (no
  // address, or misspelt), UNAVAILABLE (nobody there), DEADLINE_EXCEEDED (somebody mute there).
  static absl::StatusOr<std::unique_ptr<ControlClient>> Connect(const std::string& address,
                                                                double timeout,
                                                                const std::string& doing);
  ~ControlClient();

  // Errors: the service's, as control.proto lists them. After UNAVAILABLE and DEADLINE_EXCEEDED it
  // is not known whether the change set was committed; the text says so.
  absl::StatusOr<control::v1::ApplyResponse> Apply(const control::v1::ApplyRequest& request);
  absl::StatusOr<control::v1::ListResponse> List(const control::v1::ListRequest& request);
  absl::StatusOr<control::v1::GetStatusResponse> GetStatus();
  absl::StatusOr<control::v1::MeasureResponse> Measure(const control::v1::MeasureRequest& request);
  absl::StatusOr<control::v1::ListCallsResponse> ListCalls(
      const control::v1::ListCallsRequest& request);
  absl::StatusOr<control::v1::TellResponse> Tell(const control::v1::TellRequest& request);
  absl::StatusOr<control::v1::ExplainCallResponse> ExplainCall(
      const control::v1::ExplainCallRequest& request);
  // Calls `each` with every event until it returns false (then OK) or the stream ends. The timeout
  // does not count here.
  absl::Status Watch(const control::v1::WatchRequest& request,
                     const std::function<bool(const control::v1::WatchResponse&)>& each);

 private:
  class Impl;
  explicit ControlClient(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_CONTROL_CLIENT_H_
