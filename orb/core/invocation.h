// One call being made: what to send, and what came of it.
//
// An invocation may take several attempts, on different connections: GIOP lets a request be sent
// again when it is known not to have been executed, and a server may forward it to another object.
//
// Thread safety: one owner at a time. From Invoker::Start until Done, the invoker is the owner.

#ifndef WEIR_ORB_CORE_INVOCATION_H_
#define WEIR_ORB_CORE_INVOCATION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/ref.h"
#include "orb/core/message.h"

namespace weir::orb {

class ClientCall;
class ClientConnection;
class Invoker;
class Target;

class Invocation {
 public:
  virtual ~Invocation();
  Invocation() = default;
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;

  // How an attempt ended, as the connection sees it.
  enum class Outcome : uint8_t {
    kReply,
    kNotExecuted,  // may be sent again
    kLost,         // the connection broke; nobody knows
    kTimeout,
    kCancelled,
    kMalformed,  // the reply could not be decoded
    kRefused,    // not sent: too many calls, or the message cannot be encoded; see attempt_status_
  };

  // To be set before the start. `*request` must live until Done; the invoker lowers its minor
  // version to what the target takes, and sets its key to the target's unless `keep_key` says
  // otherwise. A target that forwards to another object changes the key in any case.
  Request* request = nullptr;
  bool keep_key = false;
  // Asks where the object is (LocateRequest) in place of calling it.
  bool locate = false;
  // Cancel may be called for it.
  bool cancellable = false;
  // A question of Weir's own: no gate sees it.
  bool unfiltered = false;
  // The thread that starts it must not wait: connecting is left to another one.
  bool hurried = false;
  // Invocations of the same non-zero number use the same connection, and so keep their order.
  uint64_t affinity = 0;

  // What came of it. If `status` is not OK there was no reply; it carries a system exception, and
  // its text names the peer, the operation and what was waited for.
  absl::Status status;
  Reply reply;
  LocateStatus locate_status = LocateStatus::kUnknownObject;

 protected:
  friend class ClientCall;
  friend class ClientConnection;
  friend class Invoker;

  // The invocation is over: `status` and the results are set. Called once, by any thread; it must
  // not block. The invoker does not touch the invocation afterwards. Not called for
  // Invoker::Invoke.
  virtual void Done() = 0;

  // Makes an invocation that was cancelled fit for another start. REQUIRES: Cancel is not called.
  void ForgetCancellation() { cancelled_.store(false, std::memory_order_relaxed); }

 private:
  // Called by the connection when the attempt is over.
  void AttemptOver();

  Invoker* invoker_ = nullptr;
  ClientCall* filtered_ = nullptr;  // while a gate looks at the call
  std::shared_ptr<Target> target_;  // the one given, or where it has sent us
  std::shared_ptr<Target> origin_;  // the one given, if that is another one
  std::atomic<uint32_t> wire_id_{0};
  Outcome outcome_ = Outcome::kReply;
  absl::Status attempt_status_;
  std::string_view key_;  // the request's, as the caller set it
  int attempts_ = 0;
  int forwards_ = 0;
  // Of the present attempt: how many of the target's addresses have failed, and how the last one.
  size_t tried_ = 0;
  absl::Status connect_failure_;
  bool blocking_ = false;  // a thread waits in Invoke
  bool nested_ = false;    // the last context of the request says that a filter makes this call
  // For Cancel.
  std::atomic<bool> cancelled_{false};
  Mutex mu_;
  Ref<ClientConnection> connection_ ABSL_GUARDED_BY(mu_);

  // For blocking ones: the word that the thread sleeps on.
  enum State : uint32_t { kPending, kSleeping, kLead, kOver };
  std::atomic<uint32_t> state_{kPending};
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_INVOCATION_H_
