// A call whose up or down phase waits for a filter that answers later. No thread waits with it.
//
// Whoever holds the suspension must resume the call, once, on any thread; a suspension that is
// dropped counts as a failure of its filter. The call goes on from there on the thread that resumes
// it, so that thread must hold no lock that a filter, a servant or a connection could want.
//
// Thread safety: one owner at a time; ownership may move between threads.

#ifndef WEIR_FILTERS_SUSPENSION_H_
#define WEIR_FILTERS_SUSPENSION_H_

#include <cstdint>
#include <string_view>
#include <utility>

#include "orb/core/call.h"

namespace weir::filters {

enum class Verdict : uint8_t {
  kPass,    // go on
  kBounce,  // up: call.reply() is the answer; neither later filters nor the servant see the call
  kRaise,   // down: call.reply() has been replaced by an exception; outer filters see that one
  // up: Call::Redirect or RedirectTo was called. The call goes to that object, whose own filters
  // apply; on the way down those come first, then this one, then the ones that had passed it here.
  kRedirect,
};

enum class StepOutcome : uint8_t;  // filters/step_outcome.h

class Suspension {
 public:
  // The gate, which goes on with the call.
  class Resumer {
   public:
    virtual void Resume(orb::Call& call, Verdict verdict) = 0;
    // The filter failed, as if its method had thrown; `what` is for the log.
    virtual void ResumeFailed(orb::Call& call, std::string_view what) = 0;
    // The filter gave no verdict; `verdict` is what its plug says for that case. `why` is kFailed,
    // kTimedOut or kRefused.
    virtual void ResumeByPolicy(orb::Call& call, Verdict verdict, StepOutcome why) {
      (void)why;
      Resume(call, verdict);
    }

   protected:
    ~Resumer() = default;
  };

  Suspension() = default;
  Suspension(Resumer* resumer, orb::Call* call) : resumer_(resumer), call_(call) {}
  Suspension(Suspension&& other) noexcept
      : resumer_(other.resumer_), call_(std::exchange(other.call_, nullptr)) {}
  Suspension& operator=(Suspension&& other) noexcept {
    std::swap(resumer_, other.resumer_);
    std::swap(call_, other.call_);
    return *this;
  }
  ~Suspension() {
    if (call_ != nullptr) Fail("it dropped the call");
  }

  explicit operator bool() const { return call_ != nullptr; }
  orb::Call& operator*() const { return *call_; }
  orb::Call* operator->() const { return call_; }

  // The call is not to be touched afterwards.
  void Resume(Verdict verdict) { resumer_->Resume(*std::exchange(call_, nullptr), verdict); }
  void ResumeByPolicy(Verdict verdict, StepOutcome why) {
    resumer_->ResumeByPolicy(*std::exchange(call_, nullptr), verdict, why);
  }
  void Fail(std::string_view what) { resumer_->ResumeFailed(*std::exchange(call_, nullptr), what); }

 private:
  Resumer* resumer_ = nullptr;
  orb::Call* call_ = nullptr;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_SUSPENSION_H_
