// One connection that was opened to a server, shared by any number of calls in flight.
//
// Who reads: nobody while nothing is awaited. A thread that waits for its own reply takes the
// *reader role* and reads for everyone; when its reply is there, it hands the role to another
// waiting thread or, if only asynchronous calls are left, to the reactor. So a lone blocking call
// is one send and one receive, by one thread.
//
// Thread safety: safe for concurrent use, but for what the holder of the reader role alone may
// touch.

#ifndef WEIR_ORB_CORE_CLIENT_CONNECTION_H_
#define WEIR_ORB_CORE_CLIENT_CONNECTION_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/logger.h"
#include "base/mutex.h"
#include "base/ref.h"
#include "orb/core/codec.h"
#include "orb/core/input.h"
#include "orb/core/invocation.h"
#include "orb/core/limits.h"
#include "orb/core/output.h"
#include "orb/core/pending_table.h"
#include "orb/core/reactor.h"
#include "orb/core/registration.h"
#include "orb/transport/transport.h"

namespace weir::orb {

// What the connections of one ORB share.
struct ClientContext {
  Reactor* reactor;
  const Clock* clock;
  Logger* logger;
  ClientLimits limits;
};

class ClientConnection : public RefCounted, public EventHandler {
 public:
  // `context` must outlive the connection. `name` is how errors call the peer:
  // "tcp:orb.example:2809". `ends`: counts connections that have ended, whoever ended them.
  ClientConnection(const ClientContext* context, std::unique_ptr<Stream> stream,
                   std::unique_ptr<Codec> codec, std::string name,
                   std::shared_ptr<std::atomic<uint64_t>> ends);
  ~ClientConnection() override;

  // Sends the request. False: nothing was sent, and the attempt is not over; another connection may
  // be tried. Otherwise the attempt will be over, or is already, and an asynchronous call may be
  // gone; `*id` is its request id.
  bool Submit(Invocation* call, uint32_t* id);

  // Waits until the attempt is over, until the deadline of its request at most. REQUIRES:
  // call->blocking_.
  void Wait(Invocation* call);

  // Lets the reactor read for calls that no thread waits for.
  void EnsureReader();
  // Reads on this thread until `id` is no longer awaited, as long as bytes keep coming.
  // Then as EnsureReader. Returns whether it read anything for it: false if another
  // thread has the reader role, or the wait was in vain.
  bool ReadAlone(uint32_t id);

  // Whether a new call may be sent: not closed, and if unused for some time, then still alive.
  bool Usable(Nanos now);
  // Open, with no call in flight.
  bool Idle() const { return pending_.empty() && !closed_.load() && !output_.failed(); }
  // Whether it was used a moment ago, and so needs no look, while one that has rested may have been
  // closed by the peer. If so, marks it as used.
  bool InSteadyUse(Nanos now) {
    constexpr Nanos kRest = 5 * kMillisecond;
    if (now - last_used_.load(std::memory_order_relaxed) >= kRest) return false;
    last_used_.store(now, std::memory_order_relaxed);
    return true;
  }
  // Notices that the peer has closed it, if nothing is awaited and so nobody reads.
  void NoticeEnd();
  bool closed() const { return closed_.load() || pending_.sealed() || output_.failed(); }
  size_t calls_in_flight() const { return pending_.size(); }
  const std::string& name() const { return name_; }

  // Gives up on the call with `id`, and tells the server.
  void Cancel(uint32_t id, Invocation::Outcome outcome);
  // Ends calls whose deadline has passed. To be called every few milliseconds.
  void CheckDeadlines(Nanos now);
  // Ends the connection if it has been idle for too long, does not take what we send, or was closed
  // by the peer. To be called every second or so.
  void CheckTime(Nanos now);
  // Calls in flight end as lost.
  void Abort(std::string_view why);
  // Sends CloseConnection (GIOP 1.2 lets a client do so) and closes, unless a call is in flight:
  // then it returns false.
  bool CloseInGoodOrder();

 private:
  enum class RoleState : uint8_t { kFree, kHeld, kArmed };

  bool TryTakeRole() {
    RoleState free = RoleState::kFree;
    return role_.compare_exchange_strong(free, RoleState::kHeld);
  }
  void ReleaseRole() { role_.store(RoleState::kFree); }

  // The holder of the reader role only. False: the connection is closed now.
  bool Read(orb::Wait wait, bool* would_block);
  bool Process();
  void Handle(Incoming* in);
  void FailAll(Invocation::Outcome outcome, std::string_view why);
  void FailAll(int error);  // errno
  void ProtocolError(const Incoming& in);
  void Refuse(Invocation* call, absl::Status why);
  std::string TooManyText() const;
  void ReadFor(Invocation* call, Nanos deadline);

  void OnReady() override;
  // Reads what has arrived although nothing is awaited: CloseConnection, or an end.
  void ReadUnasked();
  // The connection does not take what we send: reads what the peer said before, which decides
  // whether calls in flight may be sent again, and closes.
  void ReadLast();
  void Sleep(Invocation* call, Nanos deadline);
  void EndAttempt(Invocation* call, Invocation::Outcome outcome, std::string_view why);
  // A call whose request has just left was cancelled before that.
  void CancelSent(uint32_t id);
  void WriteCancel(uint32_t id);
  std::string CloseReason() const;

  const ClientContext* const context_;
  const std::unique_ptr<Stream> stream_;
  const std::unique_ptr<Codec> codec_;
  const std::string name_;
  const std::shared_ptr<std::atomic<uint64_t>> ends_;

  // The holder of the reader role.
  Input input_;
  Incoming incoming_;
  Registration registration_;

  // Self-synchronized.
  Output output_;
  PendingTable pending_;
  std::atomic<RoleState> role_{RoleState::kFree};
  std::atomic<bool> closed_{false};
  std::atomic<Invocation::Outcome> close_outcome_{Invocation::Outcome::kLost};
  std::atomic<Nanos> last_used_;
  std::atomic<int> sleeper_count_{0};
  std::atomic<GiopMinor> minor_{GiopMinor::k2};  // of the last request

  mutable Mutex mu_;
  std::vector<Invocation*> sleepers_ ABSL_GUARDED_BY(mu_);
  std::string close_reason_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_CLIENT_CONNECTION_H_
