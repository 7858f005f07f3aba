#include "filters/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

namespace weir::filters {
namespace {

constexpr int kLeastBits = std::bit_width(static_cast<uint64_t>(kLeastNanos)) - 1;
constexpr size_t kLast = kHistogramBuckets - 1;
static_assert(Nanos{64} << (kLast - 1) / 2 == kMostNanos);

}  // namespace

size_t HistogramCounts::BucketOf(Nanos nanos) {
  if (nanos < kLeastNanos) return 0;
  if (nanos >= kMostNanos) return kLast;
  const int bits = std::bit_width(static_cast<uint64_t>(nanos)) - 1;
  const size_t upper_half = (nanos >> (bits - 1)) & 1;
  return 1 + 2 * static_cast<size_t>(bits - kLeastBits) + upper_half;
}

Nanos HistogramCounts::LowerBound(size_t bucket) {
  if (bucket == 0) return 0;
  if (bucket > kLast) return kNoDeadline;
  const Nanos power = kLeastNanos << (bucket - 1) / 2;
  return bucket % 2 == 1 ? power : power + power / 2;
}

uint64_t HistogramCounts::count() const {
  uint64_t n = 0;
  for (const uint64_t bucket : buckets) n += bucket;
  return n;
}

double HistogramCounts::Mean() const {
  const uint64_t n = count();
  return n == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(n);
}

double HistogramCounts::Percentile(double fraction) const {
  const uint64_t n = count();
  if (n == 0) return 0;
  const double rank = std::max(1.0, std::ceil(fraction * static_cast<double>(n)));
  double below = 0;
  for (size_t i = 0; i < kHistogramBuckets; ++i) {
    const double here = static_cast<double>(buckets[i]);
    if (below + here < rank) {
      below += here;
      continue;
    }
    const double low = static_cast<double>(LowerBound(i));
    const double high = i == kLast ? std::max(low, static_cast<double>(max))
                                   : static_cast<double>(LowerBound(i + 1));
    return std::min(low + (high - low) * (rank - below - 0.5) / here, static_cast<double>(max));
  }
  return static_cast<double>(max);
}

HistogramCounts HistogramCounts::Since(const HistogramCounts& earlier) const {
  HistogramCounts between;
  size_t highest = 0;
  bool any = false;
  for (size_t i = 0; i < kHistogramBuckets; ++i) {
    // A reading is no instant: a count may lag behind the sum it belongs to, but never goes back.
    between.buckets[i] = buckets[i] - std::min(buckets[i], earlier.buckets[i]);
    if (between.buckets[i] == 0) continue;
    highest = i;
    any = true;
  }
  between.sum = sum - std::min(sum, earlier.sum);
  if (!any) return between;
  const auto bound = static_cast<uint64_t>(LowerBound(highest + 1));
  between.max = max > earlier.max ? max : std::min(max, bound);
  return between;
}

Histogram::~Histogram() {
  for (std::atomic<Place*>& place : places_) delete place.load(std::memory_order_relaxed);
}

void Histogram::Add(Nanos nanos) {
  const size_t index = ThreadIndex();
  Place* place = places_[index].load(std::memory_order_acquire);
  if (place == nullptr) place = MakePlace(index);
  const uint64_t took = nanos > 0 ? static_cast<uint64_t>(nanos) : 0;
  // First, so that a reader that sees the count sees a max that is not below it.
  uint64_t max = place->max.load(std::memory_order_relaxed);
  while (took > max && !place->max.compare_exchange_weak(max, took, std::memory_order_release,
                                                         std::memory_order_relaxed)) {
  }
  AddToPlace<uint64_t>(&place->sum, index, took);
  AddToPlace<uint64_t>(&place->buckets[HistogramCounts::BucketOf(nanos)], index, 1);
}

Histogram::Place* Histogram::MakePlace(size_t index) {
  auto made = std::make_unique<Place>();
  Place* there = nullptr;
  // Threads without an index of their own may come at once.
  if (places_[index].compare_exchange_strong(there, made.get(), std::memory_order_acq_rel,
                                             std::memory_order_acquire)) {
    return made.release();
  }
  return there;
}

HistogramCounts Histogram::Read() const {
  HistogramCounts read;
  for (const std::atomic<Place*>& p : places_) {
    const Place* place = p.load(std::memory_order_acquire);
    if (place == nullptr) continue;
    for (size_t i = 0; i < kHistogramBuckets; ++i) {
      read.buckets[i] += place->buckets[i].load(std::memory_order_acquire);
    }
    read.sum += place->sum.load(std::memory_order_acquire);
    read.max = std::max(read.max, place->max.load(std::memory_order_acquire));
  }
  return read;
}

}  // namespace weir::filters
