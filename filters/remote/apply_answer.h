// What a remote filter's answer does to a call.
//
// Thread safety: pure functions, of the call's owner.

#ifndef WEIR_FILTERS_REMOTE_APPLY_ANSWER_H_
#define WEIR_FILTERS_REMOTE_APPLY_ANSWER_H_

#include "absl/status/statusor.h"
#include "filters/filter.h"
#include "filters/remote/channel.h"

namespace weir::filters {

// Puts what the answer says into the call, which keeps it. `*refused` is set if the answer changes
// something and `may_change` is false, or if it redirects a reply; the call then passes as it is.
// Error: the answer is a failure, after all; the call is as it was.
// REQUIRES: `answer` is no failure.
absl::StatusOr<Verdict> ApplyAnswer(Answer answer, Phase phase, bool may_change, orb::Call* call,
                                    bool* refused);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_APPLY_ANSWER_H_
