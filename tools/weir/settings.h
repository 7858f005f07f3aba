// `--set KEY=VALUE`, wherever a command takes it.
//
// Thread safety: pure functions.

#ifndef WEIR_TOOLS_WEIR_SETTINGS_H_
#define WEIR_TOOLS_WEIR_SETTINGS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace weir::tools {

// By key. INVALID_ARGUMENT for what is not KEY=VALUE, and for a key that is given twice; the text
// begins with `doing` ("plug audit: ").
absl::StatusOr<std::map<std::string, std::string>> ParseSettings(
    std::string_view doing, const std::vector<std::string>& settings);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_SETTINGS_H_
