// Token buckets of one rate and size: one for everything, or one for each key that has called
// lately.
//
// A bucket is a single time, at which it is full again (the generic cell rate algorithm). So it
// needs neither a lock nor a timer, and one whose time has passed is as good as new: it is free for
// another key.
//
// The table of keys has a fixed size. A key that finds its places taken, by keys whose buckets are
// not full yet, shares one more bucket with all others in that position, so a peer that invents
// keys gains one bucket for each place in the table and no more. While several threads take places
// at once, a token may be charged to a neighbour, or a key have two buckets until one is full.
//
// Thread safety: safe for concurrent use; lock-free. Nothing is allocated after construction.

#ifndef WEIR_FILTERS_BUILTIN_RATE_BUCKETS_H_
#define WEIR_FILTERS_BUILTIN_RATE_BUCKETS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"

namespace weir::filters {

class RateBuckets {
 public:
  // One token comes back every `interval`, up to `burst` tokens. REQUIRES: interval >= 1, burst >=
  // 1, burst * interval < 2^62. `places` keys have a bucket of their own at a time; it may be 0.
  RateBuckets(Nanos interval, int64_t burst, size_t places);

  // Takes a token out of the shared bucket, if there is one.
  bool TakeShared(Nanos now) { return Take(now, &shared_); }

  // Takes a token out of the bucket of the key that has this hash, if there is one. Keys of equal
  // hash share a bucket. Sets `*shared` if it was the shared bucket.
  bool Take(uint64_t hash, Nanos now, bool* shared);

 private:
  using FullAt = std::atomic<Nanos>;
  struct Place {
    std::atomic<uint64_t> hash{0};  // 0: never used
    FullAt full_at{INT64_MIN};
  };
  // A key's place is one of so many in a row.
  static constexpr size_t kProbes = 8;

  bool Take(Nanos now, FullAt* full_at) const;
  // Null if there is none.
  Place* Find(uint64_t hash, Nanos now);

  const Nanos interval_;
  const Nanos tolerance_;  // how far ahead of now a bucket that has a token may be full
  const size_t size_;
  const std::unique_ptr<Place[]> places_;
  alignas(64) FullAt shared_{INT64_MIN};
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_RATE_BUCKETS_H_
