// One call being served: the request, the reply as it takes shape, and the ways to answer.
//
// Life cycle:
//  1. A connection decodes a request into a Call and gives it to the dispatcher.
//  2. The gate (if active) runs the up filters. They may answer in the servant's place.
//  3. The servant is given the call and answers it exactly once, at once or later, from any thread.
//  4. The gate runs the down filters of those filters that passed the call up.
//  5. The connection encodes and sends the reply; the Call returns to its pool.
//
// A Call is passed on by CallRef, which answers INTERNAL (WeirMinor::kNoReply) if it is dropped
// unanswered: no caller is ever left waiting by mistake.
//
// Thread safety: one owner at a time; ownership may move between threads.

#ifndef WEIR_ORB_CORE_CALL_H_
#define WEIR_ORB_CORE_CALL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "orb/cdr/encoder.h"
#include "orb/core/code_sets.h"
#include "orb/core/message.h"
#include "orb/core/object_type.h"
#include "orb/core/system_exception.h"

namespace weir::orb {

class Target;

// Who sent a request. Outlives every call that refers to it.
struct Peer {
  std::string transport;  // "tcp"
  std::string address;    // "10.0.0.7:40112", "unix:pid=4711,uid=0"
};

// What the gate keeps in a call between its phases. The core only makes room for it, zeroes it at
// the start, and calls Gate::Release at the end if `hold` is set.
struct GateState {
  const void* hold = nullptr;   // the snapshot that the call keeps
  const void* chain = nullptr;  // the compiled filters of this operation
  uint32_t passed = 0;          // how many up filters have passed the call
  uint32_t next = 0;            // the next filter of the phase, while it is suspended
  bool down = false;            // the phase
  uint8_t nesting = 0;          // how deeply filters have nested it: nesting.h
  Nanos began = 0;              // when the up phase began, if a filter of the chain asks for it
  void* trace = nullptr;        // what the gate notes of the call, while somebody watches
  void* redirects = nullptr;    // the chains that have sent the call on to another object
  void* own = nullptr;          // what was made for this call alone
  uint64_t unmet = 0;           // which of the chain's conditions do not hold for the call
};

// For Call::id. Without a shared counter: a thread's number, then its own count.
uint64_t NextCallId();

class Call {
 public:
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Request& request() { return *request_; }
  const Request& request() const { return *request_; }
  // What will be sent, once there is an answer.
  Reply& reply() { return reply_; }
  const Reply& reply() const { return reply_; }
  GateState& gate_state() { return gate_state_; }
  const GateState& gate_state() const { return gate_state_; }
  const Peer& peer() const { return *peer_; }
  // Those that hold for this call, whether told with it or before it.
  const CodeSets& code_sets() const { return code_sets_; }
  // Unique in this process's life; how logs name the call.
  uint64_t id() const { return id_; }
  // The peer has cancelled the call or gone: a long-running servant may stop.
  bool abandoned() const { return abandoned_.load(std::memory_order_relaxed); }

  // Told when the call is abandoned, on any thread, with locks held: it must return at once and not
  // answer the call. Only a call whose servant has returned is watched, or whose up phase was
  // suspended; the watcher must live until Send returns.
  class Watcher {
   public:
    virtual void CallAbandoned() = 0;

   protected:
    ~Watcher() = default;
  };
  // To be set inside Dispatch. Of a resumed call it may be told before this returns.
  void set_watcher(Watcher* watcher) {
    if (resumed_) [[unlikely]]
      return SetWatcherLate(watcher);
    watcher_ = watcher;
  }
  // Its up phase was suspended: it can be cancelled already while its servant runs, and the thread
  // that carries it has others to carry.
  bool resumed() const { return resumed_; }

  // Nothing else of this connection is known to wait: the thread may give this call its time.
  bool alone() const { return alone_; }

  // This is no call but the question where the object is (LocateRequest); only servants that handle
  // builtins see it. A SYSTEM_EXCEPTION or LOCATION_FORWARD reply says so; anything else is
  // `locate_status`.
  bool locate() const { return locate_; }
  LocateStatus locate_status = LocateStatus::kUnknownObject;

  // The dispatcher says: a servant that may block is about to run on this thread. Returns a token
  // for whoever lent the thread (a connection, which may pass its input on to another one), or 0.
  virtual uint32_t BeginUpcall() { return 0; }

  // Sends the call to another object: an up filter's verdict, of which the caller does not learn.
  // To the object of that key, in this server (of a call that is made: at the same addresses).
  void Redirect(std::string key) {
    request_->object_key = Keep(std::move(key));
    redirected_ = true;
    elsewhere_.reset();
    kept_key_ = false;
  }
  // To an object of any server, "IOR:..." or "corbaloc:...". INVALID_ARGUMENT or another error that
  // says what is wrong with the reference; the call is then as it was.
  virtual absl::Status RedirectTo(std::string_view reference) = 0;
  bool redirected() const { return redirected_; }
  // The last redirect was to another server, to an object of the same key.
  bool kept_key() const { return kept_key_; }
  // Where RedirectTo has sent it, or null.
  const std::shared_ptr<Target>& elsewhere() const { return elsewhere_; }

  // The object that the call is for now. By the gate, before or in the up phase.
  virtual ObjectIdentity Identity() { return {}; }
  // Asks that object whether it is of interface `id`, until `deadline`; `listener` is told, perhaps
  // before this returns. It does not need the call any more once this has returned.
  // REQUIRES: Identity() has just found one.
  virtual void AskIsA(std::string_view id, Nanos deadline, IsAListener* listener) {
    (void)id, (void)deadline;
    listener->IsAKnown({IsAAnswer::kUnknown,
                        {ExceptionId::kTransient, WeirMinor::kInterfaceUnknown, Completion::kNo},
                        "there is nobody to ask"});
  }

  // By the gate, for a phase that it has suspended: the phase is over. Goes on on this thread.
  virtual void ResumeUp(bool answered) = 0;
  virtual void ResumeDown() = 0;

  // Sets the reply, without sending it. The bytes passed are copied.
  //
  // A fresh encoder for the body, at alignment position 0, in this machine's byte order. Its
  // content becomes the body with the SetXxx function that follows.
  cdr::Encoder NewBody() {
    body_.Clear();
    return cdr::Encoder(&body_);
  }
  void SetResult() { SetBody(ReplyStatus::kNoException); }
  // The body holds the repository id and the members.
  void SetUserException() { SetBody(ReplyStatus::kUserException); }
  void SetSystemException(const SystemException& e) {
    cdr::Encoder out = NewBody();
    Encode(e, &out);
    SetBody(ReplyStatus::kSystemException);
  }
  // The body holds an IOR.
  void SetForward() { SetBody(ReplyStatus::kLocationForward); }
  void SetBody(ReplyStatus status) { SetBorrowedBody(status, body_.view()); }
  // A body at alignment position 0, in this machine's byte order, that is not copied: it must live
  // until the call is over. What belongs to a filter does.
  void SetBorrowedBody(ReplyStatus status, std::string_view body) {
    reply_.Clear();
    reply_.status = status;
    reply_.body.bytes = body;
  }

  // Keeps bytes that a request or reply is to point to until the call is over; returns where they
  // are. For what filters change: it allocates.
  std::string_view Keep(std::string bytes) {
    return *kept_.emplace_back(std::make_unique<const std::string>(std::move(bytes)));
  }

 protected:
  friend class CallRef;
  // `*request` belongs to the derived class, which may set it later.
  explicit Call(Request* request) : request_(request) {}

  // The servant's answer is in reply(): go on with the down phase, then send. Called once.
  virtual void Complete() = 0;
  // Answers the call in place of the servant that dropped it.
  virtual void Abandon() = 0;
  virtual void SetWatcherLate(Watcher* watcher) { watcher_ = watcher; }
  // What RedirectTo comes to. `key` is the target's, in its memory.
  void SendElsewhere(std::shared_ptr<Target> target, std::string_view key) {
    kept_key_ = request_->object_key == key;
    request_->object_key = key;
    elsewhere_ = std::move(target);
    redirected_ = true;
  }

  Request* request_;
  Reply reply_;
  GateState gate_state_;
  const Peer* peer_ = nullptr;
  CodeSets code_sets_;
  uint64_t id_ = 0;
  std::atomic<bool> abandoned_{false};
  Watcher* watcher_ = nullptr;
  bool alone_ = false;
  bool resumed_ = false;
  bool locate_ = false;
  bool redirected_ = false;
  bool kept_key_ = false;
  cdr::ByteBuffer body_;
  std::vector<std::unique_ptr<const std::string>> kept_;
  std::shared_ptr<Target> elsewhere_;
};

// The right and duty to answer a call.
class CallRef {
 public:
  CallRef() = default;
  explicit CallRef(Call* call) : call_(call) {}
  CallRef(CallRef&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
  CallRef& operator=(CallRef&& other) noexcept {
    std::swap(call_, other.call_);
    return *this;
  }
  ~CallRef() {
    if (call_ != nullptr) call_->Abandon();
  }

  Call* operator->() const { return call_; }
  Call& operator*() const { return *call_; }
  explicit operator bool() const { return call_ != nullptr; }

  // Answers with what call->reply() holds. The call is not to be touched afterwards.
  void Send() { std::exchange(call_, nullptr)->Complete(); }
  void SendSystemException(const SystemException& e) {
    call_->SetSystemException(e);
    Send();
  }
  // Gives the duty up, to pass it on by other means.
  Call* Release() { return std::exchange(call_, nullptr); }

 private:
  Call* call_ = nullptr;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_CALL_H_
