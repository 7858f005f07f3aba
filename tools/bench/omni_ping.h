// omniORB's client and server as contenders: the programs of tests/peers, as two other processes.

#ifndef WEIR_TOOLS_BENCH_OMNI_PING_H_
#define WEIR_TOOLS_BENCH_OMNI_PING_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tools/bench/contender.h"

namespace weir::bench {

// The folder with omniORB's programs: `hint` if not empty, or where Bazel puts them beside this
// program. NOT_FOUND says how to get them.
absl::StatusOr<std::string> FindOmniPeers(const std::string& hint);

// Starts a server and a client of folder `peers`, which talk over TCP, or over a Unix socket at
// `unix_path` if that is not empty.
absl::StatusOr<std::unique_ptr<Contender>> NewOmniPing(const std::string& peers,
                                                       const std::string& unix_path);

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_OMNI_PING_H_
