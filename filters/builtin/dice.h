// Decisions that look random and can be had again: the nth one depends on the seed and n alone.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_FILTERS_BUILTIN_DICE_H_
#define WEIR_FILTERS_BUILTIN_DICE_H_

#include <atomic>
#include <cstdint>

namespace weir::filters {

class Dice {
 public:
  // Streams of different `stream` are independent of each other.
  explicit Dice(uint64_t seed, uint64_t stream = 0)
      : start_(Mix(stream == 0 ? seed : Mix(seed) ^ stream)) {}

  // The next value, uniform in [0, 1).
  double Throw() {
    const uint64_t n = thrown_.fetch_add(1, std::memory_order_relaxed) + 1;
    return static_cast<double>(Mix(start_ + n * 0x9e3779b97f4a7c15) >> 11) / kOne;
  }
  uint64_t thrown() const { return thrown_.load(std::memory_order_relaxed); }

 private:
  static constexpr double kOne = 1ull << 53;

  // SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014) as a
  // function of its state.
  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  const uint64_t start_;
  std::atomic<uint64_t> thrown_{0};
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_DICE_H_
