// A map from byte strings, built once and then looked up at every call. A few entries, the usual
// case, are compared one after the other, which costs less than hashing.
//
// Thread safety: lookups are safe for concurrent use; building is for one thread.

#ifndef WEIR_FILTERS_NAME_MAP_H_
#define WEIR_FILTERS_NAME_MAP_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/container/flat_hash_map.h"
#include "base/strings.h"

namespace weir::filters {

template <typename Value>
class NameMap {
 public:
  // REQUIRES: `name` is not in it.
  void Add(std::string_view name, Value value) {
    if (few_.size() < kFew) {
      few_.emplace_back(name, value);
    } else {
      many_.emplace(name, value);
    }
  }

  // Null if there is none.
  ABSL_ATTRIBUTE_ALWAYS_INLINE const Value* Find(std::string_view name) const {
    for (const auto& [its_name, value] : few_) {
      if (its_name.size() == name.size() && its_name == name) return &value;
    }
    if (many_.empty()) return nullptr;
    const auto it = many_.find(ToAbsl(name));
    return it != many_.end() ? &it->second : nullptr;
  }

 private:
  static constexpr size_t kFew = 4;

  std::vector<std::pair<std::string, Value>> few_;
  absl::flat_hash_map<std::string, Value> many_;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_NAME_MAP_H_
