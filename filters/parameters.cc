#include "filters/parameters.h"

#include <charconv>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/strings.h"

namespace weir::filters {
namespace {

// How much of a bad value an error shows.
constexpr size_t kMaxShown = 100;

std::string Shown(std::string_view value) {
  return value.size() <= kMaxShown ? Escape(value)
                                   : StrCat(Escape(value.substr(0, kMaxShown)), "...");
}

// Parses all of `text`.
template <typename T>
std::optional<T> Parse(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Without the exponent that StrCat gives to a million.
std::string Plain(double value) {
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? StrCat(whole) : StrCat(value);
}

const ParameterInfo* FindInfo(const FilterKind& kind, std::string_view name) {
  for (const ParameterInfo& info : kind.parameters()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace

ParameterReader::ParameterReader(const FilterKind& kind, const FilterParameters& parameters)
    : kind_(kind), parameters_(parameters) {
  for (const auto& [name, value] : parameters) {
    if (FindInfo(kind, name) != nullptr) continue;
    std::string names;
    for (const ParameterInfo& info : kind.parameters()) {
      StrAppend(&names, names.empty() ? "" : ", ", info.name);
    }
    Fail(StrCat("filter '", kind.name(), "' has no parameter '", Shown(name),
                "'; its parameters are: ", names.empty() ? "none" : names));
  }
  for (const ParameterInfo& info : kind.parameters()) {
    if (!info.required || Has(info.name)) continue;
    Fail(StrCat("filter '", kind.name(), "' needs parameter '", info.name, "': ", info.help));
  }
}

bool ParameterReader::Has(std::string_view name) const {
  return parameters_.contains(std::string(name));
}

std::string_view ParameterReader::Text(std::string_view name) const {
  if (!ok()) return {};
  const auto it = parameters_.find(std::string(name));
  return it != parameters_.end() ? std::string_view(it->second)
                                 : std::string_view(FindInfo(kind_, name)->otherwise);
}

int64_t ParameterReader::Integer(std::string_view name, int64_t min, int64_t max) {
  const std::optional<int64_t> value = Parse<int64_t>(Text(name));
  if (ok() && value.has_value() && *value >= min && *value <= max) return *value;
  Fail(name, StrCat("it must be a number from ", min, " to ", max));
  return 0;
}

double ParameterReader::Number(std::string_view name, double min, double max) {
  const std::optional<double> value = Parse<double>(Text(name));
  if (ok() && value.has_value() && *value >= min && *value <= max) return *value;  // NaN is neither
  Fail(name, StrCat("it must be a number from ", Plain(min), " to ", Plain(max)));
  return 0;
}

Nanos ParameterReader::Duration(std::string_view name, Nanos min, Nanos max) {
  absl::Duration value;
  if (ok() && absl::ParseDuration(ToAbsl(Text(name)), &value) && value >= absl::Nanoseconds(min) &&
      value <= absl::Nanoseconds(max)) {
    return absl::ToInt64Nanoseconds(value);
  }
  Fail(name, StrCat("it must be a time span such as 200ms, 30s or 2m, from ",
                    absl::FormatDuration(absl::Nanoseconds(min)), " to ",
                    absl::FormatDuration(absl::Nanoseconds(max))));
  return 0;
}

size_t ParameterReader::Choice(std::string_view name,
                               std::initializer_list<std::string_view> choices) {
  const std::string_view text = Text(name);
  std::string all;
  size_t index = 0;
  for (const std::string_view choice : choices) {
    if (text == choice) return index;
    StrAppend(&all, index++ == 0 ? "" : ", ", choice);
  }
  Fail(name, StrCat("it must be one of: ", all));
  return 0;
}

orb::ExceptionId ParameterReader::Exception(std::string_view name) {
  const std::optional<orb::ExceptionId> id = orb::ExceptionIdFromName(Text(name));
  if (id.has_value()) return *id;
  std::string names;
  for (int i = 0; i < orb::kExceptionCount; ++i) {
    StrAppend(&names, i == 0 ? "" : ", ", orb::ExceptionName(static_cast<orb::ExceptionId>(i)));
  }
  Fail(name, StrCat("it must be the name of a system exception: ", names));
  return orb::ExceptionId::kUnknown;
}

void ParameterReader::Fail(std::string_view name, std::string_view what) {
  if (!ok()) return;
  Fail(StrCat("parameter '", name, "' is '", Shown(Text(name)), "'; ", what));
}

void ParameterReader::Fail(std::string_view what) {
  if (ok()) status_ = absl::InvalidArgumentError(ToAbsl(what));
}

}  // namespace weir::filters
