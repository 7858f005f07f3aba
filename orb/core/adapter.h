// The object adapter: which servant serves which object key (the active object map of CORBA's POA,
// and its default servant).
//
// Thread safety: safe for concurrent use. Find takes no lock that another Find could hold up.

#ifndef WEIR_ORB_CORE_ADAPTER_H_
#define WEIR_ORB_CORE_ADAPTER_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/reader_lock.h"
#include "orb/core/servant.h"

namespace weir::orb {

class ObjectAdapter {
 public:
  // Serves `key` from now on. ALREADY_EXISTS if something else serves it.
  absl::Status Activate(std::string_view key, std::shared_ptr<Servant> servant);
  // Calls that have begun go on, and keep the servant. NOT_FOUND if nothing serves `key`.
  absl::Status Deactivate(std::string_view key);
  // Serves every key that has no servant of its own; null: nobody does.
  void SetDefaultServant(std::shared_ptr<Servant> servant);

  // Null if nobody serves `key`.
  std::shared_ptr<Servant> Find(std::string_view key) const;
  size_t size() const;

 private:
  void UpdateFew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  mutable ReaderLock lock_;
  absl::flat_hash_map<std::string, std::shared_ptr<Servant>> servants_ ABSL_GUARDED_BY(lock_);
  // The same while there are at most kFew: comparing a few keys costs less than hashing one.
  static constexpr size_t kFew = 4;
  std::vector<std::pair<std::string, std::shared_ptr<Servant>>> few_ ABSL_GUARDED_BY(lock_);
  std::shared_ptr<Servant> default_servant_ ABSL_GUARDED_BY(lock_);
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_ADAPTER_H_
