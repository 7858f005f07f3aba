#include "filters/remote/ticker.h"

#include <utility>

namespace weir::filters {

Ticker::~Ticker() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
}

int Ticker::Add(std::function<void()> tick) {
  MutexLock lock(&mu_);
  const int id = next_id_++;
  ticks_.emplace(id, std::move(tick));
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  changed_.SignalAll();
  return id;
}

void Ticker::Remove(int id) {
  MutexLock lock(&mu_);
  while (running_ == id) changed_.Wait(&mu_);
  ticks_.erase(id);
}

void Ticker::Run() {
  MutexLock lock(&mu_);
  while (!stopping_) {
    if (ticks_.empty()) {
      changed_.Wait(&mu_);
      continue;
    }
    changed_.WaitFor(&mu_, period_);
    // Ticks may be added and removed while one runs.
    for (auto it = ticks_.begin(); it != ticks_.end() && !stopping_;) {
      running_ = it->first;
      const std::function<void()>& tick = it->second;
      mu_.Unlock();
      tick();
      mu_.Lock();
      const int id = std::exchange(running_, 0);
      changed_.SignalAll();
      it = ticks_.upper_bound(id);
    }
  }
}

}  // namespace weir::filters
