// What a filter is plugged onto, as people write it:
//
//   key:NAME      the object with exactly this key
//   key:PREFIX*   every object whose key begins so; `key:*` is every object
//   interface:ID  every object of the interface with this repository id, or of one derived from it
//   all           every call
//
// NAME and PREFIX are bytes, with %XX for any byte; a literal `*` is %2A. ID is as in
// IDL:acme/Bank:1.0.
//
// Thread safety: values.

#ifndef WEIR_FILTERS_SELECTOR_H_
#define WEIR_FILTERS_SELECTOR_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weir::filters {

struct Selector {
  enum class Kind { kKey, kPrefix, kInterface, kAll };

  Kind kind = Kind::kAll;
  std::string bytes;  // the key or the prefix, unescaped; the repository id

  // INVALID_ARGUMENT, with an example of a good one.
  static absl::StatusOr<Selector> Parse(std::string_view text);

  // By the key alone. REQUIRES: it is not an interface.
  bool Matches(std::string_view object_key) const;
  // The one spelling that equal selectors share; Parse reads it back.
  std::string Canonical() const;

  bool operator==(const Selector&) const = default;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_SELECTOR_H_
