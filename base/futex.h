// Sleeping on a word of memory: Linux's futex, with a timeout.
//
// Thread safety: safe for concurrent use. Wake may be given the address of an object that is gone:
// it only hands the address to the kernel.

#ifndef WEIR_BASE_FUTEX_H_
#define WEIR_BASE_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace weir {

// Sleeps while `*word` is `expected`, for at most `timeout`. May wake early.
inline void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, Nanos timeout) {
  timespec t{static_cast<time_t>(timeout / kSecond), static_cast<long>(timeout % kSecond)};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout == kNoDeadline ? nullptr : &t,
          nullptr, 0);
}

// Wakes one thread that sleeps on `word`.
inline void FutexWake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace weir

#endif  // WEIR_BASE_FUTEX_H_
