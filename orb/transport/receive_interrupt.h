// How a thread that waits in a blocking receive for as long as it takes is called back by another.
//
// A receive timeout on the socket would do without this, but makes the kernel set up and take down
// a timer for every receive: 2% (TCP) to 4% (Unix sockets) of a whole ping-pong. Instead the thread
// marks itself, and whoever wants it back sends it a signal, SIGURG: ignored by default, and in use
// for such purposes elsewhere. The handler restarts system calls, so that code outside of a marked
// receive does not see EINTR for it; inside, it makes the descriptor non-blocking for a moment, and
// the receive returns EAGAIN whether the signal came during the system call or just before it.
//
// One set of marks serves the whole process.

#ifndef WEIR_ORB_TRANSPORT_RECEIVE_INTERRUPT_H_
#define WEIR_ORB_TRANSPORT_RECEIVE_INTERRUPT_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace weir::orb {

// Takes over SIGURG at the first call, unless the program has a handler for it: then false, and
// receives must have a timeout. Whoever replaces the handler later makes receives wait for data
// alone. Safe for concurrent use.
bool CanInterruptReceives();

// Marks the calling thread as waiting to receive from a descriptor in blocking mode.
// REQUIRES: CanInterruptReceives(); nobody else receives from the descriptor meanwhile.
class ReceiveMark {
 public:
  explicit ReceiveMark(int fd) : mark_(current_ != nullptr ? current_ : Register()) {
    mark_->fd.store(fd, std::memory_order_relaxed);
    Step();
  }
  ~ReceiveMark() {
    Step();
    if (mark_->interrupted.load(std::memory_order_relaxed)) [[unlikely]]
      Restore(mark_);
  }
  ReceiveMark(const ReceiveMark&) = delete;
  ReceiveMark& operator=(const ReceiveMark&) = delete;

 private:
  friend class ReceiveInterrupter;
  friend bool CanInterruptReceives();
  class Registry;

  // One for each thread that has ever received; used again after the thread has ended.
  struct Mark {
    std::atomic<uint64_t> step{0};  // odd while the thread receives
    std::atomic<int> fd{-1};
    std::atomic<bool> interrupted{false};  // the handler has made `fd` non-blocking
    pid_t thread = 0;                      // guarded by the registry's mutex
  };

  static Mark* Register();
  static void OnSignal(int);
  static void Restore(Mark* mark);
  // Not a read-modify-write: only the thread itself steps. Release, so that the handler, on the
  // same thread, finds `fd`.
  void Step() {
    mark_->step.store(mark_->step.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  static constinit thread_local Mark* current_;

  Mark* const mark_;
};

// Calls threads back. Thread safety: one thread at a time; any number of objects.
class ReceiveInterrupter {
 public:
  // Ends each receive that has gone on since the call before this one. A signal that finds its
  // thread outside of the receive is lost, which the next call makes good.
  void InterruptLong() { Interrupt(true); }
  // Ends each receive of the process.
  void InterruptAll() { Interrupt(false); }

 private:
  void Interrupt(bool only_long);

  std::vector<uint64_t> seen_;  // steps, in the order of the registry
};

}  // namespace weir::orb

#endif  // WEIR_ORB_TRANSPORT_RECEIVE_INTERRUPT_H_
