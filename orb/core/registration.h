// One connection's place in the reactor's set, as the thread that owns its input sees it.
//
// A descriptor that is registered costs its every message a look by epoll, even while it is not
// armed: 2% of a ping-pong over TCP, 5% over a Unix socket. So a thread that stays takes the
// descriptor out of the set after some messages; arming puts it back.
//
// Thread safety: of the owner of the input.

#ifndef WEIR_ORB_CORE_REGISTRATION_H_
#define WEIR_ORB_CORE_REGISTRATION_H_

#include "orb/core/reactor.h"

namespace weir::orb {

class Registration {
 public:
  // `reactor` must outlive this object, and `fd` and `handler` its use.
  Registration(Reactor* reactor, int fd, EventHandler* handler)
      : reactor_(reactor), fd_(fd), handler_(handler) {}
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  // Hands the input over to whichever thread gets the next event; the owner may be gone when this
  // returns. False: the kernel has no room, no event will come, and the caller still owns the
  // input.
  bool Arm() {
    stayed_ = 0;
    if (registered_) return reactor_->Arm(fd_, handler_);
    registered_ = true;
    if (reactor_->Add(fd_, handler_)) return true;
    registered_ = false;
    return false;
  }

  // The owner is about to receive once more by itself.
  void Stay() {
    if (registered_ && ++stayed_ > kMany) [[unlikely]]
      Remove();
  }

  // REQUIRES: as Reactor::Remove.
  void Remove() {
    if (registered_) reactor_->Remove(fd_);
    registered_ = false;
  }

 private:
  static constexpr int kMany = 32;  // messages that leaving and coming back is worth

  Reactor* const reactor_;
  const int fd_;
  EventHandler* const handler_;
  bool registered_ = false;
  int stayed_ = 0;  // since it was last armed
};

// What to tell people when Registration::Arm has failed.
inline constexpr char kNoRoomToWatch[] =
    "the kernel has no room to watch the connection: see fs.epoll.max_user_watches";

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_REGISTRATION_H_
