#include "filters/filter.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace weir::filters {

std::string_view PhaseName(Phase phase) { return phase == Phase::kUp ? "up" : "down"; }

void FilterKinds::Add(std::unique_ptr<FilterKind> kind) {
  std::string name(kind->name());
  const auto [it, added] = kinds_.emplace(std::move(name), std::move(kind));
  if (!added) {
    std::fprintf(stderr, "two filter kinds are named '%s'\n", it->first.c_str());
    std::abort();
  }
}

const FilterKind* FilterKinds::Find(std::string_view name) const {
  const auto it = kinds_.find(name);
  return it == kinds_.end() ? nullptr : it->second.get();
}

std::vector<const FilterKind*> FilterKinds::All() const {
  std::vector<const FilterKind*> all;
  for (const auto& [name, kind] : kinds_) all.push_back(kind.get());
  return all;
}

absl::StatusOr<int> Filter::MethodIndex(Phase, std::string_view) {
  return absl::UnimplementedError("a filter without methods of its own");
}

absl::StatusOr<std::string> Filter::Tell(std::string_view, const FilterParameters&) {
  return absl::UnimplementedError("the filter has no commands");
}

std::string Filter::MethodName(int) const { return ""; }

}  // namespace weir::filters
