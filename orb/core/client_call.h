// What a gate sees of a call that this process makes: the Call of an Invocation. It lives from the
// up phase, before anything is sent, to the end of the down phase, after the reply or the failure
// is there.
//
// Of a blocking invocation, the caller's thread waits while a filter has suspended a phase. An
// asynchronous one goes on, on the thread that resumes it.
//
// Thread safety: one owner at a time, as its invocation.

#ifndef WEIR_ORB_CORE_CLIENT_CALL_H_
#define WEIR_ORB_CORE_CLIENT_CALL_H_

#include <atomic>
#include <vector>

#include "orb/core/call.h"
#include "orb/core/gate.h"
#include "orb/core/invocation.h"

namespace weir::orb {

class ClientCall : public Call {
 public:
  // Makes `invocation`, which has begun, go through `gate`. The object is the invocation's from now
  // on, and goes back to its thread's list with Down.
  static void Attach(Invoker* invoker, Gate* gate, Invocation* invocation);

  // kPass: to be sent. kAnswer: the reply is here; go on with Down. kSuspended, of asynchronous
  // ones only: the invoker is told when it goes on.
  Gate::Outcome Up();
  // The reply, or the failure, is there: runs the down phase, and lets the invocation have what
  // comes of it. Afterwards this object is gone. False, of asynchronous ones only: that is still to
  // come, and the invoker is then told.
  bool Down();

  ObjectIdentity Identity() override;
  void AskIsA(std::string_view id, Nanos deadline, IsAListener* listener) override;
  absl::Status RedirectTo(std::string_view reference) override;

 private:
  friend struct ClientCallList;

  ClientCall() : Call(nullptr) {}
  void Complete() override {}
  void Abandon() override {}
  void ResumeUp(bool answered) override;
  void ResumeDown() override;

  // A filter may have sent the call to another object.
  void TakeRedirect();
  void Wake(uint32_t how);
  uint32_t WaitResumed();
  // The reply goes to the invocation, with memory of its own, and the request is as it was.
  void Finish();
  void Detach();

  enum Resumed : uint32_t { kNot, kPassed, kAnswered };

  Invoker* invoker_ = nullptr;
  Gate* gate_ = nullptr;
  Invocation* invocation_ = nullptr;
  bool answered_ = false;    // by an up filter
  cdr::ByteBuffer failure_;  // the exception that its status was made into, if it failed
  std::atomic<uint32_t> resumed_{kNot};
  // As the caller set it.
  bool keep_key_ = false;
  std::string_view operation_;
  Body request_body_;
  std::vector<ServiceContext> contexts_;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_CLIENT_CALL_H_
