#include "tools/weir/control_client.h"

#include <errno.h>
#include <grpcpp/grpcpp.h>
#include <string.h>
#include <sys/un.h>

#include <chrono>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "control/listen_address.h"
#include "control/status.h"
#include "weir/control/v1/control.grpc.pb.h"

namespace weir::tools {
namespace {

namespace v1 = control::v1;

std::chrono::system_clock::time_point After(double seconds) {
  return std::chrono::system_clock::now() +
         std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
}

absl::Status CheckAddress(const std::string& address) {
  constexpr std::string_view kForms = "write unix:PATH or HOST:PORT";
  if (address.empty()) {
    return absl::InvalidArgumentError(
        "where is the control plane? Give --control unix:PATH or --control HOST:PORT, or set "
        "WEIR_CONTROL");
  }
  if (address.starts_with("unix:")) {
    const size_t size = address.size() - 5;
    if (size > 0 && size < sizeof(sockaddr_un::sun_path)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("control address '", address, "': a path of ",
                                                   size, " bytes, but a Unix socket's has 1 to ",
                                                   sizeof(sockaddr_un::sun_path) - 1));
  }
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 1 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("control address '", address, "' is not valid: ", std::string(kForms)));
  }
  return absl::OkStatus();
}

// "No such file or directory" out of gRPC's account of all its attempts.
std::string Cause(const std::string& text) {
  constexpr std::string_view kMark = "last error: ";
  const size_t at = text.find(kMark);
  if (at == std::string::npos) return text;
  std::string cause = text.substr(at + kMark.size());
  // "UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to remote host: Connection refused"; the address
  // is named by our own text.
  const size_t last = cause.rfind(": ");
  if (last != std::string::npos) cause.erase(0, last + 2);
  return cause;
}

}  // namespace

class ControlClient::Impl {
 public:
  Impl(std::string address, double timeout, std::string doing)
      : address_(std::move(address)), doing_(std::move(doing)), timeout_(timeout) {
    grpc::ChannelArguments arguments;
    // A proxy of the environment is for other traffic.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // A large registry is listed in one message.
    arguments.SetMaxReceiveMessageSize(256 << 20);
    channel_ = grpc::CreateCustomChannel(control::GrpcTarget(address_),
                                         grpc::InsecureChannelCredentials(), arguments);
    stub_ = v1::Control::NewStub(channel_);
  }

  absl::Status Connect();
  // What a call that failed means to a person. `changes`: whether it might have changed something.
  absl::Status Explain(const grpc::Status& status, bool changes) const;
  void Prepare(grpc::ClientContext* context, double extra = 0) const {
    context->set_deadline(After(timeout_ + extra));
  }
  v1::Control::Stub* stub() const { return stub_.get(); }

  // A call that changes no state.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Ask(grpc::Status (v1::Control::Stub::*method)(grpc::ClientContext*,
                                                                         const Request&, Response*),
                               const Request& request) const {
    grpc::ClientContext context;
    Prepare(&context);
    Response response;
    absl::Status status =
        Explain((stub_.get()->*method)(&context, request, &response), /*changes=*/false);
    if (!status.ok()) return status;
    return response;
  }

 private:
  std::string At() const { return absl::StrCat("the control plane at ", address_); }

  const std::string address_;
  const std::string doing_;
  const double timeout_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Control::Stub> stub_;
};

absl::Status ControlClient::Impl::Connect() {
  const auto deadline = After(timeout_);
  for (;;) {
    const grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return absl::OkStatus();
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) break;
    if (!channel_->WaitForStateChange(state, deadline)) {
      return absl::DeadlineExceededError(
          absl::StrCat(doing_, ": no answer from ", At(), " within ", timeout_,
                       " s; is it a control plane's address? Nothing was changed"));
    }
  }
  // A call on a failed channel fails at once and tells the cause.
  grpc::ClientContext context;
  context.set_deadline(deadline);
  v1::GetStatusResponse response;
  const grpc::Status status = stub_->GetStatus(&context, {}, &response);
  if (status.ok()) return absl::OkStatus();
  const std::string cause = Cause(status.error_message());
  if (cause == strerror(EACCES)) {
    return absl::PermissionDeniedError(
        absl::StrCat(doing_, ": may not reach ", At(), ": ", cause,
                     "; it is for the user that runs the node. Nothing was changed"));
  }
  return absl::UnavailableError(
      absl::StrCat(doing_, ": cannot reach ", At(), ": ", cause,
                   "; is the node running, and is this its --control? Nothing was changed"));
}

absl::Status ControlClient::Impl::Explain(const grpc::Status& status, bool changes) const {
  const absl::Status plain = control::FromGrpc(status);
  if (plain.ok()) return plain;
  const std::string unknown =
      changes ? "; whether it was committed is not known, look with 'weir list'" : "";
  switch (plain.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError(
          absl::StrCat(doing_, ": ", At(), " did not answer within ", timeout_, " s", unknown));
    case absl::StatusCode::kUnavailable:
      return absl::UnavailableError(
          absl::StrCat(doing_, ": ", At(), ": ", Cause(status.error_message()), unknown));
    case absl::StatusCode::kCancelled:
      // Not by us: a node that ends gives up what it has not answered yet.
      return absl::UnavailableError(
          absl::StrCat(doing_, ": ", At(), " ended the call; is the node shutting down?", unknown));
    case absl::StatusCode::kUnimplemented:
      return absl::UnimplementedError(
          absl::StrCat(doing_, ": the server at ", address_,
                       " is no Weir control plane, or an older one: ", status.error_message()));
    default:
      return absl::Status(plain.code(), absl::StrCat(doing_, ": ", plain.message()));
  }
}

absl::StatusOr<std::unique_ptr<ControlClient>> ControlClient::Connect(const std::string& address,
                                                                      double timeout,
                                                                      const std::string& doing) {
  absl::Status checked = CheckAddress(address);
  if (!checked.ok()) return checked;
  auto impl = std::make_unique<Impl>(address, timeout, doing);
  absl::Status connected = impl->Connect();
  if (!connected.ok()) return connected;
  return std::unique_ptr<ControlClient>(new ControlClient(std::move(impl)));
}

ControlClient::ControlClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControlClient::~ControlClient() = default;

absl::StatusOr<v1::ApplyResponse> ControlClient::Apply(const v1::ApplyRequest& request) {
  grpc::ClientContext context;
  impl_->Prepare(&context, request.has_drain() ? request.drain().timeout_ms() / 1e3 : 0);
  v1::ApplyResponse response;
  absl::Status status =
      impl_->Explain(impl_->stub()->Apply(&context, request, &response), /*changes=*/true);
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::ListResponse> ControlClient::List(const v1::ListRequest& request) {
  grpc::ClientContext context;
  impl_->Prepare(&context);
  v1::ListResponse response;
  absl::Status status =
      impl_->Explain(impl_->stub()->List(&context, request, &response), /*changes=*/false);
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::GetStatusResponse> ControlClient::GetStatus() {
  grpc::ClientContext context;
  impl_->Prepare(&context);
  v1::GetStatusResponse response;
  absl::Status status =
      impl_->Explain(impl_->stub()->GetStatus(&context, {}, &response), /*changes=*/false);
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::MeasureResponse> ControlClient::Measure(const v1::MeasureRequest& request) {
  return impl_->Ask(&v1::Control::Stub::Measure, request);
}

absl::StatusOr<v1::ListCallsResponse> ControlClient::ListCalls(
    const v1::ListCallsRequest& request) {
  return impl_->Ask(&v1::Control::Stub::ListCalls, request);
}

absl::StatusOr<v1::TellResponse> ControlClient::Tell(const v1::TellRequest& request) {
  return impl_->Ask(&v1::Control::Stub::Tell, request);
}

absl::StatusOr<v1::ExplainCallResponse> ControlClient::ExplainCall(
    const v1::ExplainCallRequest& request) {
  return impl_->Ask(&v1::Control::Stub::ExplainCall, request);
}

absl::Status ControlClient::Watch(const v1::WatchRequest& request,
                                  const std::function<bool(const v1::WatchResponse&)>& each) {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> reader =
      impl_->stub()->Watch(&context, request);
  v1::WatchResponse event;
  while (reader->Read(&event)) {
    if (!each(event)) {
      context.TryCancel();
      reader->Finish();
      return absl::OkStatus();
    }
  }
  absl::Status status = impl_->Explain(reader->Finish(), /*changes=*/false);
  // The service ends a stream only with an error.
  return status.ok() ? absl::UnavailableError("the watch has ended") : status;
}

}  // namespace weir::tools
