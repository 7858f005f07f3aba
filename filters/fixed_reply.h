// A reply that is written down by people: a result or a user exception as octets of CDR. For the
// filter `replace`, and for what remote filters' plugs answer when the filter does not.
//
// Thread safety: values and pure functions.

#ifndef WEIR_FILTERS_FIXED_REPLY_H_
#define WEIR_FILTERS_FIXED_REPLY_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "filters/filter.h"
#include "orb/core/call.h"

namespace weir::filters {

struct FixedReply {
  // Octets of a body. Stops a plug from keeping what no command line would carry.
  static constexpr size_t kMostOctets = 64 * 1024;
  // How people are told of the two forms.
  static constexpr std::string_view kResultForm = "[little:|big:]HEX";
  static constexpr std::string_view kUserExceptionForm = "IDL:...|[little:|big:]HEX";

  orb::ReplyStatus status = orb::ReplyStatus::kNoException;
  std::string body;  // aligned from position 0
  cdr::ByteOrder order = cdr::kNativeOrder;

  // The body of a result, which may be empty, two hexadecimal digits for each octet. The byte order
  // is that of this machine if it is not stated. Nothing checks that it fits an operation.
  // INVALID_ARGUMENT says what is allowed.
  static absl::StatusOr<FixedReply> Result(std::string_view text);
  // The body of a user exception: its repository id if it has no members, else as a result, with
  // the repository id (a string) and the members.
  static absl::StatusOr<FixedReply> UserException(std::string_view text);

  // Makes it the reply of `call`; what the phase then has as its verdict. REQUIRES: this object
  // lives until the call is over, as what belongs to a filter does.
  Verdict Set(Phase phase, orb::Call* call) const { return SetBody(body, phase, call); }
  // The same with octets of the call's own.
  Verdict SetCopy(Phase phase, orb::Call* call) const {
    return SetBody(call->Keep(body), phase, call);
  }

 private:
  Verdict SetBody(std::string_view bytes, Phase phase, orb::Call* call) const;
};

// Whether the servant did its work, for an exception that takes the place of its `reply`.
inline orb::Completion CompletionInPlaceOf(const orb::Reply& reply) {
  return reply.status == orb::ReplyStatus::kNoException ||
                 reply.status == orb::ReplyStatus::kUserException
             ? orb::Completion::kYes
             : orb::Completion::kMaybe;
}

}  // namespace weir::filters

#endif  // WEIR_FILTERS_FIXED_REPLY_H_
