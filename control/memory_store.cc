#include "control/memory_store.h"

#include "absl/strings/str_cat.h"

namespace weir::control {

absl::StatusOr<filters::State> MemoryStore::Load() {
  MutexLock lock(&mu_);
  return state_;
}

absl::Status MemoryStore::Commit(uint64_t base_revision, const filters::State& state,
                                 const filters::ChangeSet& changes, Nanos wall_time) {
  MutexLock lock(&mu_);
  if (state_.revision != base_revision) {
    return absl::AbortedError(absl::StrCat("the store is at revision ", state_.revision,
                                           ", not at ", base_revision, " as expected"));
  }
  state_ = state;
  history_.push_back({state.revision, wall_time, changes});
  while (history_.size() > limits_.history) history_.pop_front();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HistoryEntry>> MemoryStore::History(uint64_t after) {
  MutexLock lock(&mu_);
  std::vector<HistoryEntry> entries;
  for (const HistoryEntry& entry : history_) {
    if (entry.revision > after) entries.push_back(entry);
  }
  return entries;
}

}  // namespace weir::control
