// The 12 bytes that open every GIOP message (CORBA 3.3 part 2, 9.4.1).
//
//   0  'G' 'I' 'O' 'P'
//   4  major version, 1       5  minor version, 0 to 2
//   6  1.0: boolean byte_order; 1.1 and 1.2: flags, bit 0 = little-endian, bit 1 = more fragments
//   7  message type
//   8  ulong message_size, in that byte order: bytes after these 12
//
// Thread safety: values and pure functions.

#ifndef WEIR_ORB_GIOP_HEADER_H_
#define WEIR_ORB_GIOP_HEADER_H_

#include <cstdint>
#include <string_view>

#include "orb/cdr/byte_buffer.h"
#include "orb/cdr/byte_order.h"
#include "orb/core/message.h"

namespace weir::giop {

using orb::GiopMinor;

inline constexpr size_t kHeaderSize = 12;

enum class MessageType : uint8_t {
  kRequest = 0,
  kReply = 1,
  kCancelRequest = 2,
  kLocateRequest = 3,
  kLocateReply = 4,
  kCloseConnection = 5,
  kMessageError = 6,
  kFragment = 7,
};

// "LocateRequest"
std::string_view MessageTypeName(MessageType type);

struct Header {
  GiopMinor minor = GiopMinor::k2;
  cdr::ByteOrder order = cdr::kNativeOrder;
  bool more = false;
  MessageType type = MessageType::kRequest;
  uint32_t size = 0;

  // Of the message or fragment on the wire, its header included.
  uint64_t total() const { return uint64_t{size} + kHeaderSize; }
};

enum class HeaderError : uint8_t {
  kNone,
  kTooShort,  // so far nothing wrong, but not 12 bytes yet
  kMagic,
  kVersion,
  kFlags,
  kType,
  kMore,  // "more fragments" on a message that cannot have any in this version
};

// English, for logs.
std::string_view HeaderErrorText(HeaderError error);

// Reads the header at the front of `bytes`. On an error other than kTooShort, `*out` is filled as
// far as was understood; its minor is then one that the peer can read.
HeaderError DecodeHeader(std::string_view bytes, Header* out);

// Appends the header; its size may be wrong as long as PatchSize corrects it.
void AppendHeader(const Header& header, cdr::ByteBuffer* out);
// Sets the size of the message that begins at `start` and ends with the buffer.
void PatchSize(size_t start, cdr::ByteOrder order, cdr::ByteBuffer* out);
// A message that is a header only: CloseConnection or MessageError.
void AppendBareMessage(MessageType type, GiopMinor minor, cdr::ByteBuffer* out);

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_HEADER_H_
