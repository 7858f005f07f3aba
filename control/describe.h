// Beta messages in words: for the log, and for people who watch.
//
// Thread safety: pure functions.

#ifndef WEIR_CONTROL_DESCRIBE_H_
#define WEIR_CONTROL_DESCRIBE_H_

#include <optional>
#include <string>
#include <string_view>

#include "filters/state.h"

namespace weir::control {

// `text` with its control characters as \xhh: a name from a stranger must neither break a line nor
// move a terminal's cursor.
std::string Printable(std::string_view text);

// "reversed", "plug-order"; "inherited" for none.
std::string_view ReplyOrderName(std::optional<filters::ReplyOrder> order);

// "map audit '*' up request enabled". One line, printable.
std::string Describe(const filters::Change& change);
// All of them, separated by "; ", cut off after `max_bytes`.
std::string Describe(const filters::ChangeSet& changes, size_t max_bytes);

}  // namespace weir::control

#endif  // WEIR_CONTROL_DESCRIBE_H_
