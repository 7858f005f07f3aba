// The floor that calls are measured against: a blocking send and recv on a socket with another
// process, which does nothing else. Its messages are as long as those of `ping` in GIOP 1.2.

#ifndef WEIR_TOOLS_BENCH_BARE_PING_H_
#define WEIR_TOOLS_BENCH_BARE_PING_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tools/bench/contender.h"

namespace weir::bench {

// Starts the other process and connects to it, over TCP on 127.0.0.1, or over a Unix socket at
// `unix_path` if that is not empty. REQUIRES: no other threads were started.
absl::StatusOr<std::unique_ptr<Contender>> NewBarePing(const std::string& unix_path);

// The same over TCP by way of a third process that passes messages on: the floor for a gateway.
absl::StatusOr<std::unique_ptr<Contender>> NewBareRelay();

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_BARE_PING_H_
