// What tests of the control plane share: a registry with the shipped filters, and a store that
// fails when it is told to.
//
// Thread safety: as the classes they derive from.

#ifndef WEIR_TESTS_UNIT_CONTROL_SUPPORT_H_
#define WEIR_TESTS_UNIT_CONTROL_SUPPORT_H_

#include <atomic>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/logger.h"
#include "control/memory_store.h"
#include "filters/builtin/builtin.h"
#include "filters/registry.h"

namespace weir::control {

inline filters::Change Plug(const std::string& name, const std::string& filter = "count",
                            const std::string& selector = "all", int32_t priority = 0) {
  return filters::PlugChange{name, filter, {}, selector, priority};
}
inline filters::Change Unplug(const std::string& name) { return filters::UnplugChange{name}; }
inline filters::Change MapUp(const std::string& plug, const std::string& operation,
                             const std::string& method = "count", bool enable = false) {
  return filters::MapChange{plug, operation, method, filters::Phase::kUp, enable};
}

class FailingStore : public MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  absl::Status Commit(uint64_t base, const filters::State& state, const filters::ChangeSet& changes,
                      Nanos wall_time) override {
    if (failing) return absl::ResourceExhaustedError("the disk is full");
    return MemoryStore::Commit(base, state, changes, wall_time);
  }
  std::atomic<bool> failing{false};
};

// A registry and what it needs.
struct TestRegistry {
  TestRegistry() { filters::AddBuiltinFilters(&kinds); }

  SystemClock clock;
  NullLogger logger;
  filters::FilterKinds kinds;
  filters::Registry registry{&kinds, &clock, &logger};
};

}  // namespace weir::control

#endif  // WEIR_TESTS_UNIT_CONTROL_SUPPORT_H_
