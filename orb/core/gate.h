// All that the ORB knows of filters: a gate that the dispatcher consults around every call.
// `filters/` implements it; an ORB without filters has none.
//
// Thread safety: called by many threads at a time.

#ifndef WEIR_ORB_CORE_GATE_H_
#define WEIR_ORB_CORE_GATE_H_

#include <atomic>

#include "orb/core/call.h"

namespace weir::orb {

class Gate {
 public:
  enum class Outcome {
    kPass,    // go on
    kAnswer,  // up only: call.reply() is the answer; the servant is not called
    // A filter has taken the call, and will have it go on, on any thread, by Call::ResumeUp or
    // ResumeDown. It may have done so already: the call is not to be touched.
    kSuspended,
  };

  virtual ~Gate() = default;

  // False while no mapping anywhere is enabled: then calls do not come here at all. This is the one
  // load and one branch that an unfiltered call pays.
  bool active() const { return active_.load(std::memory_order_acquire); }

  // Runs the up filters enabled for this target and operation. REQUIRES: active() was true.
  virtual Outcome Up(Call& call) = 0;
  // Runs the down filters, in reverse, of the filters that passed the call up; call.reply() may be
  // replaced. Not called for oneways. kPass or kSuspended. REQUIRES: call.gate_state().chain is not
  // null.
  virtual Outcome Down(Call& call) = 0;
  // The reply has left, or there is none: the call lets go of its snapshot. Called once for each
  // call whose gate_state().hold is set.
  virtual void Release(Call& call) = 0;

  // The ORB ends: calls that wait for filters go on at once, as failed. Returns how many are still
  // on their way; they may wait again, so this is to be repeated until it is 0 and what was posted
  // meanwhile has run.
  virtual size_t LetGo() { return 0; }
  // Gives those up that LetGo does not bring back: they never go on, and whatever is done with them
  // later does nothing. Logs and returns how many there are. What they refer to must stay: that is
  // the Call with all that it keeps, which is therefore never freed.
  virtual size_t Abandon() { return 0; }

  // By the ORB's supervisor, every few milliseconds: calls that wait for an answer beyond their
  // deadline go on, as failed.
  virtual void Tick(Nanos now) { (void)now; }

 protected:
  std::atomic<bool> active_{false};
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_GATE_H_
