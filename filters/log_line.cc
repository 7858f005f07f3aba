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
  size_t used = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    const unsigned char byte = value[i];
    const bool plain = IsPlainKeyByte(byte);
    const size_t width = plain ? 1 : 3;
    if (used + width + kCut.size() > kMaxValue) return Append(kCut);
    const char escaped[] = {'%', kHex[byte >> 4], kHex[byte & 15]};
    Append(plain ? value.substr(i, 1) : std::string_view(escaped, 3));
    used += width;
  }
}

void LogLine::Add(std::string_view name, uint64_t value) {
  Name(name);
  char digits[20];
  const auto result = std::to_chars(digits, digits + sizeof digits, value);
  Append(std::string_view(digits, result.ptr - digits));
}

}  // namespace weir::filters
