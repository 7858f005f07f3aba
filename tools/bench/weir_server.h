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
  bool up = false, down = false;  // which methods are mapped
  bool enabled = false;
  std::string method = {};  // its name; empty: as the kind's
  std::string at = {};      // where the filter is, of kinds that ask one in another process

  bool operator==(const Filters&) const = default;
};

class WeirServer {
 public:
  // `folder` is where its Unix sockets go.
  static absl::StatusOr<std::unique_ptr<WeirServer>> StartEcho(const std::string& folder);
  // A filter in a process of its own, by gRPC or as an object, at a Unix socket in `folder`.
  static absl::StatusOr<std::unique_ptr<WeirServer>> StartFilterHost(const std::string& folder,
                                                                     const std::string& filter,
                                                                     bool grpc);
  // Forwards to `upstream`, a reference.
  static absl::StatusOr<std::unique_ptr<WeirServer>> StartGateway(const std::string& upstream);

  // References to the object `echo`.
  const std::string& tcp() const { return tcp_; }
  const std::string& unix() const { return unix_; }  // empty at a gateway

  // Where a filter host serves its filter, for the parameter `at` of plugs.
  const std::string& filter_at() const { return filter_at_; }

  // Makes `wanted` what is plugged, in one change set, and waits until filters in other processes
  // are connected. Nothing happens if it is so already.
  absl::Status Plug(const Filters& wanted);

 private:
  WeirServer() = default;
  absl::Status WaitConnected();
  // Starts `weir ARGV...` and returns its line that begins with `ready`.
  absl::StatusOr<std::string> StartChild(std::vector<std::string> argv);
  // The same for what serves the object `echo`.
  absl::Status Start(const std::vector<std::string>& argv);

  std::unique_ptr<Child> child_;
  std::string tcp_;
  std::string unix_;
  std::string filter_at_;
  std::unique_ptr<tools::ControlClient> control_;
  Filters plugged_;
};

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_WEIR_SERVER_H_
