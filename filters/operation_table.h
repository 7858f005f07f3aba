// A set of counters for each operation, up to a limit: for names that come from peers, which must
// not fill memory, and for anything else that is counted by operation.
//
// Finding one takes no lock, and allocates only when an operation is met for the first time.
// Counters are kept in several places, so that threads do not share a cache line, and added up when
// read.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_FILTERS_OPERATION_TABLE_H_
#define WEIR_FILTERS_OPERATION_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_index.h"

namespace weir::filters {

// Those without a row of their own are counted here.
inline constexpr std::string_view kOtherOperations = "(other)";

// `kCounters` counters for each operation. Instantiated in the .cc file.
template <size_t kCounters>
class OperationTable {
 public:
  using Values = std::array<uint64_t, kCounters>;

  struct Row {
    std::string operation;  // may be kOtherOperations
    Values values;
  };
  // Stops a peer from filling memory with a few enormous names.
  static constexpr size_t kMaxName = 255;

  // REQUIRES: 1 <= limit <= 65536 operations get a row of their own.
  explicit OperationTable(size_t limit);
  ~OperationTable();
  OperationTable(const OperationTable&) = delete;
  OperationTable& operator=(const OperationTable&) = delete;

  // The counters of `operation`, one of which Add increases by one: a load and a store.
  class Counters {
   public:
    void Add(size_t counter) {
      const size_t index = ThreadIndex();
      AddToPlace<uint64_t>(&shards_[index].values[counter], index, 1);
    }

   private:
    friend class OperationTable;
    struct alignas(64) Shard {
      std::array<std::atomic<uint64_t>, kCounters> values{};
    };
    Values Sum() const;

    std::array<Shard, kThreadIndices> shards_;
  };
  // Lives as long as the table.
  Counters& Find(std::string_view operation);

  // In order of operation; without (other) if it has counted nothing.
  std::vector<Row> Rows() const;

 private:
  struct Entry {
    explicit Entry(std::string_view name) : operation(name) {}
    const std::string operation;
    Counters counters;
  };

  const size_t limit_;
  const size_t mask_;
  // Open addressing; a cell is filled once and never changes again. At most a quarter is in use.
  const std::unique_ptr<std::atomic<Entry*>[]> cells_;
  std::atomic<size_t> size_{0};
  Counters other_;
};

extern template class OperationTable<4>;
extern template class OperationTable<16>;

}  // namespace weir::filters

#endif  // WEIR_FILTERS_OPERATION_TABLE_H_
