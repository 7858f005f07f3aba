// The registry's state, compiled for calls: which filter methods run for an object key and an
// operation, as flat arrays.
//
// A plan is made for each distinct key and each distinct prefix that anything is plugged onto, or
// that a reply order was set for, and already holds what shorter prefixes and `all` add. A call
// takes the plan of its exact key, else that of the longest prefix that matches, else that of
// `all`. So nothing is computed or remembered per called key, and a million different keys cost no
// memory: this stands in for the bounded cache that a per-key plan would need.
//
// Only what is enabled is compiled: a disabled mapping costs a call nothing, and an operation never
// visits filters that do not map it, or whose conditions it does not meet.
//
// Thread safety: immutable, but for the counters of the filters that it shares with other
// snapshots.

#ifndef WEIR_FILTERS_SNAPSHOT_H_
#define WEIR_FILTERS_SNAPSHOT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "filters/condition.h"
#include "filters/filter.h"
#include "filters/histogram.h"
#include "filters/interface_plans.h"
#include "filters/name_map.h"
#include "filters/prefix_map.h"
#include "filters/state.h"
#include "filters/step_outcome.h"

namespace weir::filters {

// The filter of one plug, from its plugging to its unplugging and the last call that holds it. All
// snapshots in between share it, and so it keeps what it counts.
struct PluggedFilter {
  // Mapped operations that are counted apart. Beta messages come from friends, but must not fill
  // memory, either: a row takes 2 KiB.
  static constexpr size_t kMostOperations = 256;

  // What the filter was made from; mappings are not kept here.
  Plug plug;
  const FilterKind* kind = nullptr;
  // Outcomes of its steps by operation as mapped, and how long they took while that was asked for.
  StepTable counters{kMostOperations};
  std::array<Histogram, 2> took;
  // For the log, which does not tell of each.
  std::atomic<uint64_t> failures{0};
  // Calls that failed because it could not be learned whether their object is of the interface that
  // the plug is on.
  std::atomic<uint64_t> undecided{0};
  // Calls that the filter has suspended.
  std::atomic<uint64_t> holds{0};

  std::unique_ptr<Filter> filter;

  Histogram& TookIn(Phase phase) { return took[phase == Phase::kUp ? 0 : 1]; }

  // The number of a mapped method, and back. A filter that describes itself gives a number to a
  // method that it has turned out to lack, too.
  int MethodIndex(const Mapping& mapping) const;
  std::string MethodName(int method) const;
};

// One filter method to run.
struct Step {
  Filter* filter;
  PluggedFilter* plugged;
  StepCounters* counters;  // of the plug and the mapping: found when compiled, not at the call
  int method;
  bool asynchronous;  // the filter's
  bool special;       // asynchronous, or not for every call
  uint32_t position;  // the plug's place in the chain; 0 is the outermost, first on the way up
  // Of Chain::conditions, the number of those that must hold for the call; kEveryCall for none.
  uint32_t condition;
  static constexpr uint32_t kEveryCall = static_cast<uint32_t>(-1);
};

// The enabled methods of one target and operation. A plug with a method in one phase only is absent
// from the other's array but has its position: on the way up it counts as having passed the call.
struct Chain {
  std::vector<Step> up;    // in ascending position
  std::vector<Step> down;  // in their order, which usually is that of descending positions
  uint32_t size = 0;       // positions in use
  bool timed = false;      // some method needs GateState.began
  bool prepares = false;   // something is to be done before the first filter: timed, or conditions
  uint64_t revision = 0;   // of the snapshot
  // What its plugs ask of a call, apart from the operation; equal ones are here once.
  std::vector<const CallConditions*> conditions;
  bool concerns_every_call = false;  // some plug asks nothing
};

class Snapshot {
 public:
  // By plug name.
  using Filters = std::map<std::string, std::shared_ptr<PluggedFilter>, std::less<>>;

  // Nothing is plugged.
  Snapshot() = default;
  // REQUIRES: `state` obeys CheckState, `filters` has the filter of each of its plugs, and
  // `interfaces` has numbered those that they are plugged onto, if there are any.
  Snapshot(const State& state, Filters filters,
           std::shared_ptr<InterfaceMemory> interfaces = nullptr);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Null if no filter method is enabled there. Valid as long as the snapshot. Without what is
  // plugged onto interfaces.
  const Chain* Find(std::string_view object_key, std::string_view operation) const;

  // The interfaces that matter for the operation, or null if none does.
  const InterfacePlans::Operation* Concerned(std::string_view operation) const {
    if (interfaces_ == nullptr) [[likely]]
      return nullptr;
    const InterfacePlans::Operation& found = interfaces_->Find(operation);
    return found.interfaces != 0 ? &found : nullptr;
  }
  // As Find, for an object that is of `interfaces`, a subset of those that matter. Valid as long as
  // the snapshot, or as `*own` if that is set.
  const Chain* FindOf(uint64_t interfaces, std::string_view object_key, std::string_view operation,
                      std::unique_ptr<const Chain>* own) const;
  // Null if no interface matters for any operation.
  InterfaceMemory* interface_memory() const {
    return interfaces_ != nullptr ? &interfaces_->memory() : nullptr;
  }

  std::shared_ptr<InterfaceMemory> shared_interface_memory() const {
    return interfaces_ != nullptr ? interfaces_->shared_memory() : nullptr;
  }

  // True if some mapping is enabled.
  bool active() const { return !plans_.empty() || interfaces_ != nullptr; }
  const Filters& filters() const { return filters_; }

 private:
  struct Resolved;  // one plug, its mappings by method index
  struct Plan {
    // Operations whose chain is not that of their prefix, or `otherwise`; null where none of their
    // methods is enabled.
    NameMap<const Chain*> by_operation;
    PrefixMap<const Chain*> by_operation_prefix;  // from conditions
    const Chain* otherwise = nullptr;             // from '*' mappings
    // What it was made from, if interfaces are to be added.
    std::vector<const Resolved*> plugs;
    ReplyOrder reply_order = ReplyOrder::kReversed;

    // Where the operation's chain is; null if that is `otherwise`.
    const Chain* const* Find(std::string_view operation) const {
      const Chain* const* chain = by_operation.Find(operation);
      if (chain == nullptr && !by_operation_prefix.empty()) [[unlikely]]
        chain = by_operation_prefix.Find(operation);
      return chain;
    }
  };
  struct Parts;

  const Plan* FindPlan(std::string_view object_key) const;
  const Plan* MakePlan(const std::vector<const Resolved*>& plugs, ReplyOrder reply_order);
  const Chain* MakeChain(const std::vector<const Resolved*>& plugs, ReplyOrder reply_order,
                         const OperationClass& operations);
  // Null if no method is enabled.
  std::unique_ptr<const Chain> Compile(const std::vector<const Resolved*>& plugs,
                                       ReplyOrder reply_order,
                                       const OperationClass& operations) const;
  void MakeInterfaces(std::shared_ptr<const Parts> parts, std::shared_ptr<InterfaceMemory> memory);
  // Of plugs whose conditions are the same, the same.
  const CallConditions* Keep(Conditions conditions);

  uint64_t revision_ = 0;
  Filters filters_;
  std::vector<std::unique_ptr<const Chain>> chains_;
  std::vector<std::unique_ptr<const Plan>> plans_;
  std::map<std::vector<std::string>, CallConditions> conditions_;  // by their canonical spelling

  NameMap<const Plan*> by_key_;
  PrefixMap<const Plan*> by_prefix_;
  const Plan* all_ = nullptr;
  // Null while nothing that is enabled is plugged onto an interface.
  std::unique_ptr<InterfacePlans> interfaces_;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_SNAPSHOT_H_
