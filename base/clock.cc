#include "base/clock.h"

#include <time.h>

namespace weir {
namespace {

Nanos Read(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return static_cast<Nanos>(t.tv_sec) * kSecond + t.tv_nsec;
}

}  // namespace

Nanos SystemClock::Now() const { return Read(CLOCK_MONOTONIC); }
Nanos SystemClock::WallTime() const { return Read(CLOCK_REALTIME); }

}  // namespace weir
