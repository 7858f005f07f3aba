#include "orb/core/adapter.h"

#include <utility>

#include "base/strings.h"

namespace weir::orb {

absl::Status ObjectAdapter::Activate(std::string_view key, std::shared_ptr<Servant> servant) {
  ReaderLockExclusive lock(&lock_);
  if (!servants_.try_emplace(std::string(key), std::move(servant)).second) {
    return absl::AlreadyExistsError(StrCat("object key '", Escape(key), "' is active already"));
  }
  UpdateFew();
  return absl::OkStatus();
}

absl::Status ObjectAdapter::Deactivate(std::string_view key) {
  std::shared_ptr<Servant> last;  // destroyed outside the lock
  ReaderLockExclusive lock(&lock_);
  const auto it = servants_.find(ToAbsl(key));
  if (it == servants_.end()) {
    return absl::NotFoundError(StrCat("object key '", Escape(key), "' is not active"));
  }
  last = std::move(it->second);
  servants_.erase(it);
  UpdateFew();
  return absl::OkStatus();
}

void ObjectAdapter::UpdateFew() {
  few_.clear();
  if (servants_.size() <= kFew) few_.assign(servants_.begin(), servants_.end());
}

void ObjectAdapter::SetDefaultServant(std::shared_ptr<Servant> servant) {
  ReaderLockExclusive lock(&lock_);
  default_servant_.swap(servant);
}

std::shared_ptr<Servant> ObjectAdapter::Find(std::string_view key) const {
  ReaderLockShared lock(&lock_);
  for (const auto& [active, servant] : few_) {
    if (active == key) return servant;
  }
  if (servants_.size() > kFew) {
    const auto it = servants_.find(ToAbsl(key));
    if (it != servants_.end()) return it->second;
  }
  return default_servant_;
}

size_t ObjectAdapter::size() const {
  ReaderLockShared lock(&lock_);
  return servants_.size();
}

}  // namespace weir::orb
