#include "control/server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "control/grpc_service.h"
#include "control/listen_address.h"

namespace weir::control {

class Server::Impl {
 public:
  Impl(Service* service, const Clock* clock, NodeInfoSource info)
      : service_(service), clock_(clock), grpc_service_(service, clock, std::move(info)) {}

  absl::Status Start(const ServerOptions& options);
  const std::string& address() const { return address_; }
  void Shutdown(Nanos deadline);
  const Clock* clock() const { return clock_; }

 private:
  Service* const service_;
  const Clock* const clock_;
  GrpcService grpc_service_;
  std::string address_;  // constant after Start
  Mutex mu_;
  std::unique_ptr<grpc::Server> server_ ABSL_GUARDED_BY(mu_);
};

absl::Status Server::Impl::Start(const ServerOptions& options) {
  absl::StatusOr<ListenAddress> address = ParseListenAddress(options.address, options.allow_remote);
  if (!address.ok()) return address.status();
  absl::StatusOr<BindLock> bind_lock = BindLock::Take(*address);
  if (!bind_lock.ok()) return bind_lock.status();
  absl::Status free = CheckFree(*address);
  if (!free.ok()) return free;

  // Otherwise whoever sends malformed text writes to this process's stderr, as often as it likes.
  google::protobuf::SetLogHandler(nullptr);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // Two nodes on one port would share its connections at random.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(options.max_request_bytes);
  builder.RegisterService(&grpc_service_);
  int port = 0;
  builder.AddListeningPort(GrpcTarget(address->ToString()), grpc::InsecureServerCredentials(),
                           &port);
  // The socket must not be open to others even for a moment, so its mode comes from the mask.
  const mode_t mask = address->is_unix ? umask(0177) : 0;
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (address->is_unix) umask(mask);
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrCat("control address ", options.address,
                     " cannot be bound; is it in use, and may this user write there?"));
  }
  if (!address->is_unix) address->port = port;
  address_ = address->ToString();
  grpc_service_.set_address(address_);
  server->GetHealthCheckService()->SetServingStatus(v1::Control::service_full_name(), true);
  MutexLock lock(&mu_);
  server_ = std::move(server);
  return absl::OkStatus();
}

void Server::Impl::Shutdown(Nanos deadline) {
  std::unique_ptr<grpc::Server> server;
  {
    MutexLock lock(&mu_);
    server = std::move(server_);
  }
  if (server == nullptr) return;
  server->GetHealthCheckService()->Shutdown();
  service_->Shutdown();
  // The longest wait that gRPC's deadline arithmetic is sure to bear.
  const Nanos left = std::clamp<Nanos>(deadline - clock_->Now(), 0, 3600 * kSecond);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(left));
  server->Wait();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                      Service* service, const Clock* clock,
                                                      NodeInfoSource info) {
  auto impl = std::make_unique<Impl>(service, clock, std::move(info));
  absl::Status started = impl->Start(options);
  if (!started.ok()) return started;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { impl_->Shutdown(impl_->clock()->Now()); }

const std::string& Server::address() const { return impl_->address(); }

void Server::Shutdown(Nanos deadline) { impl_->Shutdown(deadline); }

}  // namespace weir::control
