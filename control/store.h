// Where the registry's state is kept between runs of a node.
//
// A commit is durable when Commit returns OK: the control service acknowledges a change set only
// after that. What a store keeps is the state as plain data and a bounded history of change sets.
//
// Thread safety: all methods are safe for concurrent use; the control service serializes commits.

#ifndef WEIR_CONTROL_STORE_H_
#define WEIR_CONTROL_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "filters/state.h"

namespace weir::control {

// One committed revision.
struct HistoryEntry {
  uint64_t revision = 0;
  Nanos committed_at = 0;  // since 1970-01-01 UTC
  filters::ChangeSet changes;
};

class Store {
 public:
  virtual ~Store() = default;

  // As given to OpenStore: "memory", "sqlite:/var/lib/weir/registry.db".
  virtual std::string name() const = 0;

  // The latest committed state; revision 0 if there never was a commit. Errors: DATA_LOSS (what is
  // stored makes no sense), UNAVAILABLE (it cannot be read).
  virtual absl::StatusOr<filters::State> Load() = 0;

  // Makes `state`, which `changes` led to at `wall_time`, the stored one. After an error nothing is
  // stored. Errors: ABORTED (the stored revision is not `base_revision`, so somebody else has
  // written), RESOURCE_EXHAUSTED (full), UNAVAILABLE (it cannot be written).
  virtual absl::Status Commit(uint64_t base_revision, const filters::State& state,
                              const filters::ChangeSet& changes, Nanos wall_time) = 0;

  // The commits with revisions above `after`, oldest first, as far back as they are kept.
  virtual absl::StatusOr<std::vector<HistoryEntry>> History(uint64_t after) = 0;
};

struct StoreLimits {
  // How many revisions the history keeps: a stream of changes must not fill the disk.
  uint64_t history = 10'000;
  // The size at which a store is full, in bytes; 0 for the disk's own limit.
  uint64_t max_bytes = 0;
};

// Opens "memory" or "sqlite:FILE", which is created if it is missing. Errors: INVALID_ARGUMENT
// (another spelling), or as OpenSqliteStore.
absl::StatusOr<std::unique_ptr<Store>> OpenStore(std::string_view spec, StoreLimits limits = {});

}  // namespace weir::control

#endif  // WEIR_CONTROL_STORE_H_
