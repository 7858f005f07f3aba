#include "filters/builtin/call_words.h"

#include <algorithm>

#include "orb/cdr/decoder.h"
#include "orb/core/system_exception.h"

namespace weir::filters {
namespace {

using orb::ReplyStatus;

std::string_view StatusName(ReplyStatus status) {
  switch (status) {
    case ReplyStatus::kNoException:
      return "NO_EXCEPTION";
    case ReplyStatus::kUserException:
      return "USER_EXCEPTION";
    case ReplyStatus::kSystemException:
      return "SYSTEM_EXCEPTION";
    case ReplyStatus::kLocationForward:
      return "LOCATION_FORWARD";
    case ReplyStatus::kLocationForwardPerm:
      return "LOCATION_FORWARD_PERM";
    case ReplyStatus::kNeedsAddressingMode:
      return "NEEDS_ADDRESSING_MODE";
  }
  return "UNKNOWN";
}

std::string_view CompletionName(orb::Completion completed) {
  switch (completed) {
    case orb::Completion::kYes:
      return "YES";
    case orb::Completion::kNo:
      return "NO";
    case orb::Completion::kMaybe:
      break;
  }
  return "MAYBE";
}

void AddException(const orb::Reply& reply, LogLine* line) {
  cdr::Decoder in = reply.body.decoder();
  if (reply.status == ReplyStatus::kSystemException) {
    const orb::SystemException e = orb::DecodeSystemException(&in);
    line->Add("exception", orb::ExceptionName(e.id));
    line->Add("minor", e.minor);
    line->Add("completed", CompletionName(e.completed));
  } else if (reply.status == ReplyStatus::kUserException) {
    line->Add("exception", in.ReadString());  // the repository id
  }
}

}  // namespace

void AddCall(const orb::Call& call, std::string_view plug, LogLine* line) {
  line->Add("plug", plug);
  line->Add("call", call.id());
  line->Add("peer", call.peer().transport, call.peer().address);
  line->Add("key", call.request().object_key);
  line->Add("operation", call.request().operation);
}

void AddOutcome(const orb::Call& call, const Clock& clock, LogLine* line) {
  line->Add("status", StatusName(call.reply().status));
  AddException(call.reply(), line);
  const Nanos began = call.gate_state().began;
  if (began == 0) return;
  const Nanos took = std::max<Nanos>(clock.Now() - began, 0);
  line->Add("microseconds", static_cast<uint64_t>(took / kMicrosecond));
}

void AddBody(const orb::Body& body, size_t most, LogLine* line) {
  line->Add("size", body.bytes.size());
  line->Add("order", body.order == cdr::ByteOrder::kLittle ? "little" : "big");
  line->AddHex("body", body.bytes, most);
}

}  // namespace weir::filters
