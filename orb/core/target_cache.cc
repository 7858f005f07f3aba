#include "orb/core/target_cache.h"

#include <utility>

#include "base/strings.h"
#include "orb/core/invoker.h"
#include "orb/core/target.h"

namespace weir::orb {

absl::StatusOr<std::shared_ptr<Target>> TargetCache::Resolve(std::string_view reference) const {
  absl::StatusOr<Reference> parsed = ParseReference(reference, context_);
  if (!parsed.ok()) return parsed.status();
  if (parsed->rir) {
    return absl::InvalidArgumentError(
        StrCat("corbaloc:rir:/", parsed->rir_name,
               ": this ORB has no initial references; give a host, as in "
               "corbaloc::1.2@HOST:PORT/",
               parsed->rir_name));
  }
  return invoker_->NewTarget(*std::move(parsed));
}

absl::StatusOr<std::shared_ptr<Target>> TargetCache::Find(std::string_view reference) {
  {
    ReaderLockShared lock(&lock_);
    const auto it = young_.find(ToAbsl(reference));
    if (it != young_.end()) return it->second;
  }
  absl::StatusOr<std::shared_ptr<Target>> target = Resolve(reference);
  if (!target.ok()) return target;
  Map forgotten;  // let go without the lock
  ReaderLockExclusive lock(&lock_);
  if (young_.size() >= most_young_) {
    forgotten = std::exchange(old_, std::exchange(young_, {}));
  }
  // What it knows of connections and forwards is worth keeping.
  const auto known = old_.find(ToAbsl(reference));
  if (known != old_.end()) *target = known->second;
  return young_.try_emplace(std::string(reference), *std::move(target)).first->second;
}

size_t TargetCache::size() const {
  ReaderLockShared lock(&lock_);
  size_t both = 0;
  for (const auto& [reference, target] : old_) both += !young_.contains(reference);
  return young_.size() + both;
}

}  // namespace weir::orb
