// Runs contenders in many short batches by turns, so that what disturbs the machine disturbs all of
// them alike, and so that batches of one round can be compared in pairs.
//
// Thread safety: none.

#ifndef WEIR_TOOLS_BENCH_INTERLEAVE_H_
#define WEIR_TOOLS_BENCH_INTERLEAVE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/bench/contender.h"

namespace weir::bench {

struct InterleaveOptions {
  int rounds = 60;
  int calls = 500;    // of a contender in a round
  uint64_t seed = 1;  // of the order within rounds
};

// times[contender][round]: nanoseconds per call. Every round runs each contender once, in an order
// of its own. A batch begins with some calls that are not timed: a contender that has rested must
// first wake up.
absl::StatusOr<std::vector<std::vector<double>>> Interleave(
    const std::vector<Contender*>& contenders, const InterleaveOptions& options);

// Of a sample: the median and the quartiles.
struct Summary {
  double median = 0;
  double low = 0;
  double high = 0;
};
// REQUIRES: not empty.
Summary Summarize(std::vector<double> sample);

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_INTERLEAVE_H_
