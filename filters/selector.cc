#include "filters/selector.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/strings.h"
#include "filters/escape.h"

namespace weir::filters {
namespace {

absl::Status Bad(std::string_view text, std::string_view problem) {
  return absl::InvalidArgumentError(
      StrCat("bad selector '", Escape(text), "': ", problem,
             "; write for example key:NameService, key:accounts/*, interface:IDL:acme/Bank:1.0 or "
             "all"));
}

constexpr std::string_view kInterface = "interface:";
constexpr size_t kMostRepositoryId = 255;

// CORBA 3.3 part 1, 14.7: FORMAT:CONTENT, and IDL:NAME/NAME:MAJOR.MINOR. Empty if it is good. Ids
// are compared octet by octet, so none has another spelling.
std::string_view ProblemOfRepositoryId(std::string_view id) {
  if (id.empty()) return "the repository id is missing";
  if (id.size() > kMostRepositoryId) return "the repository id is longer than 255 characters";
  if (!std::all_of(id.begin(), id.end(), [](unsigned char c) { return absl::ascii_isgraph(c); })) {
    return "a repository id has neither blanks nor other than ASCII characters";
  }
  if (id == "IDL:omg.org/CORBA/Object:1.0") return "every object is of that interface: write all";
  const size_t colon = id.find(':');
  if (colon == 0 || colon == id.npos || colon + 1 == id.size()) {
    return "a repository id is FORMAT:NAME, as in IDL:acme/Bank:1.0";
  }
  if (!id.starts_with("IDL:")) return "";
  const size_t last = id.rfind(':');
  const std::string_view name = id.substr(4, last < 4 ? 0 : last - 4);
  const std::string_view version = id.substr(last + 1);
  const size_t dot = version.find('.');
  const auto number = [](std::string_view s) {
    return !s.empty() && std::all_of(s.begin(), s.end(), absl::ascii_isdigit);
  };
  if (name.empty() || dot == version.npos || !number(version.substr(0, dot)) ||
      !number(version.substr(dot + 1))) {
    return "an IDL repository id is IDL:NAME/NAME:MAJOR.MINOR";
  }
  if (name.find(':') != name.npos || name.starts_with('/') || name.ends_with('/') ||
      name.find("//") != name.npos || name.find('*') != name.npos) {
    return "the name in an IDL repository id is one or more identifiers with '/' between";
  }
  return "";
}

}  // namespace

absl::StatusOr<Selector> Selector::Parse(std::string_view text) {
  if (text == "all") return Selector{};
  if (text.starts_with(kInterface)) {
    const std::string_view id = text.substr(kInterface.size());
    const std::string_view problem = ProblemOfRepositoryId(id);
    if (!problem.empty()) return Bad(text, problem);
    return Selector{Kind::kInterface, std::string(id)};
  }
  if (!text.starts_with("key:")) {
    return Bad(text, text.empty() ? "it is empty"
                                  : "it is neither 'all' nor begins with 'key:' or 'interface:'");
  }
  std::string_view rest = text.substr(4);
  if (rest.empty()) return Bad(text, "the key is missing");
  Selector selector;
  selector.kind = rest.ends_with('*') ? Kind::kPrefix : Kind::kKey;
  if (selector.kind == Kind::kPrefix) rest.remove_suffix(1);
  if (rest.find('*') != rest.npos) {
    return Bad(text, "'*' may stand only at the end (a literal one is %2A)");
  }
  absl::StatusOr<std::string> bytes = UnescapeKey(rest);
  if (!bytes.ok()) return Bad(text, ToStd(bytes.status().message()));
  selector.bytes = *std::move(bytes);
  return selector;
}

bool Selector::Matches(std::string_view object_key) const {
  switch (kind) {
    case Kind::kKey:
      return object_key == bytes;
    case Kind::kPrefix:
      return object_key.starts_with(bytes);
    case Kind::kInterface:
      return false;
    case Kind::kAll:
      break;
  }
  return true;
}

std::string Selector::Canonical() const {
  if (kind == Kind::kAll) return "all";
  if (kind == Kind::kInterface) return StrCat("interface:", bytes);
  return StrCat("key:", EscapeKey(bytes), kind == Kind::kPrefix ? "*" : "");
}

}  // namespace weir::filters
