// Bodies within messages: taken out of one and put into another at the same alignment.
//
// Thread safety: pure functions.

#ifndef WEIR_ORB_GIOP_BODY_H_
#define WEIR_ORB_GIOP_BODY_H_

#include "absl/status/status.h"
#include "orb/cdr/decoder.h"
#include "orb/core/message.h"
#include "orb/core/system_exception.h"
#include "orb/giop/header.h"

namespace weir::giop {

// One whole message, its fragments gathered.
struct Message {
  Header header;
  // Header included, without the headers of further fragments.
  std::string_view bytes;
  // What `bytes` are in.
  cdr::BlockRef block;
  // GIOP 1.1 fragments only. Offsets into `bytes`; memory in `block`.
  cdr::Restarts restarts;

  // Stands behind the header.
  cdr::Decoder decoder() const {
    cdr::Decoder in(bytes, header.order, 0, restarts);
    in.Skip(kHeaderSize);
    return in;
  }
};

// Sets `*body` to all that `in` has not read of `message`, and lets it keep the block. The body of
// a GIOP 1.2 request or reply is 8-aligned, but only if there is one: `align` is 8 then, or 1.
// Padding that is cut short fails the decoder.
inline void TakeBody(const Message& message, size_t align, cdr::Decoder* in, orb::Body* body) {
  if (in->remaining() == 0) {
    // Keeps the views of the header alive, too.
    body->block = message.block;
    body->order = message.header.order;
    return;
  }
  in->Align(align);
  body->bytes = in->rest();
  body->order = message.header.order;
  body->alignment = static_cast<uint8_t>(in->position() & 7);
  body->block = message.block;
  const cdr::Restarts ahead = in->restarts_ahead();
  if (ahead.count != 0) [[unlikely]] {
    // They count from the message's first byte; let them count from the body's. The memory is the
    // message's own.
    auto* const offsets = const_cast<uint32_t*>(ahead.offsets);
    const auto shift = static_cast<uint32_t>(message.bytes.size() - body->bytes.size());
    for (uint32_t i = 0; i < ahead.count; ++i) offsets[i] -= shift;
    body->restarts = ahead;
  }
}

// The MARSHAL status for a body that cannot be put where `alignment` wants it.
absl::Status AlignmentError(GiopMinor minor, const orb::Body& body, orb::Completion completed);

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_BODY_H_
