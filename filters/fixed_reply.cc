#include "filters/fixed_reply.h"

#include <optional>
#include <utility>

#include "base/strings.h"
#include "filters/hex.h"
#include "orb/cdr/encoder.h"

namespace weir::filters {
namespace {

bool Skip(std::string_view prefix, std::string_view* text) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

}  // namespace

absl::StatusOr<FixedReply> FixedReply::Result(std::string_view text) {
  FixedReply reply;
  if (Skip("little:", &text)) {
    reply.order = cdr::ByteOrder::kLittle;
  } else if (Skip("big:", &text)) {
    reply.order = cdr::ByteOrder::kBig;
  }
  std::optional<std::string> octets = ParseHex(text, FixedReply::kMostOctets);
  if (!octets.has_value()) {
    return absl::InvalidArgumentError(
        "it must be at most 65536 octets of two hexadecimal digits each, such as 01000000, with "
        "little: or big: before them if they are not in this machine's byte order");
  }
  reply.body = *std::move(octets);
  return reply;
}

absl::StatusOr<FixedReply> FixedReply::UserException(std::string_view text) {
  FixedReply reply;
  if (text.starts_with("IDL:")) {
    cdr::ByteBuffer body;
    cdr::Encoder(&body).WriteString(text);
    reply.body = std::string(body.view());
    if (reply.body.size() > kMostOctets) {
      return absl::InvalidArgumentError("the repository id is too long");
    }
  } else {
    absl::StatusOr<FixedReply> octets = Result(text);
    if (octets.ok()) reply = *std::move(octets);
    cdr::Decoder in(reply.body, reply.order);
    const bool has_id = !in.ReadString().empty();
    if (!has_id || !in.ok()) {
      return absl::InvalidArgumentError(
          "it must be a repository id such as IDL:acme/Closed:1.0, or the octets of one as a CDR "
          "string and of the members, two hexadecimal digits each");
    }
  }
  reply.status = orb::ReplyStatus::kUserException;
  return reply;
}

Verdict FixedReply::SetBody(std::string_view bytes, Phase phase, orb::Call* call) const {
  call->SetBorrowedBody(status, bytes);
  call->reply().body.order = order;
  if (phase == Phase::kUp) return Verdict::kBounce;
  return status == orb::ReplyStatus::kNoException ? Verdict::kPass : Verdict::kRaise;
}

}  // namespace weir::filters
