#include "orb/giop/request.h"

#include <cstring>

#include "orb/cdr/encoder.h"
#include "orb/giop/service_context.h"
#include "orb/giop/target_address.h"

namespace weir::giop {
namespace {

using cdr::DecodeError;

// response_flags of GIOP 1.2 (9.4.2.1). SYNC_WITH_SERVER asks for an empty reply before the servant
// is called; like omniORB we answer it after.
constexpr uint8_t kNoResponse = 0;
constexpr uint8_t kSyncWithServer = 1;
constexpr uint8_t kSyncWithTarget = 3;

// Reads the object key and the operation. Returns the part that is malformed, or null.
const char* DecodeKeyAndOperation(bool is_1_2, const Limits& limits, cdr::Decoder* in,
                                  orb::Request* request) {
  request->object_key = DecodeTarget(is_1_2, in);
  if (request->object_key.size() > limits.max_key_size) in->Fail(DecodeError::kSequenceTooLong);
  if (!in->ok()) return "object key";
  request->operation = in->ReadString();
  if (request->operation.size() > limits.max_operation_size) {
    in->Fail(DecodeError::kSequenceTooLong);
  }
  return in->ok() ? nullptr : "operation";
}

const char* Decode12(const Message& message, const Limits& limits, std::optional<uint32_t>* id,
                     cdr::Decoder* in, orb::Request* request) {
  const uint32_t request_id = in->ReadULong();
  if (!in->ok()) return "request id";
  *id = request_id;
  const uint8_t flags = in->ReadOctet();
  request->response_expected = flags != kNoResponse || !in->ok();
  if (flags != kNoResponse && flags != kSyncWithServer && flags != kSyncWithTarget) {
    in->Fail(DecodeError::kBadValue);
  }
  in->Skip(3);
  if (!in->ok()) return "response flags";
  if (const char* part = DecodeKeyAndOperation(true, limits, in, request)) return part;
  DecodeServiceContexts(in, limits.max_service_contexts, &request->contexts);
  if (!in->ok()) return "service contexts";
  TakeBody(message, 8, in, &request->body);
  return in->ok() ? nullptr : "padding";
}

const char* Decode10And11(const Message& message, const Limits& limits, std::optional<uint32_t>* id,
                          cdr::Decoder* in, orb::Request* request) {
  DecodeServiceContexts(in, limits.max_service_contexts, &request->contexts);
  if (!in->ok()) return "service contexts";
  const uint32_t request_id = in->ReadULong();
  if (!in->ok()) return "request id";
  *id = request_id;
  request->response_expected = in->ReadBoolean() || !in->ok();
  if (message.header.minor == GiopMinor::k1) in->Skip(3);
  if (!in->ok()) return "response flag";
  if (const char* part = DecodeKeyAndOperation(false, limits, in, request)) return part;
  request->principal = in->ReadOctetSequence();
  if (!in->ok()) return "principal";
  TakeBody(message, 1, in, &request->body);
  return nullptr;
}

}  // namespace

Malformed DecodeRequest(const Message& message, const Limits& limits, std::optional<uint32_t>* id,
                        orb::Request* request) {
  request->minor = message.header.minor;
  cdr::Decoder in = message.decoder();
  const char* const part = message.header.minor == GiopMinor::k2
                               ? Decode12(message, limits, id, &in, request)
                               : Decode10And11(message, limits, id, &in, request);
  return {part, in.error()};
}

absl::Status EncodeRequest(uint32_t id, const orb::Request& request, cdr::ByteBuffer* out) {
  const orb::Body& body = request.body;
  const size_t start = out->size();
  cdr::Encoder e(out, body.order);
  AppendHeader({.minor = request.minor, .order = body.order, .type = MessageType::kRequest}, out);
  if (request.minor == GiopMinor::k2) {
    if (!body.bytes.empty() && body.alignment != 0)
      return AlignmentError(request.minor, body, orb::Completion::kNo);
    e.WriteULong(id);
    // The flags, reserved octets, the disposition of a key and its padding.
    const uint8_t fixed[8] = {request.response_expected ? kSyncWithTarget : kNoResponse};
    std::memcpy(out->Extend(sizeof fixed), fixed, sizeof fixed);
    e.WriteOctetSequence(request.object_key);
    e.WriteString(request.operation);
    EncodeServiceContexts(request.contexts, &e);
    if (!body.bytes.empty()) e.Align(8);
  } else {
    EncodeServiceContexts(request.contexts, &e);
    e.WriteULong(id);
    e.WriteBoolean(request.response_expected);
    if (request.minor == GiopMinor::k1) e.WriteOctets({"\0\0\0", 3});
    e.WriteOctetSequence(request.object_key);
    e.WriteString(request.operation);
    // The body follows the principal without padding, so zeroes that nobody minds at the
    // principal's end put the body where its alignment wants it.
    e.Align(4);
    const size_t body_at = e.position() + 4 + request.principal.size();
    const size_t pad = body.bytes.empty() ? 0 : (body.alignment - body_at) & 7;
    e.WriteULong(static_cast<uint32_t>(request.principal.size() + pad));
    e.WriteOctets(request.principal);
    std::memset(out->Extend(pad), 0, pad);
  }
  out->Append(body.bytes);
  PatchSize(start, body.order, out);
  return absl::OkStatus();
}

}  // namespace weir::giop
