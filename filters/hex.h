// Octets as people write them in parameters: two hexadecimal digits each, in either case.
//
// Thread safety: pure functions.

#ifndef WEIR_FILTERS_HEX_H_
#define WEIR_FILTERS_HEX_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir::filters {

// Nothing if `text` is anything else, or more than `most` octets.
std::optional<std::string> ParseHex(std::string_view text, size_t most);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_HEX_H_
