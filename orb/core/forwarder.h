// The servant behind a gateway: sends every call on to an upstream server, with the same object key
// and the same bytes, and returns the reply when it comes. Calls that a filter has sent to an
// object of another server go there. No thread waits meanwhile, unless it has nothing better to do:
// a lone call is carried from end to end by one thread.
//
// Thread safety: as Servant.

#ifndef WEIR_ORB_CORE_FORWARDER_H_
#define WEIR_ORB_CORE_FORWARDER_H_

#include <atomic>
#include <memory>
#include <string>

#include "base/logger.h"
#include "orb/core/invoker.h"
#include "orb/core/servant.h"

namespace weir::orb {

struct ForwarderOptions {
  // How long the upstream may take for a call; then the caller gets TIMEOUT. kNoDeadline: for ever.
  Nanos timeout = 60 * kSecond;
};

class Forwarder : public Servant {
 public:
  // All pointers must outlive the forwarder. `upstream` is null where all calls are of the kind
  // that filters have sent elsewhere.
  Forwarder(Invoker* invoker, std::shared_ptr<Target> upstream, Reactor* reactor,
            const Clock* clock, Logger* logger, ForwarderOptions options = {});

  std::string_view repository_id() const override { return ""; }
  bool HandlesBuiltins() const override { return true; }
  bool NeverBlocks() const override { return true; }
  void Dispatch(CallRef call) override;
  ObjectIdentity Identify(std::string_view key) override;
  void AskIsA(std::string_view key, std::string_view id, Nanos deadline,
              IsAListener* listener) override;

 private:
  class Forwarded;
  friend struct ForwardedList;

  // Where the call goes.
  const std::shared_ptr<Target>& TargetOf(const Call& call) const {
    return call.elsewhere() != nullptr ? call.elsewhere() : upstream_;
  }
  bool MayBePatient();
  void LearnPatience(bool paid);

  Invoker* const invoker_;
  const std::shared_ptr<Target> upstream_;
  Reactor* const reactor_;
  const Clock* const clock_;
  Logger* const logger_;
  const ForwarderOptions options_;

  // Reading the reply on the calling thread pays when the upstream is quick. After a wait that did
  // not, so many calls go by before it is tried again.
  std::atomic<int> skip_{0};
  std::atomic<int> penalty_{kLeastPenalty};
  static constexpr int kLeastPenalty = 16;
  static constexpr int kMostPenalty = 1024;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_FORWARDER_H_
