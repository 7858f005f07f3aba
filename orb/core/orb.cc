#include "orb/core/orb.h"

#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "orb/core/filter_upcall.h"

namespace weir::orb {

Orb::Orb(OrbOptions options, const Clock* clock, Logger* logger, Gate* gate)
    : options_(std::move(options)),
      gate_(gate),
      reactor_(options_.reactor, clock),
      dispatcher_(&adapter_, gate, &reactor_, logger),
      server_context_{&dispatcher_, &adapter_, &reactor_, clock, logger, options_.server, nullptr},
      client_context_{&reactor_, clock, logger, options_.client},
      server_(&server_context_) {}

Orb::~Orb() { End(); }

void Orb::End() {
  server_.Abort();
  if (invoker_ != nullptr) invoker_->Close();
  reactor_.Stop();
  // What the threads were about to open or to answer meanwhile.
  server_.Abort();
  if (invoker_ != nullptr) invoker_->Close();
  // Calls that wait for filters refer to us. Those that are let go may have posted work, which may
  // wait in its turn.
  const Nanos latest = client_context_.clock->Now() + options_.let_go;
  for (;;) {
    const size_t waiting = LetGo();
    reactor_.Drain();
    if (waiting == 0 && LetGo() == 0) return;
    if (client_context_.clock->Now() >= latest) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // What came back in the last moment may have gone to the next filter.
  do {
    for (Gate* const gate : {gate_, outgoing_gate_}) {
      if (gate != nullptr) gate->Abandon();
    }
    reactor_.Drain();
  } while (LetGo() != 0);
}

size_t Orb::LetGo() {
  size_t waiting = 0;
  for (Gate* const gate : {gate_, outgoing_gate_}) {
    if (gate != nullptr) waiting += gate->LetGo();
  }
  return waiting;
}

void Orb::AddTransport(std::unique_ptr<Transport> transport) {
  transports_.push_back(std::move(transport));
}

void Orb::AddMessaging(std::unique_ptr<Messaging> messaging) {
  messagings_.push_back(std::move(messaging));
}

Transport* Orb::FindTransport(std::string_view name) const {
  for (const auto& t : transports_) {
    if (t->name() == name) return t.get();
  }
  return nullptr;
}

absl::Status Orb::Start() {
  if (messagings_.empty()) return absl::FailedPreconditionError("no messaging protocol was added");
  invoker_ = std::make_unique<Invoker>(
      &client_context_, messagings_[0].get(),
      [this](std::string_view name) { return FindTransport(name); },
      ReferenceContext{options_.hostname, {}});
  invoker_->set_gate(outgoing_gate_);
  dispatcher_.set_elsewhere(
      invoker_.get(),
      std::make_shared<Forwarder>(invoker_.get(), nullptr, &reactor_, client_context_.clock,
                                  client_context_.logger, options_.elsewhere));
  // A filter that a tick has go on must not wait: everything would.
  reactor_.AddTick(kSecond, [this] {
    const ReadingReplies supervising;
    server_.CheckTime();
    invoker_->CheckTime();
  });
  reactor_.AddTick(options_.reactor.tick, [this] {
    const ReadingReplies supervising;
    invoker_->CheckDeadlines();
    const Nanos now = client_context_.clock->Now();
    for (Gate* const gate : {gate_, outgoing_gate_}) {
      if (gate != nullptr) gate->Tick(now);
    }
    if (reactor_.blocked() > 0) server_.LendInput();
  });
  return reactor_.Start();
}

absl::StatusOr<ListeningEndpoint> Orb::Listen(std::string_view endpoint) {
  absl::StatusOr<EndpointName> name = ParseEndpointName(endpoint);
  if (!name.ok()) return name.status();
  Messaging* messaging = nullptr;
  for (const auto& m : messagings_) {
    if (m->name() == name->messaging) messaging = m.get();
  }
  const auto names = [](const auto& list) {
    return absl::StrJoin(list, ", ",
                         [](std::string* out, const auto& x) { StrAppend(out, x->name()); });
  };
  if (messaging == nullptr) {
    return absl::InvalidArgumentError(StrCat("endpoint '", endpoint,
                                             "': unknown messaging protocol '", name->messaging,
                                             "'; there is ", names(messagings_)));
  }
  Transport* const transport = FindTransport(name->transport);
  if (transport == nullptr) {
    return absl::InvalidArgumentError(StrCat("endpoint '", endpoint, "': unknown transport '",
                                             name->transport, "'; there is ", names(transports_)));
  }
  return server_.Listen(*name, transport, messaging);
}

absl::StatusOr<Ior> Orb::MakeReference(std::string_view type_id,
                                       std::string_view object_key) const {
  std::vector<Endpoint> published;
  for (const ListeningEndpoint& e : server_.endpoints()) {
    for (const std::string& address : e.published) published.push_back({e.transport, address});
  }
  if (published.empty()) {
    return absl::FailedPreconditionError("no endpoint is being listened on");
  }
  IorOptions options;
  options.hostname = options_.hostname;
  return BuildIor(type_id, object_key, published, options);
}

absl::StatusOr<std::shared_ptr<Target>> Orb::Resolve(std::string_view reference) {
  return invoker_->targets().Resolve(reference);
}

absl::Status Orb::Shutdown(Nanos deadline) {
  absl::Status status = server_.Shutdown(deadline);
  End();
  return status;
}

OrbStats Orb::stats() const {
  return {server_.stats(), invoker_ != nullptr ? invoker_->connections() : 0, reactor_.threads()};
}

}  // namespace weir::orb
