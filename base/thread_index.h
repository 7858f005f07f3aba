// A small number for each living thread, so that counters can have a place for each: a place with
// one writer needs no atomic read-modify-write, and its cache line stays where it is.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_BASE_THREAD_INDEX_H_
#define WEIR_BASE_THREAD_INDEX_H_

#include <atomic>
#include <cstddef>

namespace weir {

// Threads that have a number of their own at a time. Later ones, and threads that are ending, share
// this number.
inline constexpr size_t kSharedThreadIndex = 15;
inline constexpr size_t kThreadIndices = kSharedThreadIndex + 1;

namespace internal {
inline constinit thread_local size_t thread_index = kThreadIndices;  // none yet
size_t AssignThreadIndex();
}  // namespace internal

// 0 to kSharedThreadIndex. Below that, no other living thread has the same; what its former holder
// has written is visible to the new one.
inline size_t ThreadIndex() {
  const size_t index = internal::thread_index;
  return index < kThreadIndices ? index : internal::AssignThreadIndex();
}

// Adds to the place of `index`, the calling thread's, in an array of kThreadIndices places that
// others only read. The order is release.
template <typename T>
void AddToPlace(std::atomic<T>* place, size_t index, T n) {
  if (index != kSharedThreadIndex) [[likely]] {
    place->store(place->load(std::memory_order_relaxed) + n, std::memory_order_release);
  } else {
    place->fetch_add(n, std::memory_order_acq_rel);
  }
}

}  // namespace weir

#endif  // WEIR_BASE_THREAD_INDEX_H_
