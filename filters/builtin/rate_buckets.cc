#include "filters/builtin/rate_buckets.h"

#include <algorithm>

namespace weir::filters {

RateBuckets::RateBuckets(Nanos interval, int64_t burst, size_t places)
    : interval_(interval),
      tolerance_((burst - 1) * interval),
      size_(places),
      places_(new Place[places]) {}

bool RateBuckets::Take(Nanos now, FullAt* full_at) const {
  Nanos at = full_at->load(std::memory_order_relaxed);
  for (;;) {
    const Nanos from = std::max(at, now);
    if (from - now > tolerance_) return false;
    if (full_at->compare_exchange_weak(at, from + interval_, std::memory_order_relaxed)) {
      return true;
    }
  }
}

bool RateBuckets::Take(uint64_t hash, Nanos now, bool* shared) {
  Place* const place = Find(std::max<uint64_t>(hash, 1), now);
  *shared = place == nullptr;
  return Take(now, place != nullptr ? &place->full_at : &shared_);
}

RateBuckets::Place* RateBuckets::Find(uint64_t hash, Nanos now) {
  const size_t probes = std::min(kProbes, size_);
  if (probes == 0) return nullptr;
  const size_t first = hash % size_;
  const auto at = [&](size_t probe) {
    const size_t index = first + probe;
    return &places_[index < size_ ? index : index - size_];
  };
  for (size_t i = 0; i < probes; ++i) {
    if (at(i)->hash.load(std::memory_order_relaxed) == hash) return at(i);
  }
  for (size_t i = 0; i < probes; ++i) {
    Place* const place = at(i);
    uint64_t holder = place->hash.load(std::memory_order_relaxed);
    if (place->full_at.load(std::memory_order_relaxed) > now) continue;
    if (place->hash.compare_exchange_strong(holder, hash, std::memory_order_relaxed) ||
        holder == hash) {
      return place;
    }
  }
  return nullptr;
}

}  // namespace weir::filters
