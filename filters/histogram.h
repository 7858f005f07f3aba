// How long something took, many times: counted in buckets, each half as wide as its power of two.
//
// Buckets keep figures to within a third of their value at a fixed size, 62 numbers from 64 ns to
// 69 s. Two readings of a histogram can be subtracted: that is what happened in between.
//
// Thread safety: as each class says.

#ifndef WEIR_FILTERS_HISTOGRAM_H_
#define WEIR_FILTERS_HISTOGRAM_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/thread_index.h"

namespace weir::filters {

// Bucket 0 is everything under kLeast, the last one everything from kMost.
inline constexpr Nanos kLeastNanos = 64;
inline constexpr Nanos kMostNanos = Nanos{1} << 36;
inline constexpr size_t kHistogramBuckets = 62;

// A reading.
//
// Thread safety: a value.
struct HistogramCounts {
  std::array<uint64_t, kHistogramBuckets> buckets{};
  uint64_t sum = 0;  // nanoseconds
  uint64_t max = 0;  // nanoseconds; exact

  // The bucket of `nanos`; below 0 counts as 0.
  static size_t BucketOf(Nanos nanos);
  // The least nanoseconds of a bucket; of kHistogramBuckets: kNoDeadline.
  static Nanos LowerBound(size_t bucket);

  uint64_t count() const;
  // Nanoseconds; 0 if nothing was counted.
  double Mean() const;
  // The value that `fraction` (0 to 1) of all are not above, taken to be spread evenly within their
  // bucket and never above max. Nanoseconds; 0 if nothing was counted.
  double Percentile(double fraction) const;

  // What was counted after `earlier`, a reading of the same histogram. Its max is exact if it was
  // reached in between, else the upper bound of the highest bucket that was, if that is less.
  HistogramCounts Since(const HistogramCounts& earlier) const;

  bool operator==(const HistogramCounts&) const = default;
};

// Counts, with a place for each thread that is made when the thread first counts: a histogram that
// is not used takes 128 bytes.
//
// Thread safety: safe for concurrent use.
class Histogram {
 public:
  Histogram() = default;
  ~Histogram();
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  void Add(Nanos nanos);
  HistogramCounts Read() const;

 private:
  struct Place {
    std::array<std::atomic<uint64_t>, kHistogramBuckets> buckets{};
    std::atomic<uint64_t> sum{0};
    std::atomic<uint64_t> max{0};
  };

  Place* MakePlace(size_t index);

  std::array<std::atomic<Place*>, kThreadIndices> places_{};
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_HISTOGRAM_H_
