#include "orb/core/reactor.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <deque>

#include "base/strings.h"

namespace weir::orb {

// Posted work, announced by an eventfd. Level triggered through re-arming: while tasks are left, it
// is armed.
class Reactor::Tasks : public EventHandler {
 public:
  explicit Tasks(Reactor* reactor)
      : reactor_(reactor), fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Tasks() override { close(fd_); }

  int fd() const { return fd_; }

  void Push(std::function<void()> task) {
    {
      MutexLock lock(&mu_);
      tasks_.push_back(std::move(task));
    }
    const uint64_t one = 1;
    (void)!write(fd_, &one, sizeof one);
  }

  void OnReady() override {
    std::function<void()> task;
    {
      MutexLock lock(&mu_);
      if (!tasks_.empty()) {
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      uint64_t count;
      if (tasks_.empty()) (void)!read(fd_, &count, sizeof count);
    }
    // Armed before the task runs: a task may block, and others must not wait for it.
    reactor_->Arm(fd_, this);
    if (task) task();
  }

 private:
  Reactor* const reactor_;
  const int fd_;
  Mutex mu_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mu_);
};

Reactor::Reactor(ReactorOptions options, const Clock* clock)
    : options_([&] {
        if (options.min_threads <= 0) {
          options.min_threads = std::max(2u, std::thread::hardware_concurrency()) + 1;
        }
        options.max_threads = std::max(options.max_threads, options.min_threads);
        return options;
      }()),
      clock_(clock),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      tasks_(std::make_unique<Tasks>(this)) {}

Reactor::~Reactor() {
  Stop();
  close(epoll_fd_);
}

void Reactor::AddTick(Nanos period, std::function<void()> tick) {
  ticks_.push_back({period, 0, std::move(tick)});
}

absl::Status Reactor::Start() {
  if (epoll_fd_ < 0 || tasks_->fd() < 0) {
    return absl::ResourceExhaustedError("cannot create an epoll set: out of file descriptors");
  }
  Add(tasks_->fd(), tasks_.get());
  MutexLock lock(&mu_);
  for (int i = 0; i < options_.min_threads; ++i) Spawn(/*permanent=*/true);
  supervisor_ = std::thread([this] { Supervise(); });
  supervised_.store(true);
  return absl::OkStatus();
}

void Reactor::Stop() {
  if (!supervisor_.joinable()) return;
  {
    MutexLock lock(&mu_);
    stopping_.store(true);
    wake_supervisor_.Signal();
  }
  supervised_.store(false);
  supervisor_.join();
  // A level-triggered descriptor that is readable for ever wakes every thread in turn.
  const int bell = eventfd(1, EFD_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, bell, &event);
  std::vector<std::thread> threads;
  {
    MutexLock lock(&mu_);
    threads.swap(threads_);
    for (std::thread& t : left_) threads.push_back(std::move(t));
    left_.clear();
  }
  while (thread_count_.load() > 0) {
    if (CanInterruptReceives()) interrupter_.InterruptAll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (std::thread& t : threads) t.join();
  close(bell);
}

void Reactor::Drain() {
  // Bounded, so that a peer that sends without end cannot keep us.
  epoll_event event;
  for (int i = 0; i < 1'000'000; ++i) {
    if (epoll_wait(epoll_fd_, &event, 1, 0) <= 0) return;
    if (event.data.ptr != nullptr) Handle(static_cast<EventHandler*>(event.data.ptr));
  }
}

void Reactor::Spawn(bool permanent) {
  for (std::thread& t : left_) t.join();
  left_.clear();
  thread_count_.fetch_add(1);
  threads_.emplace_back([this, permanent] { Work(permanent); });
}

// The calling thread has nothing more to do: somebody else joins it, later. False: it is the last
// one that watches (the others may be blocked for long), and must go on.
bool Reactor::Leave() {
  MutexLock lock(&mu_);
  if (watchers_.load() == 0) return false;
  for (auto t = threads_.begin(); t != threads_.end(); ++t) {
    if (t->get_id() != std::this_thread::get_id()) continue;
    left_.push_back(std::move(*t));
    threads_.erase(t);
    break;
  }
  return true;
}

bool Reactor::Control(int fd, EventHandler* handler, bool add, bool write) {
  epoll_event event{};
  event.events = (write ? EPOLLOUT : EPOLLIN | EPOLLRDHUP) | EPOLLONESHOT;
  event.data.ptr = handler;
  handler->handed_over_.store(true, std::memory_order_release);
  // Not by the library's function: ThreadSanitizer takes that for a use of `fd`, which the thread
  // that gets the event may close before this call has returned.
  return syscall(SYS_epoll_ctl, epoll_fd_, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) == 0;
}

void Reactor::Remove(int fd) { epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr); }

void Reactor::Post(std::function<void()> task) { tasks_->Push(std::move(task)); }

void Reactor::Work(bool permanent) {
  const int timeout_ms = permanent ? -1 : static_cast<int>(options_.linger / kMillisecond);
  while (!stopping_.load(std::memory_order_relaxed)) {
    epoll_event event;
    waits_.fetch_add(1, std::memory_order_relaxed);
    watchers_.fetch_add(1, std::memory_order_relaxed);
    // One event at a time: a second one would have to wait for what the first leads to.
    const int n = epoll_wait(epoll_fd_, &event, 1, timeout_ms);
    watchers_.fetch_sub(1, std::memory_order_relaxed);
    if (n == 0 && Leave()) break;
    if (n <= 0 || event.data.ptr == nullptr) continue;
    Handle(static_cast<EventHandler*>(event.data.ptr));
  }
  thread_count_.fetch_sub(1);
}

void Reactor::Alarm() {
  if (alarmed_.load() || alarmed_.exchange(true)) return;
  MutexLock lock(&mu_);
  wake_supervisor_.Signal();
}

// Adds a thread if the pool is stuck and no thread has begun to watch since the last look.
void Reactor::GrowIfStuck(uint64_t* last_waits) {
  const uint64_t waits = waits_.load(std::memory_order_relaxed);
  if (waits == *last_waits && threads_.size() < static_cast<size_t>(options_.max_threads))
    Spawn(/*permanent=*/false);
  *last_waits = waits;
}

void Reactor::Supervise() {
  // After an alarm the pool is looked at every few milliseconds until it is no longer stuck. In
  // between `alarmed_` stays set, so that calls under load do not wake this thread each time.
  constexpr Nanos kLook = 2 * kMillisecond;
  uint64_t last_waits = 0;
  Nanos look_at = kNoDeadline;
  Nanos interrupt_at = clock_->Now() + options_.tick;
  for (Tick& tick : ticks_) tick.next = clock_->Now() + tick.period;
  for (;;) {
    Nanos now = clock_->Now();
    {
      MutexLock lock(&mu_);
      if (alarmed_.load()) {
        if (look_at == kNoDeadline) {
          look_at = now + kLook;
        } else if (now >= look_at) {
          look_at = now + kLook;
          interrupter_.InterruptLong();
          if (Stuck()) {
            GrowIfStuck(&last_waits);
          } else {
            alarmed_.store(false);
            // A thread that blocked a moment ago has found the alarm still on.
            if (Stuck()) alarmed_.store(true);
            if (!alarmed_.load()) look_at = kNoDeadline;
          }
        }
      }
      Nanos next = std::min(interrupt_at, look_at);
      for (const Tick& tick : ticks_) next = std::min(next, tick.next);
      if (!stopping_.load() && next > now) wake_supervisor_.WaitFor(&mu_, next - now);
      if (stopping_.load()) return;
    }
    now = clock_->Now();
    if (now >= interrupt_at) {
      interrupter_.InterruptLong();
      interrupt_at = now + options_.tick;
    }
    for (Tick& tick : ticks_) {
      if (now < tick.next) continue;
      tick.run();
      tick.next = now + tick.period;
    }
  }
}

}  // namespace weir::orb
