#include "filters/registry.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/strings.h"
#include "filters/changes.h"
#include "filters/filter_gate.h"
#include "filters/selector.h"
#include "filters/snapshot.h"

namespace weir::filters {
namespace {

// How often Drain looks. A call need not tell anyone that it was the last: that would cost every
// call.
constexpr auto kDrainPoll = std::chrono::milliseconds(1);

// Whether `a` and `b` are the same plug, so that its filter goes on.
bool SamePlug(const Plug& a, const Plug& b) {
  return a.name == b.name && a.sequence == b.sequence && a.filter == b.filter &&
         a.parameters == b.parameters && a.selector == b.selector && a.priority == b.priority &&
         a.down_priority == b.down_priority && a.before == b.before && a.after == b.after &&
         a.conditions == b.conditions;
}

}  // namespace

class Registry::Impl {
 public:
  Impl(const FilterKinds* kinds, const Clock* clock, Logger* logger, CallRingLimits recorded,
       const InterfaceLimits& interfaces)
      : kinds_(kinds),
        clock_(clock),
        logger_(logger),
        interface_limits_(interfaces),
        tracer_(clock, recorded),
        gate_(clock, logger, &tracer_),
        snapshot_(std::make_shared<const Snapshot>()) {}

  absl::StatusOr<Prepared> Prepare(const ChangeSet& changes,
                                   std::optional<uint64_t> expected_revision) const {
    const auto [base, snapshot] = Current();
    if (expected_revision.has_value() && *expected_revision != base.revision) {
      return absl::AbortedError(StrCat("expected revision ", *expected_revision,
                                       ", but the registry is at ", base.revision,
                                       "; look at what changed and try again"));
    }
    absl::StatusOr<State> state = ApplyChanges(base, changes, *kinds_);
    if (!state.ok()) return state.status();
    absl::StatusOr<Prepared> prepared = Compile(*std::move(state), base, *snapshot);
    if (!prepared.ok()) return prepared;
    if (absl::Status s = CheckOwnMethods(changes, *prepared->snapshot); !s.ok()) return s;
    prepared->changes = changes;
    return prepared;
  }

  absl::StatusOr<Prepared> PrepareState(const State& state) const {
    absl::StatusOr<State> checked = CheckState(state, *kinds_);
    if (!checked.ok()) return checked.status();
    const auto [base, snapshot] = Current();
    return Compile(*std::move(checked), base, *snapshot);
  }

  void Publish(Prepared prepared) {
    if (!prepared.changed) return;
    {
      MutexLock lock(&mu_);
      state_ = prepared.state;
      snapshot_ = prepared.snapshot;
    }
    gate_.Publish(std::move(prepared.snapshot));
    MutexLock lock(&observers_mu_);
    for (const auto& [id, observer] : observers_) observer(prepared.state, prepared.changes);
  }

  std::pair<State, std::shared_ptr<const Snapshot>> Current() const {
    MutexLock lock(&mu_);
    return {state_, snapshot_};
  }

  uint64_t revision() const {
    MutexLock lock(&mu_);
    return state_.revision;
  }

  std::vector<FilterCounter> Counters(std::string_view plug) const {
    const std::shared_ptr<const Snapshot> snapshot = Current().second;
    const auto it = snapshot->filters().find(plug);
    if (it == snapshot->filters().end()) return {};
    const PluggedFilter& plugged = *it->second;
    std::vector<FilterCounter> counters = plugged.filter->Counters();
    StepCounts all;
    for (const StepFigures& step : Steps(plugged)) {
      for (size_t i = 0; i < kStepOutcomes; ++i) all.by_outcome[i] += step.counts.by_outcome[i];
    }
    for (const StepOutcome outcome :
         {StepOutcome::kBounced, StepOutcome::kRaised, StepOutcome::kFailed}) {
      if (all[outcome] == 0) continue;
      counters.push_back(FilterCounter{"", std::string(StepOutcomeName(outcome)), all[outcome]});
    }
    if (const uint64_t undecided = plugged.undecided.load(std::memory_order_relaxed)) {
      counters.push_back(FilterCounter{"", "undecided", undecided});
    }
    return counters;
  }

  PlugFigures Figures(std::string_view plug) const {
    const std::shared_ptr<const Snapshot> snapshot = Current().second;
    const auto it = snapshot->filters().find(plug);
    if (it == snapshot->filters().end()) return {};
    return {Steps(*it->second), it->second->TookIn(Phase::kUp).Read(),
            it->second->TookIn(Phase::kDown).Read()};
  }

  absl::StatusOr<std::string> Tell(std::string_view plug, std::string_view command,
                                   const FilterParameters& parameters) const {
    const std::shared_ptr<const Snapshot> snapshot = Current().second;
    const auto it = snapshot->filters().find(plug);
    if (it == snapshot->filters().end()) {
      return absl::NotFoundError(
          StrCat("no plug is named '", Escape(plug.substr(0, 256)), "'; 'weir list' shows them"));
    }
    const FilterKind& kind = *it->second->kind;
    std::string names;
    for (const CommandInfo& info : kind.commands()) {
      if (info.name != command) {
        StrAppend(&names, names.empty() ? "" : ", ", info.name);
        continue;
      }
      for (const auto& given : parameters) {
        const std::string& name = given.first;
        const bool known = std::any_of(info.parameters.begin(), info.parameters.end(),
                                       [&](const ParameterInfo& p) { return p.name == name; });
        if (known) continue;
        return absl::InvalidArgumentError(StrCat("command '", info.name, "' has no parameter '",
                                                 Escape(std::string_view(name).substr(0, 100)),
                                                 "'; 'weir filter describe ", kind.name(),
                                                 "' shows those that it has"));
      }
      return it->second->filter->Tell(command, parameters);
    }
    return absl::NotFoundError(StrCat("filter '", kind.name(), "' has no command '",
                                      Escape(command.substr(0, 100)),
                                      "'; it has: ", names.empty() ? "none" : names));
  }

  Tracer* tracer() { return &tracer_; }

  absl::Status Drain(Nanos deadline) {
    for (;;) {
      const size_t calls = gate_.Reclaim();
      if (calls == 0) return absl::OkStatus();
      if (clock_->Now() >= deadline) {
        return absl::DeadlineExceededError(
            StrCat(calls, calls == 1 ? " call that began" : " calls that began",
                   " before the last change still had no reply at the deadline"));
      }
      std::this_thread::sleep_for(kDrainPoll);
    }
  }

  int Subscribe(Observer observer) {
    MutexLock lock(&observers_mu_);
    observers_.emplace(next_observer_, std::move(observer));
    return next_observer_++;
  }

  void Unsubscribe(int id) {
    MutexLock lock(&observers_mu_);
    observers_.erase(id);
  }

  orb::Gate* gate() { return &gate_; }

 private:
  // Refuses to map methods that a filter which describes itself is known not to have.
  static absl::Status CheckOwnMethods(const ChangeSet& changes, const Snapshot& snapshot) {
    for (const Change& change : changes) {
      const auto* const map = std::get_if<MapChange>(&change);
      if (map == nullptr) continue;
      const auto it = snapshot.filters().find(map->plug);
      if (it == snapshot.filters().end() || !it->second->kind->describes_itself()) continue;
      const absl::StatusOr<int> index = it->second->filter->MethodIndex(map->phase, map->method);
      if (!index.ok()) return index.status();
    }
    return absl::OkStatus();
  }

  static std::vector<StepFigures> Steps(const PluggedFilter& plugged) {
    std::vector<StepFigures> steps;
    for (const StepTable::Row& row : plugged.counters.Rows()) {
      for (const Phase phase : {Phase::kUp, Phase::kDown}) {
        StepFigures step{row.operation, phase, {}};
        std::copy_n(row.values.begin() + StepCounter(phase, StepOutcome::kPassed), kStepOutcomes,
                    step.counts.by_outcome.begin());
        if (step.counts != StepCounts()) steps.push_back(std::move(step));
      }
    }
    return steps;
  }

  // What numbers the interfaces that `state` has plugs on; null if there are none.
  absl::StatusOr<std::shared_ptr<InterfaceMemory>> Interfaces(const State& state) const {
    std::set<std::string> different;
    for (const Plug& plug : state.plugs) {
      Selector selector = *Selector::Parse(plug.selector);
      if (selector.kind == Selector::Kind::kInterface) different.insert(std::move(selector.bytes));
    }
    if (different.empty()) return nullptr;
    if (different.size() > InterfaceMemory::kMostInterfaces) {
      return absl::ResourceExhaustedError(
          StrCat("plugs on ", different.size(), " different interfaces; at most ",
                 InterfaceMemory::kMostInterfaces, " are possible at a time"));
    }
    const std::vector<std::string> ids(different.begin(), different.end());
    MutexLock lock(&mu_);
    if (interfaces_ == nullptr || !interfaces_->Number(ids)) {
      interfaces_ = std::make_shared<InterfaceMemory>(interface_limits_, clock_);
      interfaces_->Number(ids);
    }
    return interfaces_;
  }

  // Makes the filters that are new and compiles `state`.
  absl::StatusOr<Prepared> Compile(State state, const State& base, const Snapshot& current) const {
    Prepared prepared;
    prepared.changed = state != base;
    Snapshot::Filters filters;
    for (const Plug& plug : state.plugs) {
      const auto it = current.filters().find(plug.name);
      if (it != current.filters().end() && SamePlug(it->second->plug, plug)) {
        filters.insert(*it);
        continue;
      }
      auto plugged = std::make_shared<PluggedFilter>();
      plugged->plug = plug;
      plugged->plug.mappings.clear();
      plugged->kind = kinds_->Find(plug.filter);
      absl::StatusOr<std::unique_ptr<Filter>> filter =
          plugged->kind->New(plug.parameters, FilterContext{clock_, logger_, plug.name});
      if (!filter.ok()) {
        return absl::Status(filter.status().code(),
                            StrCat("plug '", plug.name, "': ", filter.status().message()));
      }
      plugged->filter = *std::move(filter);
      filters.emplace(plug.name, std::move(plugged));
    }
    absl::StatusOr<std::shared_ptr<InterfaceMemory>> interfaces = Interfaces(state);
    if (!interfaces.ok()) return interfaces.status();
    prepared.snapshot =
        std::make_shared<const Snapshot>(state, std::move(filters), *std::move(interfaces));
    prepared.state = std::move(state);
    return prepared;
  }

  const FilterKinds* const kinds_;
  const Clock* const clock_;
  Logger* const logger_;
  const InterfaceLimits interface_limits_;
  Tracer tracer_;
  FilterGate gate_;

  mutable Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const Snapshot> snapshot_ ABSL_GUARDED_BY(mu_);
  // Of all snapshots since the first that needed one; outlives them, so that what is known stays.
  mutable std::shared_ptr<InterfaceMemory> interfaces_ ABSL_GUARDED_BY(mu_);

  // Held while observers run, so that Unsubscribe waits for them.
  Mutex observers_mu_;
  std::map<int, Observer> observers_ ABSL_GUARDED_BY(observers_mu_);
  int next_observer_ ABSL_GUARDED_BY(observers_mu_) = 1;
};

Registry::Registry(const FilterKinds* kinds, const Clock* clock, Logger* logger,
                   CallRingLimits recorded, InterfaceLimits interfaces)
    : impl_(std::make_unique<Impl>(kinds, clock, logger, recorded, interfaces)) {}
Registry::~Registry() = default;

orb::Gate* Registry::gate() { return impl_->gate(); }

absl::StatusOr<Prepared> Registry::Prepare(const ChangeSet& changes,
                                           std::optional<uint64_t> expected_revision) const {
  return impl_->Prepare(changes, expected_revision);
}
void Registry::Publish(Prepared prepared) { impl_->Publish(std::move(prepared)); }
absl::StatusOr<Prepared> Registry::PrepareState(const State& state) const {
  return impl_->PrepareState(state);
}

State Registry::state() const { return impl_->Current().first; }
uint64_t Registry::revision() const { return impl_->revision(); }
std::vector<FilterCounter> Registry::Counters(std::string_view plug) const {
  return impl_->Counters(plug);
}
PlugFigures Registry::Figures(std::string_view plug) const { return impl_->Figures(plug); }
absl::StatusOr<std::string> Registry::Tell(std::string_view plug, std::string_view command,
                                           const FilterParameters& parameters) const {
  return impl_->Tell(plug, command, parameters);
}
Tracer* Registry::tracer() const { return impl_->tracer(); }

absl::Status Registry::Drain(Nanos deadline) const { return impl_->Drain(deadline); }

int Registry::Subscribe(Observer observer) { return impl_->Subscribe(std::move(observer)); }
void Registry::Unsubscribe(int id) { impl_->Unsubscribe(id); }

}  // namespace weir::filters
