// The ORB: everything that serves and makes calls, put together. `main` makes one, registers
// transports and messaging protocols, activates servants, and starts it.
//
// Order: register, Start, Listen, and at the end Shutdown. The Orb must outlive whatever was given
// its parts.
//
// Thread safety: safe for concurrent use once started.

#ifndef WEIR_ORB_CORE_ORB_H_
#define WEIR_ORB_CORE_ORB_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/logger.h"
#include "orb/core/adapter.h"
#include "orb/core/codec.h"
#include "orb/core/dispatcher.h"
#include "orb/core/forwarder.h"
#include "orb/core/gate.h"
#include "orb/core/invoker.h"
#include "orb/core/limits.h"
#include "orb/core/reactor.h"
#include "orb/core/server.h"
#include "orb/reference/reference.h"
#include "orb/transport/transport.h"

namespace weir::orb {

struct OrbOptions {
  ReactorOptions reactor;
  ServerLimits server;
  ClientLimits client;
  // For calls that filters send to other servers.
  ForwarderOptions elsewhere;
  // How long the end waits, once everything else has ended, for calls that filters have and do not
  // let go. They are then abandoned: each leaves its memory behind, with its connection's, and an
  // asynchronous invocation is never told (its object must stay, too). Stops one bad filter from
  // keeping a process from ending.
  Nanos let_go = 5 * kSecond;
  // gethostname() of this host: references with Unix sockets name it, and are used where they do.
  std::string hostname;
};

struct OrbStats {
  ServerStats server;
  size_t upstream_connections = 0;
  int threads = 0;
};

class Orb {
 public:
  // `clock`, `logger` and `gate` must outlive the Orb; `gate` may be null.
  Orb(OrbOptions options, const Clock* clock, Logger* logger, Gate* gate);
  // Without Shutdown: calls in flight fail, connections are cut. REQUIRES: no servant will answer a
  // call later, and no thread is inside a call to the Orb.
  ~Orb();

  // Before Start. REQUIRES: no other of that name.
  void AddTransport(std::unique_ptr<Transport> transport);
  void AddMessaging(std::unique_ptr<Messaging> messaging);

  // Before Start: consults `gate`, which must outlive the Orb, around every call that is made. It
  // may be the same as for the calls that are served, in a process that forwards none.
  void FilterOutgoing(Gate* gate) { outgoing_gate_ = gate; }

  absl::Status Start();

  // Serves `endpoint` ("giop:tcp::2809") from now on. INVALID_ARGUMENT names what is unknown, and
  // what there is.
  absl::StatusOr<ListeningEndpoint> Listen(std::string_view endpoint);
  // A reference to an object at all endpoints listened on. FAILED_PRECONDITION if there are none.
  absl::StatusOr<Ior> MakeReference(std::string_view type_id, std::string_view object_key) const;

  // "IOR:..." or "corbaloc:...", ready to be called.
  absl::StatusOr<std::shared_ptr<Target>> Resolve(std::string_view reference);

  // Stops accepting, lets running calls finish until `deadline`, closes connections in good order,
  // and stops the threads. DEADLINE_EXCEEDED says how many calls were cut off. Returns no later
  // than OrbOptions::let_go after that, if no servant blocks.
  absl::Status Shutdown(Nanos deadline);
  // The first part of it, after which no call is being served; calls can still be made.
  absl::Status StopServing(Nanos deadline) { return server_.Shutdown(deadline); }

  ObjectAdapter& adapter() { return adapter_; }
  Invoker& invoker() { return *invoker_; }
  Reactor& reactor() { return reactor_; }
  std::vector<ListeningEndpoint> endpoints() const { return server_.endpoints(); }
  OrbStats stats() const;

 private:
  Transport* FindTransport(std::string_view name) const;
  // Ends whatever is left, and the threads.
  void End();
  // As Gate::LetGo, of all gates.
  size_t LetGo();

  const OrbOptions options_;
  Gate* const gate_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<Messaging>> messagings_;
  Gate* outgoing_gate_ = nullptr;
  ObjectAdapter adapter_;
  Reactor reactor_;
  Dispatcher dispatcher_;
  ServerContext server_context_;
  ClientContext client_context_;
  Server server_;
  std::unique_ptr<Invoker> invoker_;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_ORB_H_
