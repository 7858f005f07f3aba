// A store that forgets everything with its process: for tests, and for nodes that are configured
// anew at each start.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_CONTROL_MEMORY_STORE_H_
#define WEIR_CONTROL_MEMORY_STORE_H_

#include <deque>

#include "base/mutex.h"
#include "control/store.h"

namespace weir::control {

class MemoryStore : public Store {
 public:
  explicit MemoryStore(StoreLimits limits = {}) : limits_(limits) {}

  std::string name() const override { return "memory"; }
  absl::StatusOr<filters::State> Load() override;
  absl::Status Commit(uint64_t base_revision, const filters::State& state,
                      const filters::ChangeSet& changes, Nanos wall_time) override;
  absl::StatusOr<std::vector<HistoryEntry>> History(uint64_t after) override;

 private:
  const StoreLimits limits_;
  Mutex mu_;
  filters::State state_ ABSL_GUARDED_BY(mu_);
  std::deque<HistoryEntry> history_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::control

#endif  // WEIR_CONTROL_MEMORY_STORE_H_
