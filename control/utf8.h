// Whether text is UTF-8, as protobuf, JSON and gRPC's clients demand.
//
// Thread safety: pure functions.

#ifndef WEIR_CONTROL_UTF8_H_
#define WEIR_CONTROL_UTF8_H_

#include <string_view>

namespace weir::control {

// True if `text` is well-formed UTF-8: no stray or missing continuation bytes, no overlong forms,
// no surrogates, nothing above U+10FFFF (Unicode 15, table 3-7).
inline bool IsUtf8(std::string_view text) {
  int expected = 0;            // continuation bytes still to come
  unsigned char least = 0x80;  // bounds of the next one
  unsigned char most = 0xbf;
  for (const unsigned char c : text) {
    if (expected > 0) {
      if (c < least || c > most) return false;
      least = 0x80;
      most = 0xbf;
      --expected;
    } else if (c >= 0x80) {
      if (c < 0xc2 || c > 0xf4) return false;
      expected = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
      if (c == 0xe0) least = 0xa0;
      if (c == 0xed) most = 0x9f;
      if (c == 0xf0) least = 0x90;
      if (c == 0xf4) most = 0x8f;
    }
  }
  return expected == 0;
}

}  // namespace weir::control

#endif  // WEIR_CONTROL_UTF8_H_
