#include "orb/transport/receive_interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>

#include "base/mutex.h"

namespace weir::orb {

namespace {
constexpr int kSignal = SIGURG;
}

constinit thread_local ReceiveMark::Mark* ReceiveMark::current_ = nullptr;

// All marks. Never destroyed: threads may outlive static objects.
class ReceiveMark::Registry {
 public:
  static Registry& Get() {
    static Registry* const registry = new Registry;
    return *registry;
  }

  Mark* Add() {
    MutexLock lock(&mu_);
    for (const auto& mark : marks_) {
      if (mark->thread != 0) continue;
      mark->thread = gettid();
      return mark.get();
    }
    marks_.push_back(std::make_unique<Mark>());
    marks_.back()->thread = gettid();
    return marks_.back().get();
  }

  void Remove(Mark* mark) {
    MutexLock lock(&mu_);
    mark->thread = 0;
  }

  // The lock keeps each thread alive while it is sent a signal.
  void Interrupt(std::vector<uint64_t>* seen, bool only_long) {
    MutexLock lock(&mu_);
    seen->resize(marks_.size());
    for (size_t i = 0; i < marks_.size(); ++i) {
      const Mark& mark = *marks_[i];
      const uint64_t step = mark.step.load(std::memory_order_relaxed);
      const bool receiving = mark.thread != 0 && step % 2 == 1;
      if (receiving && (!only_long || (*seen)[i] == step)) {
        syscall(SYS_tgkill, getpid(), mark.thread, kSignal);
      }
      (*seen)[i] = step;
    }
  }

 private:
  Mutex mu_;
  std::vector<std::unique_ptr<Mark>> marks_ ABSL_GUARDED_BY(mu_);
};

ReceiveMark::Mark* ReceiveMark::Register() {
  // Takes the mark back when the thread ends.
  struct Owner {
    ~Owner() {
      Mark* const mark = current_;
      current_ = nullptr;
      Registry::Get().Remove(mark);
    }
  };
  // A thread that blocks all signals, as many programs make theirs, still has to get this one.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kSignal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  current_ = Registry::Get().Add();
  thread_local Owner owner;
  (void)owner;
  return current_;
}

void ReceiveMark::OnSignal(int) {
  Mark* const mark = current_;
  if (mark == nullptr || mark->step.load(std::memory_order_relaxed) % 2 == 0) return;
  const int saved_errno = errno;
  const int fd = mark->fd.load(std::memory_order_relaxed);
  mark->interrupted.store(true, std::memory_order_relaxed);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  errno = saved_errno;
}

void ReceiveMark::Restore(Mark* mark) {
  const int saved_errno = errno;
  const int fd = mark->fd.load(std::memory_order_relaxed);
  mark->interrupted.store(false, std::memory_order_relaxed);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  errno = saved_errno;
}

bool CanInterruptReceives() {
#ifdef __SANITIZE_THREAD__
  // ThreadSanitizer runs handlers only when the system call is over.
  return false;
#else
  static const bool can = [] {
    struct sigaction old = {};
    if (sigaction(kSignal, nullptr, &old) != 0) return false;
    if ((old.sa_flags & SA_SIGINFO) != 0) return false;
    if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return false;
    struct sigaction action = {};
    action.sa_handler = ReceiveMark::OnSignal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    return sigaction(kSignal, &action, nullptr) == 0;
  }();
  return can;
#endif
}

void ReceiveInterrupter::Interrupt(bool only_long) {
  ReceiveMark::Registry::Get().Interrupt(&seen_, only_long);
}

}  // namespace weir::orb
