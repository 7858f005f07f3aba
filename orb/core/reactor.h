// The ORB's threads: leader/followers over one epoll set.
//
// Every descriptor is registered one-shot, so that the thread that gets its event owns what it
// stands for until it arms it again: no two threads ever serve one connection's input. All idle
// threads wait in epoll_wait together (the kernel wakes one for each event), so the next event
// finds its thread without a hand-off.
//
// A thread may *stay* on a hot connection, in a blocking receive, as long as another one watches
// the rest (MayStay). The supervisor calls it back from a connection that has gone quiet
// (receive_interrupt.h). The pool starts at `min_threads` and grows to `max_threads` only
// while every thread is inside a blocking region and nobody has watched for a whole tick; threads
// above the minimum leave after `linger` without work.
//
// One more thread, the supervisor, ticks: it ends receives that last, grows the pool and runs the
// tick functions (timeouts).
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_ORB_CORE_REACTOR_H_
#define WEIR_ORB_CORE_REACTOR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "orb/transport/receive_interrupt.h"

namespace weir::orb {

struct ReactorOptions {
  int min_threads = 0;  // 0: one more than there are cores: each may stay while one watches
  int max_threads =
      256;  // stops blocking servants, or a peer that provokes them, from taking every thread
  Nanos tick = 10 * kMillisecond;
  Nanos linger = 10 * kSecond;
};

// What a registered descriptor stands for.
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  // The descriptor is ready, or has failed. The caller owns the handler's input until it arms it
  // again.
  virtual void OnReady() = 0;

 private:
  friend class Reactor;
  // Carries what the thread that arms has written to the one that gets the event, in terms of the
  // language: the kernel orders the two, but says nothing of it to the compiler.
  std::atomic<bool> handed_over_{false};
};

class Reactor {
 public:
  Reactor(ReactorOptions options, const Clock* clock);
  // REQUIRES: Stop was called, or Start never.
  ~Reactor();

  absl::Status Start();
  // Wakes and joins all threads. What is registered stays so, and gets no more events.
  // REQUIRES: not called on a thread of this reactor.
  void Stop();
  // After Stop: handles what is ready and runs what was posted, on the calling thread, until
  // nothing is left. So what was told to end before really ends.
  void Drain();

  // Registers `fd`, or arms it again, for one event. `handler` must live until the event has come
  // or the descriptor is closed. The handler may be running on another thread before this returns.
  // False: the kernel has no room for it, and no event will come.
  bool Add(int fd, EventHandler* handler) { return Control(fd, handler, true, false); }
  bool Arm(int fd, EventHandler* handler) { return Control(fd, handler, false, false); }
  // The same, for becoming writable.
  bool AddForWrite(int fd, EventHandler* handler) { return Control(fd, handler, true, true); }
  bool ArmForWrite(int fd, EventHandler* handler) { return Control(fd, handler, false, true); }

  // Forgets `fd`. Needed where a duplicate of the descriptor stays open: closing alone forgets it
  // only with the last one. REQUIRES: not armed, or the caller does not mind one more event.
  void Remove(int fd);

  // Runs `task` on some thread of the pool, soon. For rare work: it allocates. A task that may
  // block says so itself (Blocking).
  void Post(std::function<void()> task);

  // Somebody ends receives that last longer than a tick or two.
  bool supervised() const { return supervised_.load(std::memory_order_relaxed); }

  // Another thread watches the rest at this moment.
  bool MayStay() const { return watchers_.load(std::memory_order_relaxed) > 0; }

  // Runs `tick` on the supervisor every `period`, until Stop. To be called before Start.
  void AddTick(Nanos period, std::function<void()> tick);

  // Threads inside a blocking region.
  int blocked() const { return blocked_.load(std::memory_order_relaxed); }

  int threads() const { return thread_count_.load(std::memory_order_relaxed); }

  // Marks the current thread as one that may block, so that the pool can grow. Nests.
  class Blocking {
   public:
    explicit Blocking(Reactor* reactor) : reactor_(reactor) { reactor_->BeginBlocking(); }
    ~Blocking() { reactor_->EndBlocking(); }
    Blocking(const Blocking&) = delete;
    Blocking& operator=(const Blocking&) = delete;

   private:
    Reactor* const reactor_;
  };

 private:
  struct Tick {
    Nanos period;
    Nanos next;
    std::function<void()> run;
  };
  class Tasks;

  void BeginBlocking() {
    // Sequentially consistent, as Supervise's counterpart is: either it sees this thread, or this
    // thread sees that the alarm is off.
    blocked_.fetch_add(1);
    if (watchers_.load() == 0) [[unlikely]]
      Alarm();
  }
  void EndBlocking() { blocked_.fetch_sub(1, std::memory_order_relaxed); }
  // Makes the supervisor look at the pool within a tick.
  void Alarm();

  bool Control(int fd, EventHandler* handler, bool add, bool write);
  static void Handle(EventHandler* handler) {
    (void)handler->handed_over_.load(std::memory_order_acquire);
    handler->OnReady();
  }
  void Work(bool permanent);
  void Supervise();
  // No thread watches and at least one is blocked.
  bool Stuck() const { return blocked_.load() > 0 && watchers_.load() == 0; }
  void GrowIfStuck(uint64_t* last_waits) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Leave();
  void Spawn(bool permanent) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const ReactorOptions options_;
  const Clock* const clock_;
  int epoll_fd_ = -1;
  std::vector<Tick> ticks_;
  std::unique_ptr<Tasks> tasks_;
  std::thread supervisor_;

  std::atomic<int> watchers_{0};    // threads inside epoll_wait
  std::atomic<int> blocked_{0};     // threads inside a blocking region
  std::atomic<uint64_t> waits_{0};  // how often a thread began to watch
  std::atomic<int> thread_count_{0};
  std::atomic<bool> alarmed_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> supervised_{false};
  ReceiveInterrupter interrupter_;  // of the supervisor, and of Stop after it

  Mutex mu_;
  CondVar wake_supervisor_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> left_ ABSL_GUARDED_BY(mu_);  // of threads that have run out of work
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_REACTOR_H_
