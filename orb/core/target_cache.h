// Targets by the text of their references, for those who are given the same text again and again.
// Keeps a bounded number of them: when so many are young, the young become old, and the old that
// nobody has asked for meanwhile are forgotten.
//
// Thread safety: safe for concurrent use. Finding what is young takes no lock that another such
// call could hold up.

#ifndef WEIR_ORB_CORE_TARGET_CACHE_H_
#define WEIR_ORB_CORE_TARGET_CACHE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/reader_lock.h"
#include "orb/reference/reference.h"

namespace weir::orb {

class Invoker;
class Target;

class TargetCache {
 public:
  // Keeps `most` targets at most, and at least half as many. `invoker` must outlive the cache.
  TargetCache(Invoker* invoker, const ReferenceContext& context, size_t most)
      : invoker_(invoker), context_(context), most_young_(most < 2 ? 1 : most / 2) {}

  // "IOR:..." or "corbaloc:...". Errors: as ParseReference and Invoker::NewTarget, and
  // INVALID_ARGUMENT for corbaloc:rir:.
  absl::StatusOr<std::shared_ptr<Target>> Find(std::string_view reference);
  // The same, a new one, which is not kept.
  absl::StatusOr<std::shared_ptr<Target>> Resolve(std::string_view reference) const;

  size_t size() const;

 private:
  using Map = absl::flat_hash_map<std::string, std::shared_ptr<Target>>;

  Invoker* const invoker_;
  const ReferenceContext context_;
  const size_t most_young_;

  mutable ReaderLock lock_;
  Map young_ ABSL_GUARDED_BY(lock_);
  Map old_ ABSL_GUARDED_BY(lock_);
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_TARGET_CACHE_H_
