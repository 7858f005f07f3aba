// The messages that nearly all traffic consists of, read and written in one pass: unfragmented
// GIOP 1.2 requests addressed by key, and replies, with a body that is 8-aligned. Each function
// does what its general counterpart (request.h, reply.h) does, or nothing; then that one is asked,
// which also knows what is wrong. Here no Decoder or Encoder lives in memory, which saves two
// thirds of the instructions.
//
// Thread safety: pure functions.

#ifndef WEIR_ORB_GIOP_FAST_PATH_H_
#define WEIR_ORB_GIOP_FAST_PATH_H_

#include <cstdint>
#include <cstring>
#include <string_view>

#include "orb/cdr/byte_buffer.h"
#include "orb/core/message.h"
#include "orb/giop/header.h"
#include "orb/giop/limits.h"

namespace weir::giop {

// Whether `bytes` begin with the header of an unfragmented GIOP 1.2 message of this type and with
// all of the message, which is not over the limit. Sets `*order` and `*total`, its length.
inline bool IsWhole12(std::string_view bytes, MessageType type, size_t max_message_size,
                      cdr::ByteOrder* order, size_t* total) {
  if (bytes.size() < kHeaderSize) return false;
  const auto* const at = reinterpret_cast<const uint8_t*>(bytes.data());
  // The first eight octets, but for the byte order bit.
  const uint8_t expected[8] = {'G', 'I', 'O', 'P', 1, 2, 0, static_cast<uint8_t>(type)};
  constexpr uint8_t kMask[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff};
  uint64_t seen, wanted, mask;
  std::memcpy(&seen, at, sizeof seen);
  std::memcpy(&wanted, expected, sizeof wanted);
  std::memcpy(&mask, kMask, sizeof mask);
  if (((seen ^ wanted) & mask) != 0) return false;
  *order = static_cast<cdr::ByteOrder>(at[6] & 1);
  uint32_t size;
  std::memcpy(&size, at + 8, sizeof size);
  if (*order != cdr::kNativeOrder) size = cdr::SwapBytes(size);
  *total = size_t{size} + kHeaderSize;
  return *total <= bytes.size() && *total <= max_message_size;
}

// `message` is as IsWhole12 found it. Sets `*id` and all of `*request` but its body's block. On
// false, `*request` is in an unspecified state.
bool FastDecodeRequest12(std::string_view message, cdr::ByteOrder order, const Limits& limits,
                         uint32_t* id, orb::Request* request);
bool FastDecodeReply12(std::string_view message, cdr::ByteOrder order, uint32_t* id,
                       orb::Reply* reply);

// Appends the message, unless it has contexts, an unaligned body, or more than `most` bytes.
bool FastEncodeRequest12(uint32_t id, const orb::Request& request, size_t most,
                         cdr::ByteBuffer* out);
bool FastEncodeReply12(uint32_t id, const orb::Reply& reply, size_t most, cdr::ByteBuffer* out);

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_FAST_PATH_H_
