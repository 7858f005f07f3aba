// The last calls that met filters, for people who ask what happened to one.
//
// A record says who called what, which filters ran, what each decided and how long it took, and how
// the call ended. What comes from peers is cut to a length and escaped when the record is made.
//
// Thread safety: as each class says.

#ifndef WEIR_FILTERS_CALL_RING_H_
#define WEIR_FILTERS_CALL_RING_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "filters/filter.h"
#include "filters/step_outcome.h"

namespace weir::filters {

// Text is printable ASCII.
//
// Thread safety: a value.
struct CallRecord {
  struct Step {
    std::string plug;
    Phase phase = Phase::kUp;
    std::string method;
    StepOutcome outcome = StepOutcome::kPassed;
    Nanos took = 0;
  };

  uint64_t sequence = 0;        // in the order in which calls ended, without gaps; from the ring
  uint64_t call = 0;            // its id, as in logs
  Nanos time = 0;               // when it met the first filter; nanoseconds since 1970
  Nanos took = 0;               // from then until its reply had met the last one
  std::string peer;             // "tcp:10.0.0.7:40112"
  std::string object_key;       // as filters/escape.h
  std::string operation;        // as base/strings.h, Escape
  uint64_t revision = 0;        // of the snapshot that the call kept
  std::vector<Step> steps;      // in the order in which they ran
  uint64_t steps_left_out = 0;  // further ones that ran
  // "NO_EXCEPTION", "USER_EXCEPTION IDL:Bank/Broke:1.0", "SYSTEM_EXCEPTION NO_PERMISSION minor
  // 0x57454010", "LOCATION_FORWARD"; "NO_REPLY" for a oneway and for a call given up.
  std::string status;

  // About what it takes in memory.
  size_t Bytes() const;
};

struct CallRingLimits {
  size_t entries = 4096;
  size_t bytes = 4 << 20;
  // Longer object keys, operations and the like are cut, and end in "...".
  size_t text_bytes = 256;
  // Further steps of one call are only counted.
  size_t steps = 64;
};

// Keeps the latest, within limits.
//
// Thread safety: safe for concurrent use. The lock is held for the time of a few pointers.
class CallRing {
 public:
  explicit CallRing(CallRingLimits limits) : limits_(limits) {}

  const CallRingLimits& limits() const { return limits_; }

  // Gives the record its sequence number. One that is over the limit alone is not kept.
  void Add(CallRecord record);

  // Null if it is not there (any more).
  std::shared_ptr<const CallRecord> Find(uint64_t call) const;

  struct Page {
    std::vector<std::shared_ptr<const CallRecord>> calls;  // oldest first
    uint64_t next = 0;                                     // what to ask for next
    uint64_t missed = 0;  // how many after `after` are gone already
  };
  // Those after sequence number `after`, at most `limit` of them, the oldest.
  Page After(uint64_t after, size_t limit) const;
  // The latest ones, at most `limit`.
  Page Latest(size_t limit) const;

 private:
  Page From(uint64_t first, size_t limit) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const CallRingLimits limits_;
  mutable Mutex mu_;
  // Sequence numbers without gaps; the last one has next_ - 1.
  std::deque<std::shared_ptr<const CallRecord>> calls_ ABSL_GUARDED_BY(mu_);
  uint64_t next_ ABSL_GUARDED_BY(mu_) = 1;
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

// `text` up to `bytes` of it, then "..." if there was more. Not escaped.
std::string Cut(std::string_view text, size_t bytes);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_CALL_RING_H_
