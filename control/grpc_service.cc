#include "control/grpc_service.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/convert.h"
#include "control/observe.h"
#include "control/status.h"

namespace weir::control {
namespace {

constexpr uint32_t kDefaultDrainMs = 30'000;
constexpr uint32_t kMaxDrainMs = 600'000;

// The outcome of a function of observe.h.
template <typename Response>
grpc::Status Answer(absl::StatusOr<Response> result, Response* response) {
  if (!result.ok()) return ToGrpc(result.status());
  *response = *std::move(result);
  return grpc::Status::OK;
}

// A Watch stream. Deletes itself when gRPC is done with it.
//
// Locks are taken in the order Service, WatchReactor, Watcher. Operations are started outside them.
class WatchReactor : public grpc::ServerWriteReactor<v1::WatchResponse> {
 public:
  WatchReactor(Service* service, std::optional<uint64_t> from) {
    absl::StatusOr<std::unique_ptr<Watcher>> watcher = service->Watch(from, [this] { Advance(); });
    {
      MutexLock lock(&mu_);
      if (watcher.ok()) {
        watcher_ = *std::move(watcher);
      } else {
        state_ = kFinished;
      }
    }
    if (!watcher.ok()) {
      Finish(ToGrpc(watcher.status()));
      return;
    }
    // A client learns that its watch stands even if nothing has happened yet.
    StartSendInitialMetadata();
    Advance();
  }

  void OnWriteDone(bool ok) override {
    {
      MutexLock lock(&mu_);
      state_ = kIdle;
      // The peer has gone; OnCancel may come later, or have come already.
      if (!ok) cancelled_ = true;
    }
    Advance();
  }
  void OnCancel() override {
    {
      MutexLock lock(&mu_);
      cancelled_ = true;
    }
    Advance();
  }
  void OnDone() override { delete this; }

 private:
  enum State { kIdle, kWriting, kFinished };

  // Starts the next operation if none is under way and there is one to start.
  void Advance() {
    grpc::Status end;
    bool write = false;
    {
      MutexLock lock(&mu_);
      if (state_ != kIdle || watcher_ == nullptr) return;
      if (cancelled_) {
        end = grpc::Status::CANCELLED;
      } else {
        absl::StatusOr<std::optional<WatchEvent>> event = watcher_->Next();
        if (event.ok() && !event->has_value()) return;
        if (event.ok()) {
          write = true;
          Fill(**event);
        } else {
          end = ToGrpc(event.status());
        }
      }
      state_ = write ? kWriting : kFinished;
    }
    if (write) {
      StartWrite(&response_);
    } else {
      Finish(end);
    }
  }

  void Fill(const WatchEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    response_.Clear();
    response_.set_revision(event.revision);
    if (event.changes != nullptr) {
      *response_.mutable_change_set() = ToProto(*event.changes);
      return;
    }
    v1::WatchResponse::State* state = response_.mutable_state();
    for (const filters::Plug& plug : event.state->plugs) *state->add_plugs() = ToProto(plug);
    for (const filters::TargetReplyOrder& target : event.state->reply_orders) {
      *state->add_reply_orders() = ToProto(target);
    }
  }

  Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = kIdle;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  v1::WatchResponse response_;  // gRPC reads it while kWriting; nobody else touches it then
  // Last: its destruction ends the calls of Advance by the service, so it must come first.
  std::unique_ptr<Watcher> watcher_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

grpc::Status GrpcService::Apply(grpc::ServerContext* context, const v1::ApplyRequest* request,
                                v1::ApplyResponse* response) {
  absl::StatusOr<filters::ChangeSet> changes = FromProto(request->change_set());
  if (!changes.ok()) return ToGrpc(changes.status());
  control::Service::ApplyOptions options;
  if (request->has_expected_revision()) options.expected_revision = request->expected_revision();
  if (request->has_drain()) {
    const uint32_t ms = request->drain().timeout_ms();
    options.cancelled = [context] { return context->IsCancelled(); };
    options.drain_timeout = std::min(ms == 0 ? kDefaultDrainMs : ms, kMaxDrainMs) * kMillisecond;
  }
  absl::StatusOr<control::Service::ApplyResult> result = service_->Apply(*changes, options);
  if (!result.ok()) return ToGrpc(result.status());
  response->set_revision(result->revision);
  response->set_changed(result->changed);
  response->set_drained(request->has_drain() && result->drained.ok());
  if (!result->drained.ok()) {
    response->set_drain_message(ToGrpc(result->drained).error_message());
  }
  return grpc::Status::OK;
}

grpc::Status GrpcService::List(grpc::ServerContext*, const v1::ListRequest* request,
                               v1::ListResponse* response) {
  const filters::State state = service_->registry().state();
  response->set_revision(state.revision);
  if (request->plug().empty()) {
    for (const filters::TargetReplyOrder& target : state.reply_orders) {
      *response->add_reply_orders() = ToProto(target);
    }
  }
  for (const filters::Plug& plug : state.plugs) {
    if (!request->plug().empty() && plug.name != request->plug()) continue;
    v1::PlugState* out = response->add_plugs();
    *out = ToProto(plug);
    if (request->without_counters()) continue;
    for (const filters::FilterCounter& counter : service_->registry().Counters(plug.name)) {
      v1::FilterCounter* c = out->add_counters();
      c->set_operation(counter.operation);
      c->set_name(counter.name);
      c->set_value(counter.value);
    }
    AddFigures(service_->registry().Figures(plug.name), out);
  }
  if (!request->plug().empty() && response->plugs().empty()) {
    return ToGrpc(absl::NotFoundError(absl::StrCat("there is no plug '", request->plug(),
                                                   "'; 'weir list' shows those that there are")));
  }
  return grpc::Status::OK;
}

grpc::ServerWriteReactor<v1::WatchResponse>* GrpcService::Watch(grpc::CallbackServerContext*,
                                                                const v1::WatchRequest* request) {
  std::optional<uint64_t> from;
  if (request->has_from_revision()) from = request->from_revision();
  return new WatchReactor(service_, from);
}

grpc::Status GrpcService::GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                                    v1::GetStatusResponse* response) {
  const NodeInfo info = info_ == nullptr ? NodeInfo() : info_();
  response->set_version(info.version);
  response->set_role(info.role);
  response->set_uptime_ms((clock_->Now() - began_) / kMillisecond);
  for (const std::string& endpoint : info.endpoints) response->add_endpoints(endpoint);
  response->set_upstream(info.upstream);
  response->set_store(service_->store().name());
  const filters::State state = service_->registry().state();
  response->set_revision(state.revision);
  response->set_plugs(state.plugs.size());
  response->set_watchers(service_->watchers());
  for (const auto& [name, value] : info.counters) {
    v1::Counter* counter = response->add_counters();
    counter->set_name(name);
    counter->set_value(value);
  }
  {
    MutexLock lock(&mu_);
    response->set_control(address_);
  }
  response->set_pid(getpid());
  return grpc::Status::OK;
}

grpc::Status GrpcService::Measure(grpc::ServerContext*, const v1::MeasureRequest* request,
                                  v1::MeasureResponse* response) {
  return Answer(control::Measure(service_->registry(), *clock_, *request), response);
}

grpc::Status GrpcService::ListCalls(grpc::ServerContext*, const v1::ListCallsRequest* request,
                                    v1::ListCallsResponse* response) {
  return Answer(control::ListCalls(service_->registry(), *request), response);
}

grpc::Status GrpcService::Tell(grpc::ServerContext*, const v1::TellRequest* request,
                               v1::TellResponse* response) {
  const filters::FilterParameters parameters(request->parameters().begin(),
                                             request->parameters().end());
  const absl::StatusOr<std::string> told =
      service_->registry().Tell(request->plug(), request->command(), parameters);
  if (!told.ok()) return ToGrpc(told.status());
  response->set_text(*told);
  return grpc::Status::OK;
}

grpc::Status GrpcService::ExplainCall(grpc::ServerContext*, const v1::ExplainCallRequest* request,
                                      v1::ExplainCallResponse* response) {
  return Answer(control::ExplainCall(service_->registry(), *request), response);
}

}  // namespace weir::control
