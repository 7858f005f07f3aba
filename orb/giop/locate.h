// LocateRequest, LocateReply and CancelRequest (CORBA 3.3 part 2, 9.4.4 to 9.4.6):
//
//   LocateRequest  1.0, 1.1: ulong id, key     1.2: ulong id, TargetAddress
//   LocateReply    ulong id, ulong locate_status | body, in no version 8-aligned
//   CancelRequest  ulong id
//
// Thread safety: pure functions.

#ifndef WEIR_ORB_GIOP_LOCATE_H_
#define WEIR_ORB_GIOP_LOCATE_H_

#include <cstdint>
#include <string_view>

#include "orb/cdr/byte_buffer.h"
#include "orb/core/message.h"
#include "orb/giop/body.h"
#include "orb/giop/limits.h"
#include "orb/giop/request.h"

namespace weir::giop {

// Sets the key, the minor version and the body (empty; keeps the block) of `*request`, which is
// clear.
Malformed DecodeLocateRequest(const Message& message, const Limits& limits, uint32_t* id,
                              orb::Request* request);
Malformed DecodeLocateReply(const Message& message, uint32_t* id, orb::LocateStatus* status,
                            orb::Body* body);
Malformed DecodeCancelRequest(const Message& message, uint32_t* id);

void EncodeLocateRequest(uint32_t id, GiopMinor minor, std::string_view object_key,
                         cdr::ByteBuffer* out);
// A status that the version does not have is replaced by the nearest.
// REQUIRES: body.alignment is a multiple of 4, which what a LocateReply may hold needs at most.
void EncodeLocateReply(uint32_t id, GiopMinor minor, orb::LocateStatus status,
                       const orb::Body& body, cdr::ByteBuffer* out);
void EncodeCancelRequest(uint32_t id, GiopMinor minor, cdr::ByteBuffer* out);

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_LOCATE_H_
