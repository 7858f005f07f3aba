// A channel to a filter that is an object (IDL:weir/Filter:1.0, see wire.h), called over whatever
// endpoint its reference offers.
//
// Thread safety: as Channel.

#ifndef WEIR_FILTERS_REMOTE_ORB_CHANNEL_H_
#define WEIR_FILTERS_REMOTE_ORB_CHANNEL_H_

#include <memory>
#include <string>

#include "base/mutex.h"
#include "filters/remote/channel.h"
#include "orb/core/orb.h"

namespace weir::filters {

// The ORB that such channels call through: there may be none yet when a filter is made, and none
// any more when it goes.
//
// Thread safety: safe for concurrent use.
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

struct OrbChannelOptions {
  std::string reference;  // CORBALOC|IOR
  std::string name;       // of the filter, where an object has several
  // The pause after a failed attempt, doubled up to the second.
  Nanos least_pause = 50 * kMillisecond;
  Nanos most_pause = 2 * kSecond;
  Nanos connect_timeout = 2 * kSecond;
  // How much longer than the asker a question waits for its answer, so that late ones are counted.
  Nanos patience = 200 * kMillisecond;
};

// All pointers must outlive the channel.
std::unique_ptr<Channel> NewOrbChannel(OrbChannelOptions options, OrbHandle* orb,
                                       Channel::Listener* listener);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_ORB_CHANNEL_H_
