// One of the processes that a remote filter may ask: for the parts of RemoteFilter.

#ifndef WEIR_FILTERS_REMOTE_REPLICA_H_
#define WEIR_FILTERS_REMOTE_REPLICA_H_

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filters/remote/breaker.h"
#include "filters/remote/remote_filter.h"

namespace weir::filters {

class RemoteFilter::Replica final : private Channel::Listener {
 public:
  Replica(RemoteFilter* owner, size_t number, const MakeChannel& make_channel)
      : filter_(owner),
        index(number),
        breaker(owner->options_.breaker, owner->options_.breaker_pause),
        channel(make_channel(this)),
        address(channel->address()) {}

 private:
  void Connected(std::vector<MethodInfo> methods) override {
    filter_->Connected(this, std::move(methods));
  }
  void Answered(uint64_t ticket, Answer answer) override {
    filter_->Answered(this, ticket, std::move(answer));
  }
  void Unanswered(uint64_t ticket) override { filter_->Unanswered(this, ticket); }
  void Disconnected(std::string_view why) override { filter_->Disconnected(this, why); }
  void NotConnected(std::string_view why) override { filter_->NotConnected(this, why); }

  RemoteFilter* const filter_;

 public:
  const size_t index;
  std::atomic<bool> connected{false};
  std::atomic<uint64_t> asked{0}, answered{0};

  // With the filter's lock.
  std::vector<MethodInfo> described;
  bool known = false;        // `described` was told, however long ago
  std::deque<Offer> offers;  // of each of the filter's methods
  Breaker breaker;
  uint64_t attempts_failed = 0;  // in a row

  std::unique_ptr<Channel> channel;
  const std::string address;  // while the channel goes, it still has things to tell
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_REPLICA_H_
