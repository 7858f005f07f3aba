// A node's control plane in one piece, for `main`: the registry, its store, the service and its
// listener, built in the right order.
//
//   auto node = control::Node::Start(options, &kinds, &clock, &logger);
//   ... an ORB with (*node)->gate() ...
//   (*node)->Serve([&] { return info; });   // once the ORB's endpoints are known
//   ... until the end ...
//   (*node)->Shutdown(deadline);            // before the ORB is destroyed, as it asks for its info
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_CONTROL_NODE_H_
#define WEIR_CONTROL_NODE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/logger.h"
#include "control/node_info.h"
#include "control/server.h"
#include "control/service.h"
#include "control/store.h"
#include "filters/registry.h"
#include "orb/core/gate.h"

namespace weir::control {

struct NodeOptions {
  std::string store = "memory";  // as for OpenStore
  std::string control;           // as ServerOptions::address; empty: no control plane
  bool allow_remote = false;     // as ServerOptions::allow_remote
  StoreLimits store_limits;
  ServiceLimits limits;
  // Without a hash_key, each node draws one.
  filters::InterfaceLimits interfaces;
};

class Node {
 public:
  // Opens the store and makes what it holds current. All three must outlive the node. Errors:
  // those of OpenStore, and FAILED_PRECONDITION if a stored plug cannot be made any more: the node
  // must not serve calls without a filter that somebody relies on.
  static absl::StatusOr<std::unique_ptr<Node>> Start(const NodeOptions& options,
                                                     const filters::FilterKinds* kinds,
                                                     const Clock* clock, Logger* logger);
  ~Node();

  // What the ORB consults; lives as long as the node.
  orb::Gate* gate() { return registry_.gate(); }
  filters::Registry* registry() { return &registry_; }
  Service* service() { return service_.get(); }

  // Starts the listener; does nothing if options.control is empty. `info` may be called until
  // Shutdown returns. Errors: as Server::Start. REQUIRES: called at most once.
  absl::Status Serve(NodeInfoSource info);
  // Where the control plane really listens; empty without.
  std::string control_address() const;

  // As Server::Shutdown.
  void Shutdown(Nanos deadline);

 private:
  Node(const NodeOptions& options, const filters::FilterKinds* kinds, const Clock* clock,
       Logger* logger);
  absl::Status Restore();

  const NodeOptions options_;
  const Clock* const clock_;
  Logger* const logger_;
  std::unique_ptr<Store> store_;
  filters::Registry registry_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Server> server_;
};

}  // namespace weir::control

#endif  // WEIR_CONTROL_NODE_H_
