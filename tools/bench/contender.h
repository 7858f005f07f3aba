// One of those that a benchmark compares: it can make calls, and tells how long they took.
//
// Thread safety: none; contenders run one after another, on one thread.

#ifndef WEIR_TOOLS_BENCH_CONTENDER_H_
#define WEIR_TOOLS_BENCH_CONTENDER_H_

#include "absl/status/statusor.h"
#include "base/clock.h"

namespace weir::bench {

class Contender {
 public:
  virtual ~Contender() = default;
  // Makes `calls` calls, one after another. Returns how long all of them took.
  virtual absl::StatusOr<Nanos> Run(int calls) = 0;
};

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_CONTENDER_H_
