// A few counters that many threads add to and few read: each thread has a place of its own, so that
// they do not share a cache line, and reading adds the places up.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_FILTERS_BUILTIN_THREAD_COUNTERS_H_
#define WEIR_FILTERS_BUILTIN_THREAD_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/thread_index.h"

namespace weir::filters {

template <size_t kCounters>
class ThreadCounters {
 public:
  using Values = std::array<uint64_t, kCounters>;

  // REQUIRES: counter < kCounters.
  void Add(size_t counter, uint64_t n = 1) {
    const size_t index = ThreadIndex();
    AddToPlace<uint64_t>(&places_[index].values[counter], index, n);
  }

  Values Sum() const {
    Values sum{};
    for (const Place& place : places_) {
      for (size_t i = 0; i < kCounters; ++i) {
        sum[i] += place.values[i].load(std::memory_order_relaxed);
      }
    }
    return sum;
  }

 private:
  struct alignas(64) Place {
    std::array<std::atomic<uint64_t>, kCounters> values{};
  };
  std::array<Place, kThreadIndices> places_;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_THREAD_COUNTERS_H_
