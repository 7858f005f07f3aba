#include "filters/order.h"

#include <algorithm>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>

#include "absl/status/status.h"
#include "base/strings.h"

namespace weir::filters {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);
// How many plugs of a circle an error names.
constexpr size_t kMostNamed = 16;

// Which plugs must come later than each.
class Constraints {
 public:
  explicit Constraints(const std::vector<Plug>& plugs) : plugs_(plugs), later_(plugs.size()) {
    for (size_t i = 0; i < plugs.size(); ++i) {
      for (const std::string& name : plugs[i].before) Add(i, Find(name));
      for (const std::string& name : plugs[i].after) Add(Find(name), i);
    }
  }

  // All plugs, or as many as can be ordered: those in circles, and what comes after them, cannot.
  template <typename Priority>
  std::vector<size_t> Order(const Priority& priority) const {
    std::vector<size_t> waits_for(plugs_.size());
    for (const std::vector<size_t>& later : later_) {
      for (const size_t i : later) ++waits_for[i];
    }
    const auto later = [&](size_t a, size_t b) {
      return std::tuple(priority(plugs_[a]), plugs_[a].sequence) >
             std::tuple(priority(plugs_[b]), plugs_[b].sequence);
    };
    std::priority_queue<size_t, std::vector<size_t>, decltype(later)> ready(later);
    for (size_t i = 0; i < plugs_.size(); ++i) {
      if (waits_for[i] == 0) ready.push(i);
    }
    std::vector<size_t> order;
    order.reserve(plugs_.size());
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (const size_t i : later_[order.back()]) {
        if (--waits_for[i] == 0) ready.push(i);
      }
    }
    return order;
  }

  // "a -> b -> a", of plugs that are not in `ordered`.
  std::string Circle(const std::vector<size_t>& ordered) const {
    std::vector<bool> left(plugs_.size(), true);
    for (const size_t i : ordered) left[i] = false;
    // Each plug that is left waits for another one that is.
    std::vector<size_t> earlier(plugs_.size(), kNone);
    for (size_t i = 0; i < plugs_.size(); ++i) {
      if (!left[i]) continue;
      for (const size_t l : later_[i]) {
        if (earlier[l] == kNone) earlier[l] = i;
      }
    }
    std::vector<size_t> walk;  // backwards
    std::vector<bool> met(plugs_.size(), false);
    size_t at = std::find(left.begin(), left.end(), true) - left.begin();
    for (; !met[at]; at = earlier[at]) {
      met[at] = true;
      walk.push_back(at);
    }
    walk.erase(walk.begin(), std::find(walk.begin(), walk.end(), at));
    std::reverse(walk.begin(), walk.end());
    // Plugs are ordered by name: it begins with the first of them.
    std::rotate(walk.begin(), std::min_element(walk.begin(), walk.end()), walk.end());
    std::string circle;
    for (size_t i = 0; i < walk.size() && i < kMostNamed; ++i) {
      StrAppend(&circle, plugs_[walk[i]].name, " -> ");
    }
    return StrCat(circle, walk.size() > kMostNamed ? "... -> " : "", plugs_[walk[0]].name);
  }

 private:
  size_t Find(std::string_view name) const {
    const auto it =
        std::lower_bound(plugs_.begin(), plugs_.end(), name,
                         [](const Plug& plug, std::string_view n) { return plug.name < n; });
    return it != plugs_.end() && it->name == name ? it - plugs_.begin() : kNone;
  }
  void Add(size_t earlier, size_t later) {
    if (earlier != kNone && later != kNone) later_[earlier].push_back(later);
  }

  const std::vector<Plug>& plugs_;
  std::vector<std::vector<size_t>> later_;
};

}  // namespace

absl::StatusOr<PlugOrder> OrderPlugs(const std::vector<Plug>& plugs) {
  const Constraints constraints(plugs);
  PlugOrder order;
  order.up = constraints.Order([](const Plug& plug) { return plug.priority; });
  if (order.up.size() < plugs.size()) {
    return absl::FailedPreconditionError(StrCat(
        "the plugs' constraints (before, after) are a circle: ", constraints.Circle(order.up),
        "; unplug one of them, or plug it without"));
  }
  order.down = constraints.Order(
      [](const Plug& plug) { return plug.down_priority.value_or(plug.priority); });
  return order;
}

}  // namespace weir::filters
