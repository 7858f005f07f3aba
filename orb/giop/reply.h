// Reply (CORBA 3.3 part 2, 9.4.3) in its versions:
//
//   1.0, 1.1  contexts, ulong id, ulong status | body
//   1.2       ulong id, ulong status, contexts | align 8 | body
//
// Thread safety: pure functions.

#ifndef WEIR_ORB_GIOP_REPLY_H_
#define WEIR_ORB_GIOP_REPLY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "orb/cdr/byte_buffer.h"
#include "orb/core/message.h"
#include "orb/giop/body.h"
#include "orb/giop/limits.h"
#include "orb/giop/request.h"

namespace weir::giop {

// Decodes `message` into `*id` and `*reply`, which is clear.
Malformed DecodeReply(const Message& message, const Limits& limits, uint32_t* id,
                      orb::Reply* reply);

// Appends a reply as one unfragmented message in version 1.`minor`, without a limit. What
// version 1.0 and 1.1 lack: LOCATION_FORWARD_PERM is sent as LOCATION_FORWARD, and
// NEEDS_ADDRESSING_MODE is an error. Other error: the body's alignment cannot be kept
// (modulo 8; modulo 4 if it is a system exception or a reference, which need no more).
absl::Status EncodeReply(uint32_t id, GiopMinor minor, const orb::Reply& reply,
                         cdr::ByteBuffer* out);

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_REPLY_H_
