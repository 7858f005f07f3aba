// A remote object, ready to be called: its reference, the connections to its addresses, and where
// it has moved to.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_ORB_CORE_TARGET_H_
#define WEIR_ORB_CORE_TARGET_H_

#include <atomic>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "orb/core/call.h"
#include "orb/core/endpoint_pool.h"
#include "orb/reference/reference.h"

namespace weir::orb {

class Target : public std::enable_shared_from_this<Target> {
 public:
  Target(Reference reference, std::vector<std::shared_ptr<EndpointPool>> pools)
      : reference_(std::move(reference)),
        pools_(std::move(pools)),
        domain_(pools_.size() == 1 ? pools_[0]->domain() : NextObjectDomain()),
        peer_{reference_.endpoints.empty() ? "" : reference_.endpoints[0].transport,
              reference_.endpoints.empty() ? "" : reference_.endpoints[0].address} {}

  const Reference& reference() const { return reference_; }
  // In the order of the reference's endpoints that this ORB can use; shared with the invoker.
  const std::vector<std::shared_ptr<EndpointPool>>& pools() const { return pools_; }
  // Whom calls go to, for filters: the first address of the reference.
  const Peer& peer() const { return peer_; }

  // The object of `key` there. Another one may have taken its place whenever a connection has
  // ended.
  ObjectIdentity Identify(std::string_view key, Nanos now) const {
    ObjectIdentity identity{domain_, 0, key};
    for (const auto& pool : pools_) identity.epoch += pool->Ends(now);
    return identity;
  }

  // Which of pools() worked last.
  std::atomic<size_t> preferred{0};
  // Whether calls remember where a LOCATION_FORWARD has sent them. A gateway's upstream does not:
  // it stands for many objects.
  bool remembers_forward = true;

  // Where the object has moved to, or null.
  bool has_forward() const { return has_forward_.load(std::memory_order_acquire); }
  std::shared_ptr<Target> forward() const {
    MutexLock lock(&mu_);
    return forward_;
  }
  void set_forward(std::shared_ptr<Target> forward) {
    MutexLock lock(&mu_);
    has_forward_.store(forward != nullptr, std::memory_order_release);
    forward_ = std::move(forward);
  }

 private:
  const Reference reference_;
  const std::vector<std::shared_ptr<EndpointPool>> pools_;
  // One address is the same for all who have it; of several, nobody knows which one answered.
  const uint64_t domain_;
  const Peer peer_;

  std::atomic<bool> has_forward_{false};
  mutable Mutex mu_;
  std::shared_ptr<Target> forward_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_TARGET_H_
