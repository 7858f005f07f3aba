// Cuts a message that has been encoded as a whole into fragments.
//
// Thread safety: pure functions.

#ifndef WEIR_ORB_GIOP_FRAGMENTER_H_
#define WEIR_ORB_GIOP_FRAGMENTER_H_

#include <cstddef>

#include "orb/cdr/byte_buffer.h"
#include "orb/cdr/decoder.h"
#include "orb/giop/header.h"

namespace weir::giop {

// Bytes of each piece but the last when the limit is `fragment_size`: a multiple of 8, at least 64.
constexpr size_t Fragment12Size(size_t fragment_size) {
  return (fragment_size < 64 ? 64 : fragment_size) & ~size_t{7};
}

// Cuts the GIOP 1.2 request or reply that fills `*out` from `start` on into pieces of
// Fragment12Size(fragment_size) bytes (CORBA 3.3 part 2, 9.4.9). Does nothing if it is no longer
// than that.
void Fragment12(size_t start, cdr::ByteOrder order, size_t fragment_size, cdr::ByteBuffer* out);

// Cuts the GIOP 1.1 request or reply that fills `*out` from `start` on just where its body was cut
// when it came: the body begins `body_at` bytes behind `start`, and `restarts` count from there.
void Fragment11(size_t start, cdr::ByteOrder order, size_t body_at, cdr::Restarts restarts,
                cdr::ByteBuffer* out);

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_FRAGMENTER_H_
