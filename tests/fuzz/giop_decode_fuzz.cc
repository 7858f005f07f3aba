// A stream of octets as a peer may send it, through header, reassembler and messages. However the
// stream is cut when it arrives, the outcome is the same; memory stays in proportion to what
// arrived; all that is handed out can be read.
//
// Input: octet 0 chooses the role (bit 0); octet 1 how the stream is cut; the rest is the stream.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "orb/cdr/block.h"
#include "orb/core/codec.h"
#include "orb/giop/giop.h"

namespace weir {
namespace {

using Kind = orb::Incoming::Kind;

giop::Limits SmallLimits() {
  giop::Limits limits;
  limits.max_message_size = 64 * 1024;
  limits.max_fragments = 16;
  limits.max_partial_messages = 4;
  limits.max_service_contexts = 8;
  limits.max_key_size = 256;
  limits.max_operation_size = 64;
  return limits;
}

void Show(std::string_view bytes, std::string* out) {
  out->append(std::to_string(bytes.size())).append(":").append(bytes).append(";");
}

void Show(const orb::Body& body, std::string* out) {
  Show(body.bytes, out);
  out->append(std::to_string(static_cast<int>(body.order)) + std::to_string(body.alignment));
  for (uint32_t i = 0; i < body.restarts.count; ++i) {
    if (body.restarts.offsets[i] >= body.bytes.size()) abort();
    out->append("/" + std::to_string(body.restarts.offsets[i]));
  }
  // Reads that pass over every restart, whatever they find.
  cdr::Decoder in = body.decoder();
  while (in.ok() && in.remaining() > 0) {
    const size_t before = in.remaining();
    out->append(std::to_string(in.ReadOctet()) + std::to_string(in.ReadULong()));
    in.ReadOctets(in.remaining() < 3 ? in.remaining() : 3);
    in.ReadULongLong();
    if (in.remaining() >= before) abort();
  }
}

// All that an event says, to compare.
std::string Show(const orb::Incoming& in) {
  std::string out = std::to_string(static_cast<int>(in.kind)) + " ";
  out.append(std::to_string(in.wire_size)).append(" ");
  if (in.kind == Kind::kIgnored || in.kind == Kind::kClose) return out;
  if (in.kind != Kind::kError) out.append(std::to_string(in.id));
  Show(in.error, &out);
  Show(in.farewell.view(), &out);
  if (in.kind == Kind::kRequest || in.kind == Kind::kLocateRequest) {
    Show(in.request.object_key, &out);
    Show(in.request.operation, &out);
    Show(in.request.principal, &out);
    for (const orb::ServiceContext& context : in.request.contexts) Show(context.data, &out);
    Show(in.request.body, &out);
  }
  if (in.kind == Kind::kReply || in.kind == Kind::kLocateReply) {
    for (const orb::ServiceContext& context : in.reply.contexts) Show(context.data, &out);
    Show(in.reply.body, &out);
  }
  return out;
}

// Decodes `stream`, which arrives `chunk` octets at a time, up to its end or the first kError.
std::vector<std::string> Run(orb::Role role, std::string_view stream, size_t chunk) {
  giop::Giop giop(SmallLimits());
  std::vector<std::string> events;
  {
    const std::unique_ptr<orb::Codec> codec = giop.NewCodec(role);
    orb::Incoming in;
    size_t begin = 0, arrived = 0;
    while (arrived < stream.size()) {
      arrived = stream.size() - arrived > chunk ? arrived + chunk : stream.size();
      for (;;) {
        // A block of just this size, so that reading on is found out.
        const std::string_view seen = stream.substr(begin, arrived - begin);
        const cdr::BlockRef block =
            cdr::BlockRef::Allocate(cdr::Block::kStandardSize + 1 + seen.size());
        uint8_t* const at = block->data() + block->capacity() - seen.size();
        std::memcpy(at, seen.data(), seen.size());
        const size_t consumed =
            codec->Decode(block, {reinterpret_cast<const char*>(at), seen.size()}, &in);
        if (consumed > seen.size()) abort();
        if (giop.partial_bytes() >
            2 * arrived + SmallLimits().max_partial_messages * cdr::Block::kStandardSize) {
          abort();
        }
        if (in.kind == Kind::kNeedMore) {
          if (consumed != 0 || in.need <= seen.size()) abort();
          break;
        }
        events.push_back(Show(in));
        if (in.kind == Kind::kError) break;
        if (consumed == 0) abort();
        begin += consumed;
      }
      if (in.kind == Kind::kError) break;
    }
  }
  if (giop.partial_bytes() != 0) abort();
  return events;
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  if (size < 2) return 0;
  const orb::Role role = (data[0] & 1) == 0 ? orb::Role::kServer : orb::Role::kClient;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::vector<std::string> whole = Run(role, stream, stream.size() + 1);
  if (Run(role, stream, 1 + data[1]) != whole) abort();
  if (stream.size() <= 256 && Run(role, stream, 1) != whole) abort();
  return 0;
}
