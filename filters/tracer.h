// Watching calls from close by: how long each filter takes, and records of single calls.
//
// Both read the clock around each filter method, so neither goes on for ever: who wants it takes a
// lease and renews it. When the last lease is over, the next filtered call notices and switches it
// off; nobody has to come back for that. While both are off, a filtered call pays one load.
//
// A call is traced to its end if it began while something was on. Traced calls allocate.
//
// Thread safety: safe for concurrent use; one trace is for whoever has its call.

#ifndef WEIR_FILTERS_TRACER_H_
#define WEIR_FILTERS_TRACER_H_

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"
#include "filters/call_ring.h"
#include "filters/step_outcome.h"
#include "orb/core/call.h"

namespace weir::filters {

struct Chain;  // filters/snapshot.h
struct Step;

class Tracer {
 public:
  enum Mode : uint32_t {
    kTiming = 1,     // histograms of each plug and phase
    kRecording = 2,  // single calls, in the ring
  };
  // The longest lease that may be taken at a time, for either.
  static constexpr Nanos kMostLease = 3600 * kSecond;

  // `clock` must outlive the tracer.
  Tracer(const Clock* clock, CallRingLimits limits) : clock_(clock), ring_(limits) {}

  // For whoever asks.
  //
  // Switches `mode` on until `lease` nanoseconds from now, if it does not end later already.
  // REQUIRES: 0 < lease <= kMostLease.
  void Extend(Mode mode, Nanos lease);
  // Switches it off, whoever has a lease. What was recorded stays.
  void Stop(Mode mode);
  // Nanoseconds until it ends; 0 if it is off.
  Nanos Left(Mode mode) const;
  const CallRing& ring() const { return ring_; }

  // For the gate. A call's trace is its GateState.trace; none of these is called without one, but
  // for the first two.
  bool on() const { return modes_.load(std::memory_order_relaxed) != 0; }
  // The call is about to meet its first filter. Makes a trace, unless all leases are over.
  void Begin(const Chain& chain, orb::Call& call);
  // The down phase begins.
  void BeginDown(orb::Call& call);
  // A method has returned or thrown, or was given up.
  void Note(const Step& step, Phase phase, StepOutcome outcome, orb::Call& call);
  // The down phase is over: call.reply() is what leaves.
  void NoteReply(orb::Call& call);
  // The call is over; the snapshot is still held. Records the call and frees its trace.
  void End(orb::Call& call);

 private:
  struct Trace;

  const Clock* const clock_;
  CallRing ring_;
  std::atomic<uint32_t> modes_{0};  // those that have a lease, or had until lately

  mutable Mutex mu_;
  Nanos timing_until_ ABSL_GUARDED_BY(mu_) = 0;
  Nanos recording_until_ ABSL_GUARDED_BY(mu_) = 0;

  Nanos* Until(Mode mode) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return mode == kTiming ? &timing_until_ : &recording_until_;
  }
  // The modes that are on at `now`; switches off those that are over.
  uint32_t ModesAt(Nanos now);

  // When the next lease ends; calls need not look closer before.
  std::atomic<Nanos> next_end_{0};
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_TRACER_H_
