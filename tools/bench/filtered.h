// `weir bench filtered`: what filters cost, wherever they are: in the server, in another process,
// in the client; over TCP and Unix sockets; and what beta messages take. Beside the ratios that the
// filter framework which Weir descends from has published.

#ifndef WEIR_TOOLS_BENCH_FILTERED_H_
#define WEIR_TOOLS_BENCH_FILTERED_H_

#include "absl/status/statusor.h"
#include "tools/bench/interleave.h"
#include "tools/bench/report.h"

namespace weir::bench {

// Starts the servers as child processes, measures, ends them. REQUIRES: no threads were started.
absl::StatusOr<Report> MeasureFiltered(const InterleaveOptions& options);

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_FILTERED_H_
