// Object keys as text. Keys are arbitrary bytes: whatever could end a word, break a line or look
// like a wildcard is written %XX, as in corbaloc (CORBA 3.3 part 2, 7.6.10.1, except that `*` is
// escaped too). What a log shows can therefore be pasted into a selector.
//
// Thread safety: pure functions.

#ifndef WEIR_FILTERS_ESCAPE_H_
#define WEIR_FILTERS_ESCAPE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weir::filters {

// Whether `byte` stands for itself in escaped text.
bool IsPlainKeyByte(unsigned char byte);

std::string EscapeKey(std::string_view bytes);

// Reads %XX, in either case; every other byte stands for itself. INVALID_ARGUMENT on a `%` that two
// hexadecimal digits do not follow.
absl::StatusOr<std::string> UnescapeKey(std::string_view text);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_ESCAPE_H_
