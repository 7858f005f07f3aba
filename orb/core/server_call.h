// The Call of a ServerConnection. Kept in a small list per thread between uses, with the memory of
// its vectors and buffers, so that steady traffic allocates nothing.
//
// Thread safety: as Call. Completion may race with the return of the servant's Dispatch;
// `progress_` settles which of the two threads puts the call away. A call that is answered late is
// found by its id until its reply is about to be sent: as soon as the peer has that, it may use the
// id again.

#ifndef WEIR_ORB_CORE_SERVER_CALL_H_
#define WEIR_ORB_CORE_SERVER_CALL_H_

#include <atomic>
#include <memory>

#include "base/ref.h"
#include "orb/core/call.h"
#include "orb/core/codec.h"
#include "orb/core/server_connection.h"

namespace weir::orb {

class ServerCall : public Call {
 public:
  // Becomes the call for the request in incoming().
  void Begin(ServerConnection* connection, bool alone);

  // What its connection has decoded.
  Incoming* incoming() { return &incoming_; }

  // Has it served. REQUIRES: Begin was called. The call may be gone when this returns. The result
  // is as Dispatcher::Dispatch's.
  uint32_t Run();
  uint32_t BeginUpcall() override;
  ObjectIdentity Identity() override;
  void AskIsA(std::string_view id, Nanos deadline, IsAListener* listener) override;
  absl::Status RedirectTo(std::string_view reference) override;

  // The peer wants no reply. REQUIRES: the connection's lock is held, so that the call is not put
  // away.
  void Cancel();

 private:
  friend struct ServerCallList;
  friend class ServerCallLease;
  friend class ServerConnection;

  enum class Progress : uint8_t {
    kRunning,    // the servant's Dispatch has not returned
    kLate,       // it has, unanswered; the call can be found by its id
    kAnswering,  // while it ran, another thread has begun to answer
    kAnswered,   // while it ran, the answer was sent: Run puts the call away
    kLeft,       // it has returned while another thread answers: that one puts the call away
  };

  ServerCall() : Call(nullptr) { request_ = &incoming_.request; }
  void Complete() override;
  void Abandon() override;
  void ResumeUp(bool answered) override;
  void ResumeDown() override;
  void SetWatcherLate(Watcher* watcher) override;
  // The reply is final: sends it.
  void Finish();
  void PutAway();

  Incoming incoming_;
  GiopMinor minor_ = GiopMinor::k2;  // of the request, whatever filters make of it
  Ref<ServerConnection> connection_;
  std::shared_ptr<Servant> servant_;
  std::atomic<Progress> progress_{Progress::kRunning};
  const void* runner_ = nullptr;  // the list of the thread that runs the servant
};

// A call of the current thread's list, to decode into; goes back unless it is released, to Begin.
// Leases nest: a servant that makes a call of its own may have to decode meanwhile.
class ServerCallLease {
 public:
  ServerCallLease();
  ~ServerCallLease();
  ServerCallLease(const ServerCallLease&) = delete;
  ServerCallLease& operator=(const ServerCallLease&) = delete;

  Incoming* incoming() const { return call_->incoming(); }
  ServerCall* Release() { return std::exchange(call_, nullptr); }

 private:
  ServerCall* call_;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_SERVER_CALL_H_
