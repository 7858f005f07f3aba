#include "filters/log_line.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "filters/escape.h"

namespace weir::filters {

void LogLine::Append(std::string_view text) {
  const size_t n = std::min(text.size(), bytes_.size() - size_);
  if (n > 0) std::memcpy(bytes_.data() + size_, text.data(), n);
  size_ += n;
}

void LogLine::Name(std::string_view name) {
  if (size_ > 0) Append(" ");
  Append(name);
  Append("=");
}

void LogLine::Add(std::string_view name, std::string_view value) {
  Name(name);
  Value(value);
}

void LogLine::Add(std::string_view name, std::string_view first, std::string_view second) {
  Name(name);
  Value(first);
  Append(":");
  Value(second);
}

void LogLine::Value(std::string_view value) {
  if (value.empty()) return Append("-");
  constexpr std::string_view kCut = "...";
  constexpr char kHex[] = "0123456789ABCDEF";
  std::array<char, kMaxValue> escaped;
  size_t size = 0;
  for (const unsigned char byte : value) {
    const bool plain = IsPlainKeyByte(byte);
    if (size + (plain ? 1 : 3) + kCut.size() > kMaxValue) {
      kCut.copy(escaped.data() + size, kCut.size());
      size += kCut.size();
      break;
    }
    if (plain) {
      escaped[size++] = static_cast<char>(byte);
    } else {
      escaped[size++] = '%';
      escaped[size++] = kHex[byte >> 4];
      escaped[size++] = kHex[byte & 15];
    }
  }
  Append(std::string_view(escaped.data(), size));
}

void LogLine::AddHex(std::string_view name, std::string_view octets, size_t most) {
  Name(name);
  if (octets.empty()) return Append("-");
  constexpr char kHex[] = "0123456789abcdef";
  for (const unsigned char octet : octets.substr(0, most)) {
    const char digits[2] = {kHex[octet >> 4], kHex[octet & 15]};
    Append(std::string_view(digits, 2));
  }
  if (octets.size() > most) Append("...");
}

void LogLine::Add(std::string_view name, uint64_t value) {
  Name(name);
  char digits[20];
  const auto result = std::to_chars(digits, digits + sizeof digits, value);
  Append(std::string_view(digits, result.ptr - digits));
}

}  // namespace weir::filters
