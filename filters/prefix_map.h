// A map from byte strings that finds the longest one with which a text begins. Built once, then
// looked up at every call.
//
// Thread safety: lookups are safe for concurrent use; building is for one thread.

#ifndef WEIR_FILTERS_PREFIX_MAP_H_
#define WEIR_FILTERS_PREFIX_MAP_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::filters {

template <typename Value>
class PrefixMap {
 public:
  // REQUIRES: `prefix` comes after all that are in it, in order of bytes.
  void Add(std::string_view prefix, Value value) {
    int shorter = static_cast<int>(entries_.size()) - 1;
    while (shorter != kNone && !prefix.starts_with(entries_[shorter].prefix)) {
      shorter = entries_[shorter].shorter;
    }
    entries_.push_back({std::string(prefix), std::move(value), shorter});
  }

  bool empty() const { return entries_.empty(); }

  // Null if `text` begins with none of them.
  const Value* Find(std::string_view text) const {
    // Everything that sorts between a prefix of the text and the text begins with that prefix. So
    // of the entries not after the text, the last one either is the longest prefix or extends it.
    const auto after =
        std::upper_bound(entries_.begin(), entries_.end(), text,
                         [](std::string_view t, const Entry& entry) { return t < entry.prefix; });
    for (int i = static_cast<int>(after - entries_.begin()) - 1; i != kNone;
         i = entries_[i].shorter) {
      if (text.starts_with(entries_[i].prefix)) return &entries_[i].value;
    }
    return nullptr;
  }

 private:
  static constexpr int kNone = -1;

  struct Entry {
    std::string prefix;
    Value value;
    int shorter;  // index of the longest prefix of this one, or kNone
  };
  std::vector<Entry> entries_;  // sorted
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_PREFIX_MAP_H_
