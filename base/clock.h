// The source of time. Passed in wherever time matters, so that tests decide what the time is.
//
// Thread safety: implementations are safe for concurrent use.

#ifndef WEIR_BASE_CLOCK_H_
#define WEIR_BASE_CLOCK_H_

#include <cstdint>

namespace weir {

// Nanoseconds of a monotonic clock; kNoDeadline never comes.
using Nanos = int64_t;
inline constexpr Nanos kNoDeadline = INT64_MAX;
inline constexpr Nanos kMicrosecond = 1'000;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;

class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic: never goes back, and has no relation to the time of day.
  virtual Nanos Now() const = 0;
  // Nanoseconds since 1970-01-01 UTC, for people to read.
  virtual Nanos WallTime() const = 0;
};

// The machine's clocks.
class SystemClock : public Clock {
 public:
  Nanos Now() const override;
  Nanos WallTime() const override;
};

}  // namespace weir

#endif  // WEIR_BASE_CLOCK_H_
