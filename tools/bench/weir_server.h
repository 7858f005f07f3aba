// `weir echo` and `weir gateway` as other processes, and the filters of an echo server.
//
// Thread safety: none.

#ifndef WEIR_TOOLS_BENCH_WEIR_SERVER_H_
#define WEIR_TOOLS_BENCH_WEIR_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/bench/child.h"
#include "tools/weir/control_client.h"

namespace weir::bench {

// What is plugged onto the object `echo`.
struct Filters {
  std::string kind;               // "count"
  int number = 0;                 // of plugs; 0: nothing is plugged
  bool up = false, down = false;  // which methods are mapped: `kind` names them
  bool enabled = false;

  bool operator==(const Filters&) const = default;
};

class WeirServer {
 public:
  // `folder` is where its Unix sockets go.
  static absl::StatusOr<std::unique_ptr<WeirServer>> StartEcho(const std::string& folder);
  // Forwards to `upstream`, a reference.
  static absl::StatusOr<std::unique_ptr<WeirServer>> StartGateway(const std::string& upstream);

  // References to the object `echo`.
  const std::string& tcp() const { return tcp_; }
  const std::string& unix() const { return unix_; }  // empty at a gateway

  // Makes `wanted` what is plugged, in one change set. Nothing happens if it is so already.
  absl::Status Plug(const Filters& wanted);

 private:
  WeirServer() = default;
  absl::Status Start(std::vector<std::string> argv);

  std::unique_ptr<Child> child_;
  std::string tcp_;
  std::string unix_;
  std::unique_ptr<tools::ControlClient> control_;
  Filters plugged_;
};

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_WEIR_SERVER_H_
