#include "tools/bench/interleave.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace weir::bench {

absl::StatusOr<std::vector<std::vector<double>>> Interleave(
    const std::vector<Contender*>& contenders, const InterleaveOptions& options) {
  std::vector<std::vector<double>> times(contenders.size());
  std::vector<size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937_64 random(options.seed);
  const int warm_up = std::max(1, options.calls / 10);
  // Round -1 is not counted: it connects, and fills caches.
  for (int round = -1; round < options.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      if (auto s = contenders[i]->Run(warm_up).status(); !s.ok()) return s;
      absl::StatusOr<Nanos> elapsed = contenders[i]->Run(options.calls);
      if (!elapsed.ok()) return elapsed.status();
      if (round >= 0) times[i].push_back(static_cast<double>(*elapsed) / options.calls);
    }
  }
  return times;
}

Summary Summarize(std::vector<double> sample) {
  std::sort(sample.begin(), sample.end());
  const auto at = [&sample](double part) {
    const double position = part * static_cast<double>(sample.size() - 1);
    const size_t below = static_cast<size_t>(position);
    const size_t above = std::min(below + 1, sample.size() - 1);
    const double rest = position - static_cast<double>(below);
    return sample[below] * (1 - rest) + sample[above] * rest;
  };
  return {at(0.5), at(0.25), at(0.75)};
}

}  // namespace weir::bench
