// A set of counters for each operation that is called, up to a limit.
//
// Finding one takes no lock, and allocates only when an operation is met for the first time.
// Counters are kept in several places, so that threads do not share a cache line, and added up when
// read.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_FILTERS_BUILTIN_OPERATION_TABLE_H_
#define WEIR_FILTERS_BUILTIN_OPERATION_TABLE_H_

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

class OperationTable {
 public:
  static constexpr size_t kCounters = 4;
  using Values = std::array<uint64_t, kCounters>;

  struct Row {
    std::string operation;  // kOther for those without a row of their own
    Values values;
  };
  static constexpr std::string_view kOther = "(other)";
  // Stops a peer from filling memory with a few enormous names.
  static constexpr size_t kMaxName = 255;

  // REQUIRES: 1 <= limit <= 65536 operations get a row of their own.
  explicit OperationTable(size_t limit);
  ~OperationTable();
  OperationTable(const OperationTable&) = delete;
  OperationTable& operator=(const OperationTable&) = delete;

  // The counters of `operation`, one of which Add increases by one.
  class Counters {
   public:
    void Add(size_t counter);

   private:
    friend class OperationTable;
    struct alignas(64) Shard {
      std::array<std::atomic<uint64_t>, kCounters> values{};
    };
    Values Sum() const;

    std::array<Shard, kThreadIndices> shards_;
  };
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

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_OPERATION_TABLE_H_
