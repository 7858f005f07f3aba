#include "tools/weir/settings.h"

#include "base/strings.h"

namespace weir::tools {

absl::StatusOr<std::map<std::string, std::string>> ParseSettings(
    std::string_view doing, const std::vector<std::string>& settings) {
  std::map<std::string, std::string> parsed;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(StrCat(doing, "--set '", setting, "' is not KEY=VALUE"));
    }
    const std::string key = setting.substr(0, equals);
    if (!parsed.emplace(key, setting.substr(equals + 1)).second) {
      return absl::InvalidArgumentError(StrCat(doing, "--set ", key, "=... is given twice"));
    }
  }
  return parsed;
}

}  // namespace weir::tools
