#include "filters/builtin/parameters.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/strings.h"

namespace weir::filters {

absl::Status CheckKeys(const FilterParameters& parameters, std::string_view filter,
                       std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : parameters) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string names;
    for (const std::string_view name : known) StrAppend(&names, names.empty() ? "" : ", ", name);
    return absl::InvalidArgumentError(
        StrCat("filter '", filter, "' has no parameter '", Escape(key),
               "'; its parameters are: ", names.empty() ? "none" : names));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> IntegerParameter(const FilterParameters& parameters, const char* key,
                                         int64_t min, int64_t max, int64_t otherwise) {
  const auto it = parameters.find(key);
  if (it == parameters.end()) return otherwise;
  const std::string& text = it->second;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= min && value <= max) {
    return value;
  }
  return absl::InvalidArgumentError(StrCat("parameter '", key, "' is '", Escape(text),
                                           "'; it must be a number from ", min, " to ", max));
}

}  // namespace weir::filters
