// How one step of a call, one method of one plug, can end, and the counters of that.
//
// Thread safety: values; the counters are safe for concurrent use.

#ifndef WEIR_FILTERS_STEP_OUTCOME_H_
#define WEIR_FILTERS_STEP_OUTCOME_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "filters/filter.h"
#include "filters/operation_table.h"

namespace weir::filters {

enum class StepOutcome : uint8_t {
  kPassed,       // the method passed the call
  kBounced,      // up: its answer took the servant's place
  kRedirected,   // up: it sent the call to another object
  kRaised,       // down: its exception took the reply's place
  kFailed,       // it threw, or its process failed
  kTimedOut,     // it did not answer in time
  kRefused,      // it was not asked: it is away, too slow of late, or too many calls wait for it
  kPolicyTaken,  // not an end of its own: after one of the three above, what the plug says for
                 // that case was done
};
inline constexpr size_t kStepOutcomes = 8;

// "passed", "timed_out".
inline std::string_view StepOutcomeName(StepOutcome outcome) {
  static constexpr std::string_view kNames[kStepOutcomes] = {
      "passed", "bounced", "redirected", "raised", "failed", "timed_out", "refused", "policy_taken",
  };
  return kNames[static_cast<size_t>(outcome)];
}

// How often each outcome came, by its number.
struct StepCounts {
  std::array<uint64_t, kStepOutcomes> by_outcome{};

  uint64_t operator[](StepOutcome outcome) const {
    return by_outcome[static_cast<size_t>(outcome)];
  }
  // How often the method was asked.
  uint64_t called() const {
    uint64_t sum = 0;
    for (const uint64_t n : by_outcome) sum += n;
    return sum - (*this)[StepOutcome::kRefused] - (*this)[StepOutcome::kPolicyTaken];
  }
  bool operator==(const StepCounts&) const = default;
};

// One plug's steps of one operation and phase.
struct StepFigures {
  // As the plug maps it: "*" for every operation that it does not map itself in this phase;
  // kOtherOperations for mappings beyond those that are told apart.
  std::string operation;
  Phase phase = Phase::kUp;
  StepCounts counts;
};

// A row for each operation that a plug maps, with the outcomes of both phases.
using StepTable = OperationTable<2 * kStepOutcomes>;
using StepCounters = StepTable::Counters;

// The number of a counter in a row.
constexpr size_t StepCounter(Phase phase, StepOutcome outcome) {
  return (phase == Phase::kUp ? 0 : kStepOutcomes) + static_cast<size_t>(outcome);
}

}  // namespace weir::filters

#endif  // WEIR_FILTERS_STEP_OUTCOME_H_
