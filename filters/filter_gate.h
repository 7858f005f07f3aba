// The gate that the ORB consults around every call, on top of the current snapshot.
//
// A call whose operation has filters holds the snapshot that it began with until Release; any other
// lets go at once. Neither takes a lock or allocates.
//
// A call that an up method bounces, or that a broken filter stops, is answered; the core then has
// the gate run the down methods as for any other reply, here those of the outer filters only.
//
// A filter that answers later suspends the phase: the gate notes where it was, and goes on from
// there on the thread that resumes the call.
//
// Where something is plugged onto interfaces and it is not known of which the call's object is, the
// call waits for that first, before its first filter.
//
// Which plugs' conditions hold is decided when the call comes to an object, before the first filter
// runs, and then stands, whatever filters change.
//
// Each step is counted; while somebody watches, the tracer is told of it, too.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_FILTERS_FILTER_GATE_H_
#define WEIR_FILTERS_FILTER_GATE_H_

#include <atomic>
#include <cstddef>
#include <memory>

#include "base/clock.h"
#include "base/logger.h"
#include "base/mutex.h"
#include "filters/interface_memory.h"
#include "filters/resume_desk.h"
#include "filters/snapshot.h"
#include "filters/snapshot_holder.h"
#include "filters/tracer.h"
#include "orb/core/gate.h"

namespace weir::filters {

class FilterGate : public orb::Gate,
                   private Suspension::Resumer,
                   private InterfaceMemory::Listener {
 public:
  // All must outlive the gate.
  FilterGate(const Clock* clock, Logger* logger, Tracer* tracer)
      : clock_(clock),
        logger_(logger),
        tracer_(tracer),
        now_(clock->Now()),
        desk_(new ResumeDesk(this)) {}
  // Calls that filters still have are abandoned.
  ~FilterGate() override;

  Outcome Up(orb::Call& call) override;
  Outcome Down(orb::Call& call) override;
  void Release(orb::Call& call) override;
  size_t LetGo() override;
  void Tick(Nanos now) override;
  size_t Abandon() override;

  // For calls that begin from now on.
  void Publish(std::shared_ptr<const Snapshot> snapshot);
  // See SnapshotHolder.
  size_t Reclaim() { return holder_.Reclaim(); }

 private:
  // What is decided before the first filter of a chain, once for the call. False: none of the
  // chain's plugs is concerned with it.
  bool Prepare(orb::Call& call, const Chain& chain);
  // The call, which holds its snapshot, meets its first chain.
  Outcome Begin(orb::Call& call, const Chain& chain);
  // It has come to an object with this chain, or null.
  Outcome Enter(orb::Call& call, const Chain* chain);
  // The same, of an object whose interfaces matter.
  Outcome EnterByInterfaces(orb::Call& call);
  Outcome EnterAs(orb::Call& call, uint64_t interfaces);
  Outcome Undecided(orb::Call& call, const InterfaceMemory::Learned& learned);
  void InterfacesLearned(orb::Call& call, const InterfaceMemory::Learned& learned) override;

  // The filters from number `from` on.
  Outcome GoUp(orb::Call& call, const Chain& chain, size_t from);
  Outcome GoDown(orb::Call& call, const Chain& chain, size_t from);
  // The filters behind number `next` - 1, which only looks, may be asked meanwhile; or what they
  // were asked is of no more use.
  void AskAhead(const orb::Call& call, const Chain& chain, size_t next);
  void ForgetAhead(const orb::Call& call);
  Outcome Suspend(orb::Call& call, const Step& step, Phase phase, size_t next);
  void Resume(orb::Call& call, Verdict verdict) override;
  void ResumeFailed(orb::Call& call, std::string_view what) override;
  void ResumeByPolicy(orb::Call& call, Verdict verdict, StepOutcome why) override;
  // The step that had suspended the phase has ended, and was counted.
  void GoOn(orb::Call& call, Verdict verdict);

  // A step has come to its end: to be called once for each that began.
  void Stepped(const Step& step, Phase phase, StepOutcome outcome, orb::Call& call) {
    step.counters->Add(StepCounter(phase, outcome));
    if (call.gate_state().trace != nullptr) [[unlikely]]
      tracer_->Note(step, phase, outcome, call);
  }
  // The filter of the up step `at` has sent the call to another object: its filters go on, unless
  // that was once too often.
  Outcome Redirected(orb::Call& call, const Chain& chain, size_t at);
  // The chain that had sent the call on last, for the down phase. False: there is none left.
  bool PopRedirect(orb::Call& call);
  // How a step of each phase ends that did not fail.
  Outcome UpEnded(orb::Call& call, const Step& step, Verdict verdict);
  void DownEnded(orb::Call& call, const Step& step, Verdict verdict) {
    Stepped(step, Phase::kDown,
            verdict == Verdict::kPass ? StepOutcome::kPassed : StepOutcome::kRaised, call);
  }
  // Filters call through filters, once too often: ends it.
  Outcome FailLoop(orb::Call& call);
  Outcome FailUp(orb::Call& call, const Step& step, std::string_view what);
  void FailDown(orb::Call& call, const Chain& chain, const Step& step, std::string_view what);
  // A filter method threw: counts it, logs it now and then, and answers the call.
  void Fail(const Step& step, Phase phase, orb::Completion completed, std::string_view what,
            orb::Call& call);

  const Clock* const clock_;
  Logger* const logger_;
  Tracer* const tracer_;
  SnapshotHolder holder_;
  // As of the last tick: for what is no matter of milliseconds.
  std::atomic<Nanos> now_;
  // Calls in filters' hands, and those that are being resumed.
  std::atomic<size_t> suspended_{0};
  // For the log, which does not tell of each.
  std::atomic<uint64_t> loops_{0};
  // Of these, the ones that wait until interfaces are known.
  std::atomic<size_t> learning_{0};
  // Where calls that are suspended from now on come back.
  Mutex desk_mu_;
  ResumeDesk* desk_ ABSL_GUARDED_BY(desk_mu_);
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_FILTER_GATE_H_
