#include "orb/giop/codec.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "orb/giop/fast_path.h"
#include "orb/giop/fragmenter.h"
#include "orb/giop/header.h"
#include "orb/giop/locate.h"
#include "orb/giop/reply.h"

namespace weir::giop {
namespace {

using orb::Incoming;
using orb::Role;
using Kind = orb::Incoming::Kind;

std::string DescribeMalformed(const Header& header, Malformed what) {
  return absl::StrFormat("malformed %s (GIOP 1.%d, %d bytes): %s: %s", MessageTypeName(header.type),
                         static_cast<int>(header.minor), header.total(), what.part,
                         cdr::DecodeErrorText(what.error));
}

// Bytes of the longest message that is sent, and in one piece.
size_t MostUnfragmented(const Limits& limits) {
  if (limits.fragment_size == 0) return limits.max_message_size;
  return std::min(Fragment12Size(limits.fragment_size), limits.max_message_size);
}

// What the last call handed out is not held any longer.
void Reset(Incoming* out) {
  if (out->request.body.block) out->request.body.block.reset();
  if (out->reply.body.block) out->reply.body.block.reset();
  if (!out->error.empty()) out->error.clear();
  out->farewell.Clear();
  out->need = 0;
  out->wire_size = 0;
}

}  // namespace

GiopCodec::GiopCodec(Role role, std::shared_ptr<Giop::Shared> shared)
    : role_(role),
      shared_(std::move(shared)),
      most_unfragmented_(MostUnfragmented(shared_->limits)),
      reassembler_(limits(), &shared_->budget),
      // Only 1.2 lets a client close; a server may have a peer of any version.
      peer_minor_(role == Role::kClient ? GiopMinor::k2 : GiopMinor::k0) {}

bool GiopCodec::Accepts(MessageType type) const {
  constexpr unsigned kFromClient = 1 << static_cast<int>(MessageType::kRequest) |
                                   1 << static_cast<int>(MessageType::kCancelRequest) |
                                   1 << static_cast<int>(MessageType::kLocateRequest);
  constexpr unsigned kFromServer =
      1 << static_cast<int>(MessageType::kReply) | 1 << static_cast<int>(MessageType::kLocateReply);
  const unsigned refused = role_ == Role::kServer ? kFromServer : kFromClient;
  return (refused >> static_cast<int>(type) & 1) == 0;
}

size_t GiopCodec::Decode(const cdr::BlockRef& block, std::string_view bytes, Incoming* out) {
  Reset(out);
  if (const size_t consumed = DecodeFast(block, bytes, out)) [[likely]]
    return consumed;
  return DecodeAny(block, bytes, out);
}

size_t GiopCodec::DecodeAny(const cdr::BlockRef& block, std::string_view bytes, Incoming* out) {
  Message message;
  Header& header = message.header;
  const HeaderError error = DecodeHeader(bytes, &header);
  if (error != HeaderError::kNone) [[unlikely]] {
    if (error == HeaderError::kTooShort) {
      out->kind = Kind::kNeedMore;
      out->need = kHeaderSize;
      return 0;
    }
    Fail(header.minor, std::string(HeaderErrorText(error)), out);
    return bytes.size();
  }
  // All that the header can tell is judged before the rest is waited for.
  if (header.total() > limits().max_message_size) [[unlikely]] {
    Fail(header.minor,
         absl::StrFormat("%s of %d bytes, over the limit of %d", MessageTypeName(header.type),
                         header.total(), limits().max_message_size),
         out);
    return bytes.size();
  }
  if (!Accepts(header.type)) [[unlikely]] {
    Fail(header.minor,
         absl::StrFormat("%s sent to a %s", MessageTypeName(header.type),
                         role_ == Role::kServer ? "server" : "client"),
         out);
    return bytes.size();
  }
  if (bytes.size() < header.total()) {
    out->kind = Kind::kNeedMore;
    out->need = header.total();
    return 0;
  }
  peer_minor_.store(header.minor, std::memory_order_relaxed);
  const size_t total = header.total();
  message.bytes = bytes.substr(0, total);
  out->wire_size = total;
  if (header.more || header.type == MessageType::kFragment) [[unlikely]] {
    Message whole;
    if (Gather(header, message.bytes, &whole, out)) DecodeWhole(whole, out);
    return total;
  }
  message.block = block;
  DecodeWhole(message, out);
  return total;
}

size_t GiopCodec::DecodeFast(const cdr::BlockRef& block, std::string_view bytes, Incoming* out) {
  if (!reassembler_.empty()) return 0;
  cdr::ByteOrder order;
  size_t total;
  if (role_ == Role::kServer) {
    if (!IsWhole12(bytes, MessageType::kRequest, limits().max_message_size, &order, &total) ||
        !FastDecodeRequest12(bytes.substr(0, total), order, limits(), &out->id, &out->request)) {
      return 0;
    }
    out->kind = Kind::kRequest;
    out->request.body.block = block;
  } else {
    if (!IsWhole12(bytes, MessageType::kReply, limits().max_message_size, &order, &total) ||
        !FastDecodeReply12(bytes.substr(0, total), order, &out->id, &out->reply)) {
      return 0;
    }
    out->kind = Kind::kReply;
    out->reply.body.block = block;
  }
  peer_minor_.store(GiopMinor::k2, std::memory_order_relaxed);
  out->wire_size = total;
  return total;
}

bool GiopCodec::Gather(const Header& header, std::string_view piece, Message* whole,
                       Incoming* out) {
  switch (reassembler_.Add(header, piece, whole, &out->wire_size, &out->error)) {
    case Reassembler::Outcome::kComplete:
      return true;
    case Reassembler::Outcome::kPartial:
      // Its bytes count when the message is complete.
      out->wire_size = 0;
      [[fallthrough]];
    case Reassembler::Outcome::kUnknown:
      out->kind = Kind::kIgnored;
      return false;
    case Reassembler::Outcome::kError:
      Fail(header.minor, std::move(out->error), out);
      return false;
  }
  return false;
}

void GiopCodec::DecodeWhole(const Message& message, Incoming* out) {
  const Header& header = message.header;
  if (!reassembler_.empty() && header.type <= MessageType::kLocateReply &&
      header.type != MessageType::kCancelRequest) [[unlikely]] {
    if (const char* wrong = reassembler_.Interleaves(header, message.bytes)) {
      return Fail(header.minor, wrong, out);
    }
  }
  switch (header.type) {
    case MessageType::kRequest:
      return DecodeRequestMessage(message, out);
    case MessageType::kReply: {
      out->kind = Kind::kReply;
      out->reply.Clear();
      const Malformed bad = DecodeReply(message, limits(), &out->id, &out->reply);
      if (bad) [[unlikely]]
        FailMalformed(header, bad, out);
      return;
    }
    case MessageType::kLocateRequest: {
      out->kind = Kind::kLocateRequest;
      out->request.Clear();
      const Malformed bad = DecodeLocateRequest(message, limits(), &out->id, &out->request);
      if (bad) [[unlikely]]
        FailMalformed(header, bad, out);
      return;
    }
    case MessageType::kLocateReply: {
      out->kind = Kind::kLocateReply;
      out->reply.Clear();
      const Malformed bad =
          DecodeLocateReply(message, &out->id, &out->locate_status, &out->reply.body);
      if (bad) [[unlikely]]
        FailMalformed(header, bad, out);
      return;
    }
    case MessageType::kCancelRequest: {
      const Malformed bad = DecodeCancelRequest(message, &out->id);
      if (bad) return FailMalformed(header, bad, out);
      out->kind = Kind::kCancel;
      reassembler_.Cancel(out->id);
      return;
    }
    case MessageType::kCloseConnection:
      out->kind = Kind::kClose;
      return;
    case MessageType::kMessageError:
      out->kind = Kind::kError;
      out->error = absl::StrFormat("the peer answered MessageError (GIOP 1.%d)",
                                   static_cast<int>(header.minor));
      return;
    case MessageType::kFragment:
      break;  // gathered before it comes here
  }
  Fail(header.minor, "fragment out of turn", out);
}

void GiopCodec::DecodeRequestMessage(const Message& message, Incoming* out) {
  out->kind = Kind::kRequest;
  out->request.Clear();
  std::optional<uint32_t> id;
  const Malformed bad = DecodeRequest(message, limits(), &id, &out->request);
  if (id.has_value()) out->id = *id;
  if (!bad) [[likely]]
    return;
  if (!id.has_value()) return FailMalformed(message.header, bad, out);
  const bool response_expected = out->request.response_expected;
  out->request.Clear();
  out->request.minor = message.header.minor;
  out->request.response_expected = response_expected;
  out->kind = Kind::kReject;
  out->exception = {orb::ExceptionId::kMarshal, orb::WeirMinor::kMalformed, orb::Completion::kNo};
  out->error = DescribeMalformed(message.header, bad);
}

void GiopCodec::Fail(GiopMinor minor, std::string error, Incoming* out) {
  out->kind = Kind::kError;
  out->error = std::move(error);
  out->farewell.Clear();
  AppendBareMessage(MessageType::kMessageError, minor, &out->farewell);
}

void GiopCodec::FailMalformed(const Header& header, Malformed what, Incoming* out) {
  Fail(header.minor, DescribeMalformed(header, what), out);
}

absl::Status GiopCodec::FinishMessage(MessageType type, size_t start, GiopMinor minor,
                                      const orb::Body& body, absl::Status encoded,
                                      cdr::ByteBuffer* out) const {
  if (!encoded.ok()) [[unlikely]] {
    out->Truncate(start);
    return encoded;
  }
  const auto completed = type == MessageType::kReply ? orb::Completion::kYes : orb::Completion::kNo;
  const size_t size = out->size() - start;
  if (size > limits().max_message_size) [[unlikely]] {
    out->Truncate(start);
    return orb::ToStatus({orb::ExceptionId::kMarshal, orb::WeirMinor::kMessageTooBig, completed},
                         absl::StrFormat("%s of %d bytes, over the limit of %d",
                                         MessageTypeName(type), size, limits().max_message_size));
  }
  if (body.restarts.count != 0) [[unlikely]] {
    if (minor != GiopMinor::k1) {
      out->Truncate(start);
      return AlignmentError(minor, body, completed);
    }
    Fragment11(start, body.order, size - body.bytes.size(), body.restarts, out);
  } else if (limits().fragment_size != 0 && minor == GiopMinor::k2) {
    // In larger pieces if there were more than a peer with our limits takes: half as many do.
    const size_t least = size / (limits().max_fragments / 2 + 1) + 32;
    Fragment12(start, body.order, std::max(limits().fragment_size, least), out);
  }
  return absl::OkStatus();
}

absl::Status GiopCodec::EncodeRequest(uint32_t id, const orb::Request& request,
                                      cdr::ByteBuffer* out) const {
  if (request.minor == GiopMinor::k2 && FastEncodeRequest12(id, request, most_unfragmented_, out))
      [[likely]] {
    return absl::OkStatus();
  }
  const size_t start = out->size();
  return FinishMessage(MessageType::kRequest, start, request.minor, request.body,
                       giop::EncodeRequest(id, request, out), out);
}

absl::Status GiopCodec::EncodeReply(uint32_t id, GiopMinor minor, const orb::Reply& reply,
                                    cdr::ByteBuffer* out) const {
  if (minor == GiopMinor::k2 && FastEncodeReply12(id, reply, most_unfragmented_, out)) [[likely]] {
    return absl::OkStatus();
  }
  const size_t start = out->size();
  return FinishMessage(MessageType::kReply, start, minor, reply.body,
                       giop::EncodeReply(id, minor, reply, out), out);
}

void GiopCodec::EncodeLocateRequest(uint32_t id, GiopMinor minor, std::string_view object_key,
                                    cdr::ByteBuffer* out) const {
  giop::EncodeLocateRequest(id, minor, object_key, out);
}

void GiopCodec::EncodeLocateReply(uint32_t id, GiopMinor minor, orb::LocateStatus status,
                                  const orb::Body& body, cdr::ByteBuffer* out) const {
  giop::EncodeLocateReply(id, minor, status, body, out);
}

void GiopCodec::EncodeCancel(uint32_t id, GiopMinor minor, cdr::ByteBuffer* out) const {
  EncodeCancelRequest(id, minor, out);
}

void GiopCodec::EncodeClose(cdr::ByteBuffer* out) const {
  AppendBareMessage(MessageType::kCloseConnection, peer_minor_.load(std::memory_order_relaxed),
                    out);
}

}  // namespace weir::giop
