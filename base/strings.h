// String helpers on std::string_view. Debian's Abseil has a string_view of its own that does not
// convert from it, so StrCat and its like cannot be called directly.
//
// Thread safety: pure functions.

#ifndef WEIR_BASE_STRINGS_H_
#define WEIR_BASE_STRINGS_H_

#include <concepts>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weir {

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }

namespace strings_internal {

template <typename T>
decltype(auto) Argument(const T& value) {
  if constexpr (std::same_as<T, std::string_view>) {
    return ToAbsl(value);
  } else {
    return (value);
  }
}

}  // namespace strings_internal

// As absl::StrCat and absl::StrAppend.
template <typename... Args>
std::string StrCat(const Args&... args) {
  return absl::StrCat(strings_internal::Argument(args)...);
}
template <typename... Args>
void StrAppend(std::string* out, const Args&... args) {
  absl::StrAppend(out, strings_internal::Argument(args)...);
}

inline std::string_view StripWhitespace(std::string_view text) {
  return ToStd(absl::StripAsciiWhitespace(ToAbsl(text)));
}

inline bool StartsWithIgnoreCase(std::string_view text, std::string_view prefix) {
  return absl::StartsWithIgnoreCase(ToAbsl(text), ToAbsl(prefix));
}

// Printable ASCII as it is, but for the backslash, which is doubled; other octets as \xhh. For text
// from outside that goes into messages and logs.
inline std::string Escape(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\\\";
    } else if (c >= ' ' && c <= '~') {
      escaped += c;
    } else {
      escaped += "\\x";
      escaped += kDigits[static_cast<unsigned char>(c) >> 4];
      escaped += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return escaped;
}

}  // namespace weir

#endif  // WEIR_BASE_STRINGS_H_
