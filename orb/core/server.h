// The listening side of an ORB: endpoints, their acceptors, and all accepted connections.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_ORB_CORE_SERVER_H_
#define WEIR_ORB_CORE_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "orb/core/server_connection.h"
#include "orb/transport/endpoint_name.h"
#include "orb/transport/transport.h"

namespace weir::orb {

// One endpoint that is being served.
struct ListeningEndpoint {
  std::string messaging;
  std::string transport;
  std::string address;                 // the real one, with the port that the system chose
  std::vector<std::string> published;  // what goes into references
};

struct ServerStats {
  uint64_t connections = 0;           // open now
  uint64_t connections_accepted = 0;  // ever
  uint64_t connections_refused = 0;   // over the limit
  uint64_t calls = 0;                 // ever
  uint64_t calls_in_progress = 0;
};

class Server {
 public:
  // `context->closed` is set here; the rest must be filled in and outlive the server.
  explicit Server(ServerContext* context);
  // REQUIRES: all connections are gone: the reactor has drained after Abort, and no servant still
  // has a call to answer.
  ~Server();

  absl::StatusOr<ListeningEndpoint> Listen(const EndpointName& name, Transport* transport,
                                           Messaging* messaging);
  std::vector<ListeningEndpoint> endpoints() const;
  ServerStats stats() const;

  // Stops accepting, lets running calls finish, closes each connection in good order as it falls
  // idle. DEADLINE_EXCEEDED, with the number of calls cut off, if that is not done by `deadline`;
  // the rest is then aborted.
  absl::Status Shutdown(Nanos deadline);
  // Stops accepting and ends all connections now.
  void Abort();

  // From the reactor's supervisor, every second or so; every few milliseconds while servants block.
  void CheckTime();
  void LendInput();

 private:
  class Listener;
  friend class Listener;

  void Accepted(Listener* listener, std::unique_ptr<Stream> stream);
  void Closed(ServerConnection* connection);
  void CloseListeners();
  std::vector<Listener*> Listeners() const;
  std::vector<Ref<ServerConnection>> Connections() const;

  ServerContext* const context_;

  mutable Mutex mu_;
  CondVar changed_;
  std::vector<std::unique_ptr<Listener>> listeners_ ABSL_GUARDED_BY(mu_);
  // Without references: a connection's destructor takes it out.
  absl::flat_hash_set<ServerConnection*> connections_ ABSL_GUARDED_BY(mu_);
  uint64_t accepted_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t refused_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t closed_calls_ ABSL_GUARDED_BY(mu_) = 0;  // of connections that are gone
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_SERVER_H_
