#include "orb/giop/reply.h"

#include <cstring>

#include "orb/cdr/encoder.h"
#include "orb/giop/service_context.h"

namespace weir::giop {
namespace {

using orb::ReplyStatus;

// 1.0 and 1.1 end with LOCATION_FORWARD.
ReplyStatus LastStatus(GiopMinor minor) {
  return minor == GiopMinor::k2 ? ReplyStatus::kNeedsAddressingMode : ReplyStatus::kLocationForward;
}

// What the body's position must keep its remainder by. Results and user exceptions may hold
// anything; a system exception, a reference and an addressing mode hold no 8-byte primitive.
size_t AlignmentOf(ReplyStatus status) { return status <= ReplyStatus::kUserException ? 8 : 4; }

const char* DecodeIdAndStatus(const Message& message, cdr::Decoder* in, uint32_t* id,
                              orb::Reply* reply) {
  *id = in->ReadULong();
  if (!in->ok()) return "request id";
  const uint32_t status = in->ReadULong();
  if (status > static_cast<uint32_t>(LastStatus(message.header.minor))) {
    in->Fail(cdr::DecodeError::kBadValue);
  }
  if (!in->ok()) return "reply status";
  reply->status = static_cast<ReplyStatus>(status);
  return nullptr;
}

// Writes the contexts of a 1.0 or 1.1 reply so that what follows the id and status lies where
// `body` wants it. Returns false if that cannot be.
bool EncodePaddedContexts(const orb::Reply& reply, cdr::ByteBuffer* out, cdr::Encoder* e) {
  const size_t count_at = out->size();
  EncodeServiceContexts(reply.contexts, e);
  e->Align(4);
  if (reply.body.bytes.empty()) return true;
  const size_t off = (reply.body.alignment - (e->position() + 8)) & (AlignmentOf(reply.status) - 1);
  if (off == 0) return true;
  if (off != 4) return false;
  // One more context, of 8 + 4 bytes, moves the body by 4.
  e->WriteULong(kPaddingContextId);
  e->WriteOctetSequence({"\0\0\0", 4});
  auto count = static_cast<uint32_t>(reply.contexts.size() + 1);
  if (e->order() != cdr::kNativeOrder) count = cdr::SwapBytes(count);
  std::memcpy(out->data() + count_at, &count, sizeof count);
  return true;
}

}  // namespace

Malformed DecodeReply(const Message& message, const Limits& limits, uint32_t* id,
                      orb::Reply* reply) {
  cdr::Decoder in = message.decoder();
  const bool contexts_last = message.header.minor == GiopMinor::k2;
  if (contexts_last) {
    if (const char* part = DecodeIdAndStatus(message, &in, id, reply)) return {part, in.error()};
  }
  DecodeServiceContexts(&in, limits.max_service_contexts, &reply->contexts);
  if (!in.ok()) return {"service contexts", in.error()};
  if (!contexts_last) {
    if (const char* part = DecodeIdAndStatus(message, &in, id, reply)) return {part, in.error()};
  }
  TakeBody(message, contexts_last ? 8 : 1, &in, &reply->body);
  if (!in.ok()) return {"padding", in.error()};
  return {};
}

absl::Status EncodeReply(uint32_t id, GiopMinor minor, const orb::Reply& reply,
                         cdr::ByteBuffer* out) {
  const orb::Body& body = reply.body;
  const size_t start = out->size();
  cdr::Encoder e(out, body.order);
  AppendHeader({.minor = minor, .order = body.order, .type = MessageType::kReply}, out);
  if (minor == GiopMinor::k2) {
    if (!body.bytes.empty() && body.alignment % AlignmentOf(reply.status) != 0)
      return AlignmentError(minor, body, orb::Completion::kYes);
    e.WriteULong(id);
    e.WriteULong(static_cast<uint32_t>(reply.status));
    EncodeServiceContexts(reply.contexts, &e);
    if (!body.bytes.empty()) e.Align(8);
  } else {
    if (reply.status == ReplyStatus::kNeedsAddressingMode) {
      return orb::ToStatus(
          {orb::ExceptionId::kMarshal, orb::WeirMinor::kMalformed, orb::Completion::kNo},
          "NEEDS_ADDRESSING_MODE does not exist before GIOP 1.2");
    }
    ReplyStatus status = reply.status;
    // A version without it does not know "permanently"; the target is the same.
    if (status == ReplyStatus::kLocationForwardPerm) status = ReplyStatus::kLocationForward;
    if (!EncodePaddedContexts(reply, out, &e))
      return AlignmentError(minor, body, orb::Completion::kYes);
    e.WriteULong(id);
    e.WriteULong(static_cast<uint32_t>(status));
  }
  out->Append(body.bytes);
  PatchSize(start, body.order, out);
  return absl::OkStatus();
}

}  // namespace weir::giop
