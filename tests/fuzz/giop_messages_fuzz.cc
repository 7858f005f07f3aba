// One message of any type, version and byte order. What decodes is encoded again, and that decodes
// to the same.
//
// Input: octet 0 is the type, octet 1 the minor version, octet 2 the byte order (each modulo what
// there is); the rest follows the message header, which is made up to fit.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "orb/cdr/block.h"
#include "orb/core/codec.h"
#include "orb/giop/fast_path.h"
#include "orb/giop/giop.h"
#include "orb/giop/header.h"
#include "orb/giop/reply.h"
#include "orb/giop/request.h"

namespace weir {
namespace {

using Kind = orb::Incoming::Kind;

void Require(bool what) {
  if (!what) abort();
}

bool Same(const std::vector<orb::ServiceContext>& a, const std::vector<orb::ServiceContext>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].id != b[i].id || a[i].data != b[i].data) return false;
  }
  return true;
}

bool Same(const orb::Body& a, const orb::Body& b) {
  if (a.bytes.empty() && b.bytes.empty()) return true;
  return a.bytes == b.bytes && a.order == b.order && a.alignment == b.alignment;
}

// Feeds one whole message.
void Feed(std::string_view bytes, orb::Codec* codec, orb::Incoming* in) {
  const cdr::BlockRef block = cdr::BlockRef::Allocate(cdr::Block::kStandardSize + 1 + bytes.size());
  uint8_t* const at = block->data() + block->capacity() - bytes.size();
  std::memcpy(at, bytes.data(), bytes.size());
  const size_t consumed =
      codec->Decode(block, {reinterpret_cast<const char*>(at), bytes.size()}, in);
  Require(consumed == bytes.size());
}

// Encodes what `in` holds; false if it is nothing that is sent on.
bool EncodeAgain(const orb::Incoming& in, giop::GiopMinor minor, const orb::Codec& codec,
                 cdr::ByteBuffer* out) {
  switch (in.kind) {
    case Kind::kRequest:
      Require(codec.EncodeRequest(in.id, in.request, out).ok());
      return true;
    case Kind::kReply:
      Require(codec.EncodeReply(in.id, minor, in.reply, out).ok());
      return true;
    case Kind::kLocateRequest:
      codec.EncodeLocateRequest(in.id, minor, in.request.object_key, out);
      return true;
    case Kind::kLocateReply:
      codec.EncodeLocateReply(in.id, minor, in.locate_status, in.reply.body, out);
      return true;
    case Kind::kCancel:
      codec.EncodeCancel(in.id, minor, out);
      return true;
    default:
      return false;
  }
}

bool Same(const orb::Request& a, const orb::Request& b) {
  return a.object_key == b.object_key && a.operation == b.operation && a.principal == b.principal &&
         a.response_expected == b.response_expected && a.minor == b.minor &&
         a.deadline == b.deadline && Same(a.contexts, b.contexts) && Same(a.body, b.body);
}

// What the fast path accepts, the general functions decode to the same, and encode to the same.
void CheckFastPath(std::string_view bytes, const giop::Header& header) {
  const giop::Limits limits;
  const giop::Message message{header, bytes, {}, {}};
  cdr::ByteBuffer fast_out, out;
  if (header.type == giop::MessageType::kRequest) {
    uint32_t fast_id;
    std::optional<uint32_t> id;
    orb::Request fast, request;
    const bool is_fast = giop::FastDecodeRequest12(bytes, header.order, limits, &fast_id, &fast);
    const giop::Malformed bad = giop::DecodeRequest(message, limits, &id, &request);
    if (is_fast) Require(!bad && id == fast_id && Same(fast, request));
    if (bad || !giop::FastEncodeRequest12(*id, request, SIZE_MAX, &fast_out)) return;
    Require(giop::EncodeRequest(*id, request, &out).ok());
  } else {
    uint32_t fast_id, id;
    orb::Reply fast, reply;
    const bool is_fast = giop::FastDecodeReply12(bytes, header.order, &fast_id, &fast);
    const giop::Malformed bad = giop::DecodeReply(message, limits, &id, &reply);
    if (is_fast) {
      Require(!bad && id == fast_id && fast.status == reply.status);
      Require(Same(fast.contexts, reply.contexts) && Same(fast.body, reply.body));
    }
    if (bad || !giop::FastEncodeReply12(id, reply, SIZE_MAX, &fast_out)) return;
    Require(giop::EncodeReply(id, giop::GiopMinor::k2, reply, &out).ok());
  }
  Require(fast_out.view() == out.view());
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  if (size < 3) return 0;
  giop::Header header;
  header.type = static_cast<giop::MessageType>(data[0] % 7);
  header.minor = static_cast<giop::GiopMinor>(data[1] % 3);
  header.order = static_cast<cdr::ByteOrder>(data[2] % 2);
  header.size = static_cast<uint32_t>(size - 3);
  cdr::ByteBuffer wire;
  giop::AppendHeader(header, &wire);
  wire.Append({reinterpret_cast<const char*>(data) + 3, size - 3});

  if (header.type <= giop::MessageType::kReply && header.minor == giop::GiopMinor::k2) {
    CheckFastPath(wire.view(), header);
  }
  giop::Giop giop;
  for (const orb::Role role : {orb::Role::kServer, orb::Role::kClient}) {
    const std::unique_ptr<orb::Codec> codec = giop.NewCodec(role);
    orb::Incoming first, second;
    Feed(wire.view(), codec.get(), &first);
    Require(first.kind != Kind::kNeedMore && first.kind != Kind::kIgnored);
    Require((first.kind == Kind::kError || first.kind == Kind::kReject) == !first.error.empty());
    cdr::ByteBuffer again;
    if (!EncodeAgain(first, header.minor, *codec, &again)) continue;
    Feed(again.view(), codec.get(), &second);
    Require(second.kind == first.kind && second.id == first.id);
    Require(second.request.object_key == first.request.object_key);
    Require(second.request.operation == first.request.operation);
    Require(second.request.principal == first.request.principal);
    Require(second.request.response_expected == first.request.response_expected);
    Require(second.request.minor == first.request.minor);
    Require(Same(second.request.contexts, first.request.contexts));
    Require(Same(second.request.body, first.request.body));
    Require(second.reply.status == first.reply.status);
    Require(second.locate_status == first.locate_status);
    Require(Same(second.reply.contexts, first.reply.contexts));
    Require(Same(second.reply.body, first.reply.body));
    // What we encode ourselves no longer changes.
    cdr::ByteBuffer third;
    EncodeAgain(second, header.minor, *codec, &third);
    Require(third.view() == again.view());
  }
  return 0;
}
