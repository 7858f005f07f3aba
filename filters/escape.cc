#include "filters/escape.h"

#include <array>

#include "base/strings.h"

namespace weir::filters {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";

constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (const unsigned char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                "abcdefghijklmnopqrstuvwxyz"
                                                "0123456789;/:?@&=+$,-_.!~'()")) {
    plain[c] = true;
  }
  return plain;
}();

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool IsPlainKeyByte(unsigned char byte) { return kPlain[byte]; }

std::string EscapeKey(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const unsigned char byte : bytes) {
    if (IsPlainKeyByte(byte)) {
      text.push_back(static_cast<char>(byte));
    } else {
      text.push_back('%');
      text.push_back(kHex[byte >> 4]);
      text.push_back(kHex[byte & 15]);
    }
  }
  return text;
}

absl::StatusOr<std::string> UnescapeKey(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes.push_back(text[i]);
      continue;
    }
    const int high = i + 1 < text.size() ? HexValue(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexValue(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return absl::InvalidArgumentError(
          StrCat("'%' at byte ", i, " is not followed by two hexadecimal digits"));
    }
    bytes.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return bytes;
}

}  // namespace weir::filters
