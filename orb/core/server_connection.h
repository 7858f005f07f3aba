// One accepted connection: receives requests, has them served, sends the replies.
//
// Life cycle:
//  1. The listener accepts a stream and registers the connection; nobody owns its input.
//  2. Its event gives one thread the input. That thread receives, decodes and serves, stays while
//     the connection is hot and others watch, and then arms the connection again. While that thread
//     is inside a servant that may block, the supervisor may lend the input on, so that the
//     connection's further requests do not wait; the thread finds out when the servant returns.
//  3. A call that is answered later holds a reference; its answer is sent by whoever completes it.
//  4. The connection ends by the peer's end of stream, an error, or in good order: a
//     CloseConnection is sent when no call is in progress, and what still arrives is dropped
//     unread.
//  5. It goes, and the server forgets it, when nobody reads from it, all that was queued has been
//     sent (or the write timeout has come), and the last of its calls has been answered.
//
// Thread safety: as noted at each group of members.

#ifndef WEIR_ORB_CORE_SERVER_CONNECTION_H_
#define WEIR_ORB_CORE_SERVER_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "base/ref.h"
#include "orb/core/code_sets.h"
#include "orb/core/codec.h"
#include "orb/core/dispatcher.h"
#include "orb/core/input.h"
#include "orb/core/limits.h"
#include "orb/core/output.h"
#include "orb/core/reactor.h"
#include "orb/core/registration.h"
#include "orb/transport/transport.h"

namespace weir::orb {

class ServerCall;
class ServerCallLease;
class ServerConnection;

// What the connections of one ORB share.
struct ServerContext {
  Dispatcher* dispatcher;
  const ObjectAdapter* adapter;
  Reactor* reactor;
  const Clock* clock;
  Logger* logger;
  ServerLimits limits;
  // Called once, by the connection's destructor.
  std::function<void(ServerConnection*)> closed;
  // Of the requests of all connections that wait for a late answer.
  mutable std::atomic<size_t> pending_bytes{0};
};

class ServerConnection : public RefCounted, public EventHandler {
 public:
  // `context` must outlive the connection.
  ServerConnection(const ServerContext* context, std::unique_ptr<Stream> stream,
                   std::unique_ptr<Codec> codec, std::string_view transport);
  ~ServerConnection() override;

  // Registers with the reactor. The connection then lives until it is closed.
  void Open();

  // Any thread: the following concern timeouts and shutdown.
  //
  // Sends CloseConnection and lets the peer close, unless a call is in progress. Returns whether
  // all has been said: false as well while replies before it wait for the peer to read them.
  bool TryCloseInGoodOrder();
  // Ends the connection now; its owner or the next event cleans up.
  void Abort(std::string_view reason);
  // Called every few milliseconds while servants block: passes the input on if its owner has been
  // in an upcall since the last time.
  void LendInput();
  // Called every second or so: enforces the limits that are about time.
  void CheckTime(Nanos now);

  const Peer& peer() const { return peer_; }
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  uint32_t calls_in_progress() const { return state_.load() & ~kClosing; }

 private:
  friend class ServerCall;

  static constexpr uint32_t kClosing = 1u << 31;

  // What the owner of the input does next.
  enum class Next : uint8_t {
    kGoOn,
    kClose,
    kLent,  // the input is somebody else's now, and the connection perhaps gone
  };

  // The owner of the input only.
  void OnReady() override;
  Next Process();
  Next Handle(ServerCallLease* call);
  Next HandleRequest(ServerCallLease* call);
  Next HandleLocateRequest(ServerCallLease* call);
  std::optional<Next> Refuse(ServerCallLease* call);
  bool Overloaded() const;
  uint32_t BeginUpcall();
  // Returns whether the caller still owns the input.
  bool EndUpcall(uint32_t upcall);
  void PassInputOn();
  void HandleCancel(uint32_t id);
  void Close();
  void Arm();
  void Rearm();
  void LogInputError(std::string_view what);

  // Any thread.
  void SendReply(uint32_t id, GiopMinor minor, const Reply& reply);
  void ReplyNotEncodable(uint32_t id, GiopMinor minor, const absl::Status& why);
  void SendSystemException(uint32_t id, GiopMinor minor, const SystemException& e);
  void SendLocateReply(uint32_t id, GiopMinor minor, LocateStatus status, const Reply& reply);
  bool BeginCall();
  // Remembers and forgets a call that is answered late.
  void AddLate(ServerCall* call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveLate(ServerCall* call);
  void EndCall();
  void ResumeReading();

  const ServerContext* const context_;
  const std::unique_ptr<Stream> stream_;
  const std::unique_ptr<Codec> codec_;
  const Peer peer_;

  // The owner of the input.
  Input input_;
  Registration registration_;
  CodeSets code_sets_;

  // Self-synchronized.
  Output output_;
  std::atomic<uint32_t> state_{0};  // calls in progress, and kClosing
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> input_errors_{0};  // told to the log, or left out
  // When the unfinished message began to arrive; 0: there is none.
  std::atomic<Nanos> partial_since_{0};
  std::atomic<uint64_t> received_{0};  // bytes, ever
  std::atomic<bool> ended_{false};
  std::atomic<uint32_t> late_count_{0};

  // The current or last upcall of the input's owner: its number, then two bits of UpcallState.
  enum UpcallState : uint32_t { kIdle, kRunning, kSeen, kInputLent };
  std::atomic<uint32_t> upcall_{kIdle};
  // After an upcall that lasted, the input is passed on before each of so many further ones.
  std::atomic<int> slow_upcalls_{0};
  static constexpr int kSlowUpcalls = 1024;

  // The supervisor only.
  uint64_t seen_calls_ = 0;
  uint64_t partial_base_ = 0;
  Nanos partial_seen_ = 0;
  Nanos quiet_since_ = 0;

  Mutex mu_;
  // Calls whose servant has returned without an answer, by request id: for CancelRequest and
  // duplicates.
  absl::flat_hash_map<uint32_t, ServerCall*> late_ ABSL_GUARDED_BY(mu_);
  size_t late_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of their requests
  bool paused_ ABSL_GUARDED_BY(mu_) = false;    // not reading, until the output has drained
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_SERVER_CONNECTION_H_
