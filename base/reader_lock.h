// A reader-writer lock for data that is read on every call and written hardly ever. Readers touch
// only a counter of their own stripe and never wait for each other; a writer waits for the readers
// that are inside.
//
// Thread safety: safe, as the name says. Read sections must be short and must not nest.

#ifndef WEIR_BASE_READER_LOCK_H_
#define WEIR_BASE_READER_LOCK_H_

#include <atomic>
#include <thread>

#include "base/mutex.h"

namespace weir {

class ABSL_LOCKABLE ReaderLock {
 public:
  ReaderLock() = default;
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

  void LockShared() ABSL_SHARED_LOCK_FUNCTION() {
    std::atomic<int>& count = stripes_[Stripe()].count;
    for (;;) {
      count.fetch_add(1);
      if (!writing_.load()) [[likely]]
        return;
      count.fetch_sub(1);
      MutexLock wait(&writers_);  // until the writer is done
    }
  }
  void UnlockShared() ABSL_UNLOCK_FUNCTION() {
    stripes_[Stripe()].count.fetch_sub(1, std::memory_order_release);
  }

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    writers_.Lock();
    writing_.store(true);
    for (StripeCount& s : stripes_) {
      while (s.count.load() != 0) std::this_thread::yield();
    }
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    writing_.store(false);
    writers_.Unlock();
  }

 private:
  static constexpr int kStripes = 16;
  // Each counter has a cache line of its own, wherever the lock lies. (By size, not by alignment,
  // which the address sanitizer does not keep for objects on the stack.)
  struct StripeCount {
    std::atomic<int> count{0};
    char filler[60];
  };
  // A thread keeps its stripe for life, so that it unlocks the one that it locked.
  static int Stripe() {
    static std::atomic<int> next{0};
    thread_local const int stripe = next.fetch_add(1, std::memory_order_relaxed) % kStripes;
    return stripe;
  }

  std::atomic<bool> writing_{false};
  StripeCount stripes_[kStripes];
  Mutex writers_;
};

class ABSL_SCOPED_LOCKABLE ReaderLockShared {
 public:
  explicit ReaderLockShared(ReaderLock* lock) ABSL_SHARED_LOCK_FUNCTION(lock) : lock_(lock) {
    lock_->LockShared();
  }
  ~ReaderLockShared() ABSL_UNLOCK_FUNCTION() { lock_->UnlockShared(); }

 private:
  ReaderLock* const lock_;
};

class ABSL_SCOPED_LOCKABLE ReaderLockExclusive {
 public:
  explicit ReaderLockExclusive(ReaderLock* lock) ABSL_EXCLUSIVE_LOCK_FUNCTION(lock) : lock_(lock) {
    lock_->Lock();
  }
  ~ReaderLockExclusive() ABSL_UNLOCK_FUNCTION() { lock_->Unlock(); }

 private:
  ReaderLock* const lock_;
};

}  // namespace weir

#endif  // WEIR_BASE_READER_LOCK_H_
