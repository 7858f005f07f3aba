#include "filters/operation_table.h"

#include <algorithm>
#include <bit>

#include "absl/hash/hash.h"
#include "base/strings.h"

namespace weir::filters {
namespace {

// Names that collide on purpose end up in (other) instead of making every look-up slow.
constexpr size_t kMaxProbes = 64;

}  // namespace

template <size_t kCounters>
auto OperationTable<kCounters>::Counters::Sum() const -> Values {
  Values sum{};
  for (const Shard& shard : shards_) {
    for (size_t i = 0; i < kCounters; ++i) {
      sum[i] += shard.values[i].load(std::memory_order_relaxed);
    }
  }
  return sum;
}

template <size_t kCounters>
OperationTable<kCounters>::OperationTable(size_t limit)
    : limit_(limit),
      mask_(std::bit_ceil(limit * 4) - 1),
      cells_(new std::atomic<Entry*>[mask_ + 1]()) {}

template <size_t kCounters>
OperationTable<kCounters>::~OperationTable() {
  for (size_t i = 0; i <= mask_; ++i) delete cells_[i].load(std::memory_order_relaxed);
}

template <size_t kCounters>
auto OperationTable<kCounters>::Find(std::string_view operation) -> Counters& {
  if (operation.size() > kMaxName) return other_;
  const size_t hash = absl::Hash<absl::string_view>()(ToAbsl(operation));
  for (size_t probe = 0; probe < kMaxProbes; ++probe) {
    std::atomic<Entry*>& cell = cells_[(hash + probe) & mask_];
    Entry* entry = cell.load(std::memory_order_acquire);
    if (entry == nullptr) {
      // Takes a place first, so that the limit holds however many threads come at once.
      if (size_.load(std::memory_order_relaxed) >= limit_) return other_;
      if (size_.fetch_add(1, std::memory_order_relaxed) >= limit_) {
        size_.fetch_sub(1, std::memory_order_relaxed);
        return other_;
      }
      auto made = std::make_unique<Entry>(operation);
      if (cell.compare_exchange_strong(entry, made.get(), std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
        return made.release()->counters;
      }
      size_.fetch_sub(1, std::memory_order_relaxed);  // `entry` is who was faster
    }
    if (entry->operation == operation) return entry->counters;
  }
  return other_;
}

template <size_t kCounters>
auto OperationTable<kCounters>::Rows() const -> std::vector<Row> {
  std::vector<Row> rows;
  for (size_t i = 0; i <= mask_; ++i) {
    const Entry* entry = cells_[i].load(std::memory_order_acquire);
    if (entry != nullptr) rows.push_back(Row{entry->operation, entry->counters.Sum()});
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.operation < b.operation; });
  const Values other = other_.Sum();
  if (other != Values{}) rows.push_back(Row{std::string(kOtherOperations), other});
  return rows;
}

template class OperationTable<4>;
template class OperationTable<16>;

}  // namespace weir::filters
