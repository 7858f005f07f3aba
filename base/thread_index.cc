#include "base/thread_index.h"

#include <array>

#include "base/mutex.h"

namespace weir::internal {
namespace {

struct Indices {
  Mutex mu;
  std::array<bool, kSharedThreadIndex> taken ABSL_GUARDED_BY(mu) = {};
};

// Never destroyed: threads may outlive static objects.
Indices& TheIndices() {
  static Indices* const indices = new Indices;
  return *indices;
}

// Gives the number back when the thread ends.
struct Owner {
  ~Owner() {
    const size_t index = thread_index;
    thread_index = kSharedThreadIndex;  // for what other destructors may still count
    MutexLock lock(&TheIndices().mu);
    if (index < kSharedThreadIndex) TheIndices().taken[index] = false;
  }
};

}  // namespace

size_t AssignThreadIndex() {
  Indices& indices = TheIndices();
  size_t index = 0;
  {
    MutexLock lock(&indices.mu);
    while (index < kSharedThreadIndex && indices.taken[index]) ++index;
    if (index < kSharedThreadIndex) indices.taken[index] = true;
  }
  thread_index = index;
  thread_local Owner owner;
  (void)owner;
  return index;
}

}  // namespace weir::internal
