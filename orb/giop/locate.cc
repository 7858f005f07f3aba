#include "orb/giop/locate.h"

#include "orb/cdr/encoder.h"
#include "orb/giop/target_address.h"

namespace weir::giop {
namespace {

using orb::LocateStatus;

LocateStatus LastStatus(GiopMinor minor) {
  return minor == GiopMinor::k2 ? LocateStatus::kNeedsAddressingMode : LocateStatus::kObjectForward;
}

}  // namespace

Malformed DecodeLocateRequest(const Message& message, const Limits& limits, uint32_t* id,
                              orb::Request* request) {
  request->minor = message.header.minor;
  cdr::Decoder in = message.decoder();
  *id = in.ReadULong();
  if (!in.ok()) return {"request id", in.error()};
  request->object_key = DecodeTarget(message.header.minor == GiopMinor::k2, &in);
  if (request->object_key.size() > limits.max_key_size) {
    in.Fail(cdr::DecodeError::kSequenceTooLong);
  }
  if (!in.ok()) return {"object key", in.error()};
  request->body.block = message.block;
  request->body.order = message.header.order;
  return {};
}

Malformed DecodeLocateReply(const Message& message, uint32_t* id, LocateStatus* status,
                            orb::Body* body) {
  cdr::Decoder in = message.decoder();
  *id = in.ReadULong();
  if (!in.ok()) return {"request id", in.error()};
  const uint32_t value = in.ReadULong();
  if (value > static_cast<uint32_t>(LastStatus(message.header.minor))) {
    in.Fail(cdr::DecodeError::kBadValue);
  }
  if (!in.ok()) return {"locate status", in.error()};
  *status = static_cast<LocateStatus>(value);
  TakeBody(message, 1, &in, body);
  return {};
}

Malformed DecodeCancelRequest(const Message& message, uint32_t* id) {
  cdr::Decoder in = message.decoder();
  *id = in.ReadULong();
  if (!in.ok()) return {"request id", in.error()};
  return {};
}

void EncodeLocateRequest(uint32_t id, GiopMinor minor, std::string_view object_key,
                         cdr::ByteBuffer* out) {
  const size_t start = out->size();
  cdr::Encoder e(out);
  AppendHeader({.minor = minor, .type = MessageType::kLocateRequest}, out);
  e.WriteULong(id);
  if (minor == GiopMinor::k2) {
    e.WriteUShort(static_cast<uint16_t>(AddressingDisposition::kKey));
  }
  e.WriteOctetSequence(object_key);
  PatchSize(start, e.order(), out);
}

void EncodeLocateReply(uint32_t id, GiopMinor minor, LocateStatus status, const orb::Body& body,
                       cdr::ByteBuffer* out) {
  std::string_view bytes = body.bytes;
  if (status > LastStatus(minor)) {
    if (status == LocateStatus::kObjectForwardPerm) {
      status = LocateStatus::kObjectForward;
    } else {
      status = LocateStatus::kUnknownObject;
      bytes = {};
    }
  }
  const size_t start = out->size();
  cdr::Encoder e(out, body.order);
  AppendHeader({.minor = minor, .order = body.order, .type = MessageType::kLocateReply}, out);
  e.WriteULong(id);
  e.WriteULong(static_cast<uint32_t>(status));
  out->Append(bytes);
  PatchSize(start, body.order, out);
}

void EncodeCancelRequest(uint32_t id, GiopMinor minor, cdr::ByteBuffer* out) {
  const size_t start = out->size();
  cdr::Encoder e(out);
  AppendHeader({.minor = minor, .type = MessageType::kCancelRequest}, out);
  e.WriteULong(id);
  PatchSize(start, e.order(), out);
}

}  // namespace weir::giop
