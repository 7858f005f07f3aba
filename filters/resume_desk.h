// What suspended calls come back to: it stands between filters and the gate, so that the gate, and
// the ORB that a call came from, may end while a filter still has the call. After Close a
// suspension that is resumed or dropped does nothing, and touches neither the gate nor the call.
//
// Counts references: the gate has one, and each suspension.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_FILTERS_RESUME_DESK_H_
#define WEIR_FILTERS_RESUME_DESK_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <thread>

#include "filters/suspension.h"

namespace weir::filters {

class ResumeDesk final : public Suspension::Resumer {
 public:
  // `gate` must live until Close.
  explicit ResumeDesk(Suspension::Resumer* gate) : gate_(gate) {}

  // A call is going to be suspended. REQUIRES: not after Close.
  void Expect() {
    references_.fetch_add(1);
    expected_.fetch_add(1);
  }
  // The gate's reference.
  void Unref() {
    if (references_.fetch_sub(1) == 1) delete this;
  }

  // No call comes back any more. Waits until those that are being resumed have gone their way;
  // returns how many have not come back. REQUIRES: not called by a call that is being resumed.
  size_t Close() {
    closed_.store(true);
    while (resuming_.load() != 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return expected_.load();
  }

 private:
  ~ResumeDesk() = default;

  void Resume(orb::Call& call, Verdict verdict) override {
    const Visit visit(this);
    if (visit.open()) gate_->Resume(call, verdict);
  }
  void ResumeFailed(orb::Call& call, std::string_view what) override {
    const Visit visit(this);
    if (visit.open()) gate_->ResumeFailed(call, what);
  }
  void ResumeByPolicy(orb::Call& call, Verdict verdict, StepOutcome why) override {
    const Visit visit(this);
    if (visit.open()) gate_->ResumeByPolicy(call, verdict, why);
  }

  class Visit {
   public:
    explicit Visit(ResumeDesk* desk) : desk_(desk), open_(desk->Enter()) {}
    ~Visit() { desk_->Leave(open_); }
    bool open() const { return open_; }

   private:
    ResumeDesk* const desk_;
    const bool open_;
  };

  // Sequentially consistent, as Close is: either it sees this thread, or this thread sees that it
  // is closed.
  bool Enter() {
    resuming_.fetch_add(1);
    return !closed_.load();
  }
  // The gate may be gone.
  void Leave(bool open) {
    if (open) expected_.fetch_sub(1);
    resuming_.fetch_sub(1);
    Unref();
  }

  Suspension::Resumer* const gate_;
  std::atomic<size_t> references_{1};
  std::atomic<size_t> expected_{0};  // calls that have not come back
  std::atomic<size_t> resuming_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_RESUME_DESK_H_
