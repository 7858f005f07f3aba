#include "orb/giop/header.h"

#include <algorithm>
#include <cstring>

namespace weir::giop {
namespace {

constexpr char kMagic[] = {'G', 'I', 'O', 'P'};
constexpr uint8_t kLittleFlag = 1;
constexpr uint8_t kMoreFlag = 2;

// For each minor version, the types (as bits) that exist, and those that may be fragmented.
constexpr uint8_t kTypes[] = {0x7f, 0xff, 0xff};
constexpr uint8_t kFragmentable[] = {
    0x00,
    1 << 0 | 1 << 1 | 1 << 7,                    // Request, Reply, Fragment
    1 << 0 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 7,  // and LocateRequest, LocateReply
};

}  // namespace

std::string_view MessageTypeName(MessageType type) {
  constexpr std::string_view kNames[] = {"Request",       "Reply",       "CancelRequest",
                                         "LocateRequest", "LocateReply", "CloseConnection",
                                         "MessageError",  "Fragment"};
  const auto i = static_cast<size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "unknown message";
}

std::string_view HeaderErrorText(HeaderError error) {
  switch (error) {
    case HeaderError::kNone:
      return "no error";
    case HeaderError::kTooShort:
      return "header not complete";
    case HeaderError::kMagic:
      return "not GIOP: the message does not begin with \"GIOP\"";
    case HeaderError::kVersion:
      return "GIOP version is none of 1.0, 1.1 and 1.2";
    case HeaderError::kFlags:
      return "unknown bits in the GIOP flags";
    case HeaderError::kType:
      return "message type does not exist in this GIOP version";
    case HeaderError::kMore:
      return "message type cannot be fragmented in this GIOP version";
  }
  return "unknown error";
}

HeaderError DecodeHeader(std::string_view bytes, Header* out) {
  if (bytes.size() < kHeaderSize) [[unlikely]] {
    // What cannot become a header is refused at its first byte, not when the twelfth arrives.
    const size_t n = std::min(bytes.size(), sizeof kMagic);
    if (n == 0 || std::memcmp(bytes.data(), kMagic, n) == 0) return HeaderError::kTooShort;
    out->minor = GiopMinor::k0;
    return HeaderError::kMagic;
  }
  if (std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) [[unlikely]] {
    out->minor = GiopMinor::k0;
    return HeaderError::kMagic;
  }
  const auto* const at = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t minor = at[5], flags = at[6], type = at[7];
  if (at[4] != 1 || minor > 2) [[unlikely]] {
    out->minor = GiopMinor::k2;
    return HeaderError::kVersion;
  }
  out->minor = static_cast<GiopMinor>(minor);
  if (flags > (minor == 0 ? kLittleFlag : kLittleFlag | kMoreFlag)) [[unlikely]] {
    return HeaderError::kFlags;
  }
  out->order = static_cast<cdr::ByteOrder>(flags & kLittleFlag);
  out->more = (flags & kMoreFlag) != 0;
  if (type > 7 || (kTypes[minor] >> type & 1) == 0) [[unlikely]]
    return HeaderError::kType;
  out->type = static_cast<MessageType>(type);
  if (out->more && (kFragmentable[minor] >> type & 1) == 0) [[unlikely]] {
    return HeaderError::kMore;
  }
  uint32_t size;
  std::memcpy(&size, at + 8, sizeof size);
  out->size = out->order == cdr::kNativeOrder ? size : cdr::SwapBytes(size);
  return HeaderError::kNone;
}

void AppendHeader(const Header& header, cdr::ByteBuffer* out) {
  uint8_t* const at = out->Extend(kHeaderSize);
  std::memcpy(at, kMagic, sizeof kMagic);
  at[4] = 1;
  at[5] = static_cast<uint8_t>(header.minor);
  at[6] = static_cast<uint8_t>(static_cast<uint8_t>(header.order) | (header.more ? kMoreFlag : 0));
  at[7] = static_cast<uint8_t>(header.type);
  const uint32_t size =
      header.order == cdr::kNativeOrder ? header.size : cdr::SwapBytes(header.size);
  std::memcpy(at + 8, &size, sizeof size);
}

void PatchSize(size_t start, cdr::ByteOrder order, cdr::ByteBuffer* out) {
  auto size = static_cast<uint32_t>(out->size() - start - kHeaderSize);
  if (order != cdr::kNativeOrder) size = cdr::SwapBytes(size);
  std::memcpy(out->data() + start + 8, &size, sizeof size);
}

void AppendBareMessage(MessageType type, GiopMinor minor, cdr::ByteBuffer* out) {
  AppendHeader({.minor = minor, .type = type}, out);
}

}  // namespace weir::giop
