// The invoker's part that has the pools of connections, one for each address, and looks after them.

#include <utility>

#include "base/strings.h"
#include "orb/core/invoker.h"

namespace weir::orb {

std::shared_ptr<EndpointPool> Invoker::Pool(const Endpoint& endpoint) {
  Transport* const transport = find_transport_(endpoint.transport);
  if (transport == nullptr) return nullptr;
  MutexLock lock(&mu_);
  std::shared_ptr<EndpointPool>& pool = pools_[StrCat(endpoint.transport, ":", endpoint.address)];
  if (pool == nullptr) {
    pool = std::make_shared<EndpointPool>(context_, transport, messaging_, endpoint.address);
    pools_changed_ = true;
  }
  return pool;
}

std::vector<std::shared_ptr<EndpointPool>> Invoker::Pools() const {
  MutexLock lock(&mu_);
  std::vector<std::shared_ptr<EndpointPool>> result;
  for (const auto& [name, pool] : pools_) result.push_back(pool);
  return result;
}

void Invoker::ForgetUnusedPools() {
  std::vector<std::shared_ptr<EndpointPool>> unused;  // go without the lock
  MutexLock lock(&mu_);
  for (auto it = pools_.begin(); it != pools_.end();) {
    // A new reference to a pool is made from a target's, or under the lock.
    if (it->second.use_count() > 1 || it->second->size() > 0) {
      ++it;
      continue;
    }
    unused.push_back(std::move(it->second));
    it = pools_.erase(it);
    pools_changed_ = true;
  }
}

void Invoker::CheckDeadlines() {
  const Nanos now = context_->clock->Now();
  {
    MutexLock lock(&mu_);
    if (std::exchange(pools_changed_, false)) {
      checked_.clear();
      for (const auto& [name, pool] : pools_) checked_.push_back(pool.get());
    }
  }
  for (EndpointPool* pool : checked_) pool->CheckDeadlines(now);
}

void Invoker::CheckTime() {
  const Nanos now = context_->clock->Now();
  for (const auto& pool : Pools()) pool->CheckTime(now);
  ForgetUnusedPools();
}

void Invoker::Close() {
  closed_.store(true);
  for (const auto& pool : Pools()) pool->Close();
}

size_t Invoker::pools() const {
  MutexLock lock(&mu_);
  return pools_.size();
}

size_t Invoker::connections() const {
  size_t n = 0;
  for (const auto& pool : Pools()) n += pool->size();
  return n;
}

}  // namespace weir::orb
