#include "orb/core/server.h"

#include <atomic>
#include <utility>

#include "base/strings.h"

namespace weir::orb {

// One acceptor. Its event accepts what is waiting, then arms it again; when descriptors run out it
// rests until the next CheckTime.
class Server::Listener : public EventHandler {
 public:
  Listener(Server* server, std::unique_ptr<Acceptor> acceptor, Messaging* messaging,
           ListeningEndpoint endpoint)
      : server_(server),
        acceptor_(std::move(acceptor)),
        messaging_(messaging),
        endpoint_(std::move(endpoint)) {}

  const ListeningEndpoint& endpoint() const { return endpoint_; }
  Messaging* messaging() const { return messaging_; }

  void Open() {
    MutexLock lock(&mu_);
    if (acceptor_ != nullptr) server_->context_->reactor->Add(acceptor_->fd(), this);
  }

  // After this nothing is accepted any more, and no thread is inside OnReady.
  void Close() {
    MutexLock lock(&mu_);
    if (acceptor_ == nullptr) return;
    server_->context_->reactor->Remove(acceptor_->fd());
    acceptor_.reset();
  }

  void WakeIfResting() {
    if (!resting_.exchange(false)) return;
    MutexLock lock(&mu_);
    if (acceptor_ != nullptr) server_->context_->reactor->Arm(acceptor_->fd(), this);
  }

  void OnReady() override {
    MutexLock lock(&mu_);
    if (acceptor_ == nullptr) return;
    // A bounded number at a time, so that a storm of connections does not keep this thread.
    for (int i = 0; i < 64; ++i) {
      absl::StatusOr<std::unique_ptr<Stream>> stream = acceptor_->Accept();
      if (stream.ok() && *stream == nullptr) break;
      if (stream.ok()) {
        server_->Accepted(this, *std::move(stream));
        continue;
      }
      server_->context_->logger->Log(
          LogLevel::kWarning,
          StrCat("event=accept_failed endpoint=", endpoint_.messaging, ":", endpoint_.transport,
                 ":", endpoint_.address, " error=\"", stream.status().message(), "\""));
      if (absl::IsResourceExhausted(stream.status())) {
        resting_.store(true);
        return;
      }
    }
    server_->context_->reactor->Arm(acceptor_->fd(), this);
  }

 private:
  Server* const server_;
  Mutex mu_;
  std::unique_ptr<Acceptor> acceptor_ ABSL_GUARDED_BY(mu_);
  Messaging* const messaging_;
  const ListeningEndpoint endpoint_;
  std::atomic<bool> resting_{false};
};

Server::Server(ServerContext* context) : context_(context) {
  context_->closed = [this](ServerConnection* c) { Closed(c); };
}

Server::~Server() = default;

absl::StatusOr<ListeningEndpoint> Server::Listen(const EndpointName& name, Transport* transport,
                                                 Messaging* messaging) {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = transport->Listen(name.address);
  if (!acceptor.ok()) return acceptor.status();
  ListeningEndpoint endpoint{name.messaging, name.transport, (*acceptor)->address(),
                             (*acceptor)->published_addresses()};
  if (!name.publish.empty()) endpoint.published = {name.publish};
  auto listener = std::make_unique<Listener>(this, *std::move(acceptor), messaging, endpoint);
  Listener* const raw = listener.get();
  {
    MutexLock lock(&mu_);
    listeners_.push_back(std::move(listener));
  }
  raw->Open();
  return endpoint;
}

std::vector<ListeningEndpoint> Server::endpoints() const {
  MutexLock lock(&mu_);
  std::vector<ListeningEndpoint> result;
  for (const auto& l : listeners_) result.push_back(l->endpoint());
  return result;
}

void Server::Accepted(Listener* listener, std::unique_ptr<Stream> stream) {
  ServerConnection* connection;
  {
    MutexLock lock(&mu_);
    if (connections_.size() >= context_->limits.max_connections) {
      // Said once for each power of two, so that a storm does not fill the log.
      ++refused_;
      if ((refused_ & (refused_ - 1)) == 0) {
        context_->logger->Log(
            LogLevel::kWarning,
            StrCat("event=connection_refused peer=", stream->peer_address(),
                   " limit=", context_->limits.max_connections, " refused=", refused_));
      }
      return;
    }
    ++accepted_;
    connection = new ServerConnection(context_, std::move(stream),
                                      listener->messaging()->NewCodec(Role::kServer),
                                      listener->endpoint().transport);
    connections_.insert(connection);
  }
  connection->Open();
}

void Server::Closed(ServerConnection* connection) {
  MutexLock lock(&mu_);
  connections_.erase(connection);
  closed_calls_ += connection->calls();
  changed_.SignalAll();
}

// To be dropped without the lock: the last reference leads to Closed.
std::vector<Ref<ServerConnection>> Server::Connections() const {
  MutexLock lock(&mu_);
  std::vector<Ref<ServerConnection>> result;
  result.reserve(connections_.size());
  for (ServerConnection* c : connections_) {
    if (c->TryAddRef()) result.push_back(Ref<ServerConnection>::Adopt(c));
  }
  return result;
}

std::vector<Server::Listener*> Server::Listeners() const {
  MutexLock lock(&mu_);
  std::vector<Listener*> result;
  for (const auto& l : listeners_) result.push_back(l.get());
  return result;
}

ServerStats Server::stats() const {
  MutexLock lock(&mu_);
  ServerStats s;
  s.connections = connections_.size();
  s.connections_accepted = accepted_;
  s.connections_refused = refused_;
  s.calls = closed_calls_;
  for (const ServerConnection* c : connections_) {
    s.calls += c->calls();
    s.calls_in_progress += c->calls_in_progress();
  }
  return s;
}

void Server::CheckTime() {
  const Nanos now = context_->clock->Now();
  for (const auto& connection : Connections()) connection->CheckTime(now);
  // Not under the lock: a listener holds its own while it brings a connection here.
  for (Listener* listener : Listeners()) listener->WakeIfResting();
}

void Server::CloseListeners() {
  for (Listener* listener : Listeners()) listener->Close();
}

void Server::Abort() {
  CloseListeners();
  for (const auto& connection : Connections()) connection->Abort("");
}

void Server::LendInput() {
  MutexLock lock(&mu_);
  for (ServerConnection* c : connections_) c->LendInput();
}

absl::Status Server::Shutdown(Nanos deadline) {
  CloseListeners();
  // Peers that have been told need not close their side at once, or ever.
  constexpr Nanos kLinger = 500 * kMillisecond;
  Nanos all_told_at = kNoDeadline;
  uint64_t cut_off = 0;
  for (;;) {
    const Nanos now = context_->clock->Now();
    const bool late =
        now >= deadline || (all_told_at != kNoDeadline && now - all_told_at > kLinger);
    bool all_told = true;
    for (const auto& connection : Connections()) {
      if (late) {
        cut_off += connection->calls_in_progress();
        connection->Abort("");
      } else if (!connection->TryCloseInGoodOrder()) {
        all_told = false;
      }
    }
    if (all_told && all_told_at == kNoDeadline) all_told_at = now;
    MutexLock lock(&mu_);
    if (connections_.empty()) break;
    if (late) {
      // Aborted connections end with their next event; a servant that never returns is not waited
      // for.
      for (int i = 0; i < 100 && !connections_.empty(); ++i) {
        changed_.WaitFor(&mu_, 10 * kMillisecond);
      }
      break;
    }
    changed_.WaitFor(&mu_, 5 * kMillisecond);
  }
  if (cut_off > 0) {
    return absl::DeadlineExceededError(
        StrCat("shutdown: ", cut_off, " calls were still running at the deadline"));
  }
  return absl::OkStatus();
}

}  // namespace weir::orb
