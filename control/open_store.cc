#include "absl/strings/str_cat.h"
#include "control/memory_store.h"
#include "control/sqlite_store.h"
#include "control/store.h"

namespace weir::control {

absl::StatusOr<std::unique_ptr<Store>> OpenStore(std::string_view spec, StoreLimits limits) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (spec == "memory") return std::make_unique<MemoryStore>(limits);
  if (spec.starts_with(kSqlite) && spec.size() > kSqlite.size()) {
    return OpenSqliteStore(std::string(spec.substr(kSqlite.size())), limits);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("store '", std::string(spec), "' is neither 'memory' nor 'sqlite:FILE'"));
}

}  // namespace weir::control
