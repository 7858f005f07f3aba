#include "filters/selector.h"

#include <utility>

#include "base/strings.h"
#include "filters/escape.h"

namespace weir::filters {
namespace {

absl::Status Bad(std::string_view text, std::string_view problem) {
  return absl::InvalidArgumentError(
      StrCat("bad selector '", Escape(text), "': ", problem,
             "; write for example key:NameService, key:accounts/* or all"));
}

}  // namespace

absl::StatusOr<Selector> Selector::Parse(std::string_view text) {
  if (text == "all") return Selector{};
  if (!text.starts_with("key:")) {
    return Bad(text, text.empty() ? "it is empty" : "it is neither 'all' nor begins with 'key:'");
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
    case Kind::kAll:
      break;
  }
  return true;
}

std::string Selector::Canonical() const {
  if (kind == Kind::kAll) return "all";
  return StrCat("key:", EscapeKey(bytes), kind == Kind::kPrefix ? "*" : "");
}

}  // namespace weir::filters
