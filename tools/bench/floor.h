// `weir bench floor`: what a call costs above a bare ping-pong, and what filters and the gateway
// add to it, all in one run.

#ifndef WEIR_TOOLS_BENCH_FLOOR_H_
#define WEIR_TOOLS_BENCH_FLOOR_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/bench/interleave.h"
#include "tools/bench/report.h"

namespace weir::bench {

struct FloorOptions {
  InterleaveOptions interleave;
  std::string omni_peers;  // folder of omniORB's programs; empty: beside this one
};

// Starts the servers as child processes, measures, ends them. What cannot be measured for want of
// omniORB's programs is told in the report's notes. REQUIRES: no threads were started.
absl::StatusOr<Report> MeasureFloor(const FloorOptions& options);

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_FLOOR_H_
