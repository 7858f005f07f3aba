// Request (CORBA 3.3 part 2, 9.4.2) in its three versions:
//
//   1.0  contexts, ulong id, boolean response_expected,           key, operation, principal | body
//   1.1  contexts, ulong id, boolean response_expected, octet[3], key, operation, principal | body
//   1.2  ulong id, octet response_flags, octet[3], TargetAddress, operation, contexts | 8 | body
//
// Thread safety: pure functions.

#ifndef WEIR_ORB_GIOP_REQUEST_H_
#define WEIR_ORB_GIOP_REQUEST_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "orb/cdr/byte_buffer.h"
#include "orb/core/message.h"
#include "orb/giop/body.h"
#include "orb/giop/limits.h"

namespace weir::giop {

// What is wrong with a message: the part of it, and what.
struct Malformed {
  const char* part = nullptr;  // null: nothing is wrong
  cdr::DecodeError error = cdr::DecodeError::kNone;

  explicit operator bool() const { return part != nullptr; }
};

// Decodes `message` into `*request`, which is clear. `*id` is set as soon as it is known, even if
// what follows is malformed; so are request->response_expected and minor.
Malformed DecodeRequest(const Message& message, const Limits& limits, std::optional<uint32_t>* id,
                        orb::Request* request);

// Appends a request as one unfragmented message in the version request.minor, without a limit.
// Error: the body's alignment cannot be kept.
absl::Status EncodeRequest(uint32_t id, const orb::Request& request, cdr::ByteBuffer* out);

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_REQUEST_H_
