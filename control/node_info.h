// What a node tells about itself through GetStatus. `main` supplies it as a function, so that the
// control plane knows nothing of ORBs and gateways.
//
// Thread safety: values.

#ifndef WEIR_CONTROL_NODE_INFO_H_
#define WEIR_CONTROL_NODE_INFO_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weir::control {

struct NodeInfo {
  std::string version;                 // of the program
  std::string role;                    // "gateway", "echo"
  std::vector<std::string> endpoints;  // with real ports: "giop:tcp:127.0.0.1:2809"
  std::string upstream;                // empty unless a gateway
  std::vector<std::pair<std::string, uint64_t>> counters;  // "calls_total" -> 4711
};

// Called on the control plane's threads, several at a time.
using NodeInfoSource = std::function<NodeInfo()>;

}  // namespace weir::control

#endif  // WEIR_CONTROL_NODE_INFO_H_
