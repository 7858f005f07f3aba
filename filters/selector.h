// What a filter is plugged onto, as people write it:
//
//   key:NAME      the object with exactly this key
//   key:PREFIX*   every object whose key begins so; `key:*` is every object
//   all           every call
//
// NAME and PREFIX are bytes, with %XX for any byte; a literal `*` is %2A.
//
// Thread safety: values.

#ifndef WEIR_FILTERS_SELECTOR_H_
#define WEIR_FILTERS_SELECTOR_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weir::filters {

struct Selector {
  enum class Kind { kKey, kPrefix, kAll };

  Kind kind = Kind::kAll;
  std::string bytes;  // the key or the prefix, unescaped

  // INVALID_ARGUMENT, with an example of a good one.
  static absl::StatusOr<Selector> Parse(std::string_view text);

  bool Matches(std::string_view object_key) const;
  // The one spelling that equal selectors share; Parse reads it back.
  std::string Canonical() const;

  bool operator==(const Selector&) const = default;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_SELECTOR_H_
