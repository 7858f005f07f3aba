// The filter registry: what is plugged, mapped and enabled, compiled into immutable snapshots that
// calls read without a lock.
//
// Committing is in two steps, so that a store can write between them: Prepare validates a change
// set against the current state and builds everything that can fail (filters, compiled plans);
// Publish makes the result current and cannot fail. Changes apply to calls that begin afterwards; a
// call keeps the snapshot it began with until its reply has left.
//
// Thread safety: all methods are safe for concurrent use, but Prepare and Publish of one commit
// must not interleave with another commit's: the caller serializes commits (control::Service does).

#ifndef WEIR_FILTERS_REGISTRY_H_
#define WEIR_FILTERS_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/logger.h"
#include "filters/call_ring.h"
#include "filters/filter.h"
#include "filters/histogram.h"
#include "filters/interface_memory.h"
#include "filters/state.h"
#include "filters/step_outcome.h"
#include "filters/tracer.h"
#include "orb/core/gate.h"

namespace weir::filters {

class Snapshot;  // filters/snapshot.h

// The outcome of Prepare.
struct Prepared {
  State state;                               // with the new revision
  ChangeSet changes;                         // that led to it; empty from PrepareState
  std::shared_ptr<const Snapshot> snapshot;  // compiled from it
  bool changed = false;  // false: the change set was a no-op; the revision is the old one
};

// What the gate has seen of one plug, since it was plugged.
struct PlugFigures {
  std::vector<StepFigures> steps;  // in order of operation and phase; without those never called
  // How long its methods took, while somebody had that timed (Tracer).
  HistogramCounts up_took, down_took;
};

class Registry {
 public:
  // `kinds`, `clock` and `logger` must outlive the registry. `recorded` bounds what is kept of
  // calls while they are recorded, `interfaces` what is known of objects.
  Registry(const FilterKinds* kinds, const Clock* clock, Logger* logger,
           CallRingLimits recorded = {}, InterfaceLimits interfaces = {});
  ~Registry();

  // What the ORB consults. Lives as long as the registry, which must outlive all calls.
  orb::Gate* gate();

  // Errors: INVALID_ARGUMENT (bad selector, name, parameter), NOT_FOUND (unknown filter kind, plug,
  // method, mapping), RESOURCE_EXHAUSTED (plugs on too many different interfaces), ALREADY_EXISTS
  // (the plug's name is taken by a different plug), ABORTED
  // (`expected_revision` is not the current one), FAILED_PRECONDITION (which of several methods to
  // enable is not said). The text is one line that a person can act on. Nothing is changed.
  //
  // What a change finds done already is no error: to unplug what is not plugged, or unmap what is
  // not mapped. Plugging again with the same filter, target, parameters and priority changes
  // nothing; a plug that differs in one of them has to be unplugged first, in the same change set
  // if need be.
  absl::StatusOr<Prepared> Prepare(const ChangeSet& changes,
                                   std::optional<uint64_t> expected_revision) const;
  // Does nothing if `prepared` is a no-op. REQUIRES: `prepared` comes from the latest Prepare or
  // PrepareState, with no Publish between.
  void Publish(Prepared prepared);

  // Prepares a state read back from a store, with the revision that it says. Same errors as
  // Prepare; whether one is fatal (a filter kind that this process does not know) is for the caller
  // to judge. Plugs that are as now keep their filters and so their counters.
  absl::StatusOr<Prepared> PrepareState(const State& state) const;

  State state() const;
  uint64_t revision() const;
  // What the plug's filter counted, and if not 0 how often it `bounced` a request, `raised` an
  // exception in a reply or `failed`, and how many calls were refused `undecided`, because it could
  // not be learned whether their object is of its interface (with an empty operation). Empty if
  // there is no such plug.
  std::vector<FilterCounter> Counters(std::string_view plug) const;
  // Empty if there is no such plug.
  PlugFigures Figures(std::string_view plug) const;
  // Has the plug's filter do something at once; the state does not change. Returns a line that says
  // what was done. NOT_FOUND (no such plug, or its kind has no such command), INVALID_ARGUMENT (a
  // parameter that the command does not have), or the filter's error.
  absl::StatusOr<std::string> Tell(std::string_view plug, std::string_view command,
                                   const FilterParameters& parameters) const;
  // Switches timing and recording on and off, and has the recorded calls. Lives as long as the
  // registry.
  Tracer* tracer() const;

  // Waits until no call holds a snapshot older than the current one, or until `deadline`
  // (DEADLINE_EXCEEDED, saying how many calls still hold one). Also frees what they held; without
  // it that waits for the next Publish. Not to be called from within a call.
  absl::Status Drain(Nanos deadline) const;

  // Calls `observer` with each newly published state (not for a no-op), in order, on the publishing
  // thread, once calls can see it. Returns an id for Unsubscribe, after whose return `observer` is
  // not called any more. An observer must not block, publish, subscribe or unsubscribe.
  using Observer = std::function<void(const State&, const ChangeSet&)>;
  int Subscribe(Observer observer);
  void Unsubscribe(int id);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REGISTRY_H_
