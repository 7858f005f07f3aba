// What the GIOP tests share: a codec fed from strings, and messages put together octet by octet.
//
// Thread safety: none.

#ifndef WEIR_TESTS_UNIT_GIOP_TESTING_H_
#define WEIR_TESTS_UNIT_GIOP_TESTING_H_

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "orb/cdr/block.h"
#include "orb/cdr/encoder.h"
#include "orb/core/codec.h"
#include "orb/giop/giop.h"
#include "orb/giop/header.h"

namespace weir::giop {

using namespace std::literals;
using Kind = orb::Incoming::Kind;

inline constexpr GiopMinor kAllMinors[] = {GiopMinor::k0, GiopMinor::k1, GiopMinor::k2};
inline constexpr cdr::ByteOrder kBothOrders[] = {cdr::ByteOrder::kBig, cdr::ByteOrder::kLittle};

inline cdr::BlockRef BlockOf(std::string_view bytes) {
  cdr::BlockRef block = cdr::BlockRef::Allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(block->data(), bytes.data(), bytes.size());
  return block;
}

// A codec and what it last decoded.
struct Peer {
  explicit Peer(orb::Role role, const Limits& limits = Limits())
      : giop(limits), codec(giop.NewCodec(role)) {}

  // Decodes one message from the front of `bytes`.
  Kind Feed(std::string_view bytes) {
    block = BlockOf(bytes);
    consumed =
        codec->Decode(block, {reinterpret_cast<const char*>(block->data()), bytes.size()}, &in);
    return in.kind;
  }
  std::string_view farewell() const { return in.farewell.view(); }

  Giop giop;
  std::unique_ptr<orb::Codec> codec;
  cdr::BlockRef block;
  orb::Incoming in;
  size_t consumed = 0;
};

// Writes a message by hand.
class Raw {
 public:
  Raw(GiopMinor minor, MessageType type, cdr::ByteOrder order = cdr::kNativeOrder,
      bool more = false)
      : encoder_(&buffer_, order) {
    AppendHeader({.minor = minor, .order = order, .more = more, .type = type}, &buffer_);
  }
  cdr::Encoder* operator->() { return &encoder_; }
  std::string Take() {
    PatchSize(0, encoder_.order(), &buffer_);
    return std::string(buffer_.view());
  }
  // With another size than it has.
  std::string TakeWithSize(uint32_t size) {
    std::string message = Take();
    if (encoder_.order() != cdr::kNativeOrder) size = cdr::SwapBytes(size);
    std::memcpy(message.data() + 8, &size, sizeof size);
    return message;
  }

 private:
  cdr::ByteBuffer buffer_;
  cdr::Encoder encoder_;
};

// A 1.2 request for `key`, up to its service contexts, of which it has none.
inline Raw Request12(uint32_t id, std::string_view key = "key", std::string_view operation = "op",
                     bool more = false, cdr::ByteOrder order = cdr::kNativeOrder) {
  Raw raw(GiopMinor::k2, MessageType::kRequest, order, more);
  raw->WriteULong(id);
  raw->WriteOctets("\x03\0\0\0"sv);
  raw->WriteUShort(0);
  raw->WriteOctetSequence(key);
  raw->WriteString(operation);
  raw->WriteULong(0);
  return raw;
}

inline std::string MessageErrorOf(int minor) {
  return "GIOP\x01"s + static_cast<char>(minor) +
         (cdr::kNativeOrder == cdr::ByteOrder::kLittle ? "\x01"s : "\0"s) + "\x06\0\0\0\0"s;
}

}  // namespace weir::giop

#endif  // WEIR_TESTS_UNIT_GIOP_TESTING_H_
