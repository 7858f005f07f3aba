// The sending half of a connection. Any number of threads write whole messages; each message leaves
// in one piece and, when nobody is in the way, in one system call without a lock or a copy.
//
// How: a flag says who is sending. A thread that finds it taken queues its message; whoever holds
// the flag sends what is queued before it lets go. When the socket is full, what the holder could
// not send goes before all that others have queued, the flag stays taken, and a duplicate of the
// descriptor is registered for becoming writable; its event goes on flushing.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_ORB_CORE_OUTPUT_H_
#define WEIR_ORB_CORE_OUTPUT_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "orb/cdr/byte_buffer.h"
#include "orb/core/reactor.h"
#include "orb/transport/transport.h"

namespace weir::orb {

class Output : public EventHandler {
 public:
  enum class Result {
    kSent,    // in the kernel's hands, or queued
    kUnsent,  // failed, and no byte of this message has left
    kFailed,  // failed, some of it may have left
  };

  // `keep_alive` is called before the flush handler is registered and `let_go` once it is not any
  // more; in between the owner must not go away. `max_queued` bytes bound what a peer that does not
  // read can make us keep. `drained` is called (by the flushing thread) when a queue that had held
  // Write back is empty.
  struct Hooks {
    std::function<void()> keep_alive;
    std::function<void()> let_go;
    std::function<void()> drained;
  };
  Output(Stream* stream, Reactor* reactor, const Clock* clock, size_t max_queued, Hooks hooks)
      : stream_(stream),
        reactor_(reactor),
        clock_(clock),
        max_queued_(max_queued),
        hooks_(std::move(hooks)) {}
  ~Output() override;

  Result Write(std::string_view message);
  // Sends `last` (perhaps nothing) after what is queued, and then an end of stream. Nothing can be
  // written any more.
  void End(std::string_view last);

  // Bytes wait for the peer to read: the connection should take no more work in.
  bool congested() const { return blocked_since_.load(std::memory_order_acquire) != 0; }
  // When the socket last took bytes while some were waiting; 0 if none wait.
  Nanos blocked_since() const { return blocked_since_.load(std::memory_order_acquire); }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // After End: the end has been sent, or there will be none.
  bool ended() const { return ended_.load() || failed(); }

 private:
  bool TryAcquire() { return !sending_.exchange(true); }
  // Sends what others queued while we were sending, then gives the flag up.
  void ReleaseAfterFlush();
  // True if all that was queued has left; false if the socket is full (the flag stays taken) or
  // broken.
  bool Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Behind what is queued; and the rest of what the holder of the flag was sending, before it.
  bool Enqueue(std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool EnqueueRest(std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasRoomFor(std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WaitWritable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CloseWriteFd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnReady() override;

  Stream* const stream_;
  Reactor* const reactor_;
  const Clock* const clock_;
  const size_t max_queued_;
  const Hooks hooks_;

  std::atomic<bool> sending_{false};
  std::atomic<bool> queued_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> ending_{false};  // an end of stream follows what is queued
  std::atomic<bool> ended_{false};
  std::atomic<Nanos> blocked_since_{0};

  Mutex mu_;
  cdr::ByteBuffer queue_ ABSL_GUARDED_BY(mu_);
  size_t queue_begin_ ABSL_GUARDED_BY(mu_) = 0;
  int write_fd_ ABSL_GUARDED_BY(mu_) = -1;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_OUTPUT_H_
