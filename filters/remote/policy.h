// What happens to a call when its remote filter does not answer in time, or is not there.
//
// Thread safety: values and pure functions.

#ifndef WEIR_FILTERS_REMOTE_POLICY_H_
#define WEIR_FILTERS_REMOTE_POLICY_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "filters/filter.h"
#include "filters/fixed_reply.h"
#include "filters/parameters.h"
#include "orb/core/system_exception.h"

namespace weir::filters {

// What a call gets in place of a verdict.
struct FailurePolicy {
  enum class Kind : uint8_t {
    kOpen,       // the call goes on as if the filter had passed it
    kException,  // a system exception
    kReply,      // a result or a user exception
  };
  Kind kind = Kind::kException;
  orb::ExceptionId exception = orb::ExceptionId::kNoPermission;
  FixedReply reply;

  // "open"; "closed" (NO_PERMISSION); "answer=TRANSIENT", any system exception;
  // "answer=result:..." and "answer=user:...", as FixedReply has them.
  static absl::StatusOr<FailurePolicy> Parse(std::string_view text);

  // Makes the policy's verdict of the call. A system exception's completion status is what the
  // phase knows of the servant.
  Verdict Apply(Phase phase, orb::Call& call) const;
};

// The ladder of one plug and phase: the timeout first. These are what holds if nobody says more.
struct PhasePolicy {
  Nanos timeout = kSecond;
  FailurePolicy on_failure;
};

// What somebody says of it.
struct PhaseOptions {
  std::optional<Nanos> timeout;
  std::optional<FailurePolicy> on_failure;
};
// What a filter says. INVALID_ARGUMENT if a plug could not say so.
absl::StatusOr<PhaseOptions> Parse(const DeclaredPolicy& declared);

// Each is a connection that is kept, and one more try for a call that finds none: stops a plug from
// opening thousands.
inline constexpr size_t kMostSpares = 7;

struct RemoteOptions {
  PhaseOptions up, down;  // what the plug says
  // Calls that wait for this filter at a time; more get the policy at once. Stops a slow filter
  // from piling up the calls of a fast client.
  int max_waiting = 10'000;
  // After so many timeouts in a row the filter is not asked for `breaker_pause`; then one call
  // tries. 0: never.
  int breaker = 5;
  Nanos breaker_pause = kSecond;
  // The filter may be asked about calls that filters before it still have, and may yet stop.
  bool ahead = false;

  // What holds for a method: what the plug says, else what the method has declared, else what holds
  // without either.
  PhasePolicy PolicyOf(Phase phase, const PhaseOptions& declared) const;
};

// All parameters of a kind of remote filters, as it declares them: `at` is where the filter is.
std::vector<ParameterInfo> RemoteParameters(ParameterInfo at);
// Reads the parameters `at` and `spare`: where the filter is, then its spares, in order. Each is
// not empty, none comes twice. `beginnings`, if there are any, say how an address begins: a comma
// followed by anything else belongs to the address before it.
std::vector<std::string> ReadAddresses(std::initializer_list<std::string_view> beginnings,
                                       ParameterReader* read);
// Reads all others. If that fails, `*read` says why, and the result is not to be used.
RemoteOptions ReadRemoteOptions(ParameterReader* read);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_POLICY_H_
