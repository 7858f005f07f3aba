// The ORB that filters make calls through: there may be none yet when a filter is made, and none
// any more when it goes.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_FILTERS_OUTGOING_ORB_HANDLE_H_
#define WEIR_FILTERS_OUTGOING_ORB_HANDLE_H_

#include "base/mutex.h"
#include "orb/core/orb.h"

namespace weir::filters {

class OrbHandle {
 public:
  // `orb` is started. Waits until nobody uses the one before.
  void set(orb::Orb* orb) {
    MutexLock lock(&mu_);
    orb_ = orb;
    while (orb == nullptr && users_ != 0) changed_.Wait(&mu_);
  }
  // Runs `use` with the ORB, if there is one. Nests.
  template <typename Use>
  bool With(const Use& use) {
    orb::Orb* orb;
    {
      MutexLock lock(&mu_);
      orb = orb_;
      if (orb == nullptr) return false;
      ++users_;
    }
    use(orb);
    MutexLock lock(&mu_);
    if (--users_ == 0) changed_.SignalAll();
    return true;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  orb::Orb* orb_ ABSL_GUARDED_BY(mu_) = nullptr;
  int users_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_OUTGOING_ORB_HANDLE_H_
