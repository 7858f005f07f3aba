// What `weir gateway` and `weir echo` share: a process with an ORB, a filter registry and a control
// plane, which serves until it is told to stop.
//
// Thread safety: none; used by main.

#ifndef WEIR_TOOLS_WEIR_NODE_H_
#define WEIR_TOOLS_WEIR_NODE_H_

#include <functional>
#include <string>
#include <vector>

#include "filters/interface_memory.h"
#include "filters/outgoing/orb_handle.h"
#include "tools/weir/command.h"
#include "tools/weir/orb_setup.h"

namespace weir::tools {

struct NodeSettings {
  OrbSettings orb;
  std::string role;  // "gateway", "echo"
  std::vector<std::string> listen;
  std::string control;  // empty: no control plane
  // WEIR_CONTROL counts if `control` is empty.
  bool control_by_variable = true;
  std::string store = "memory";
  bool allow_remote_control = false;
  std::string upstream;
  bool verbose = false;
  Nanos shutdown_timeout = 10 * kSecond;
  filters::InterfaceLimits interfaces;
};

// --listen, --control, --store and what AddServerOptions adds.
void AddNodeOptions(CLI::App* app, NodeSettings* settings, bool must_listen = true);

// Runs a node until SIGINT or SIGTERM, then shuts it down in good order. `populate` is called
// before the endpoints open, to activate servants; `ready` once they are open, to print what
// callers need before the line `ready`. `handle`, if given, has the ORB while filters may call
// through it.
absl::Status RunNode(const NodeSettings& settings, CommandContext* context,
                     const std::function<absl::Status(orb::Orb*, const Clock*, Logger*)>& populate,
                     const std::function<absl::Status(orb::Orb*)>& ready,
                     filters::OrbHandle* handle = nullptr);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_NODE_H_
