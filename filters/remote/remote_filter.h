// A filter in another process, as the chain sees it: suspends calls, asks, and applies what is
// answered; and the failure ladder for when nothing is.
//
// A question is not put, and the plug's policy is applied at once, while the filter is not
// connected, while too many calls wait for it, or while the breaker is open. Otherwise the call
// waits until the answer, the loss of the connection, or the timeout, whichever comes first. What
// comes later is dropped and counted.
//
// Thread safety: as Filter.

#ifndef WEIR_FILTERS_REMOTE_REMOTE_FILTER_H_
#define WEIR_FILTERS_REMOTE_REMOTE_FILTER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "filters/filter.h"
#include "filters/remote/channel.h"
#include "filters/remote/policy.h"
#include "filters/remote/ticker.h"

namespace weir::filters {

class RemoteFilter : public Filter, private Channel::Listener {
 public:
  using MakeChannel = std::function<std::unique_ptr<Channel>(Channel::Listener*)>;

  // `ticker` must outlive the filter.
  RemoteFilter(const RemoteOptions& options, const FilterContext& context, Ticker* ticker,
               const MakeChannel& make_channel);
  // REQUIRES: no call waits for it, which the snapshot that each call holds sees to.
  ~RemoteFilter() override;

  bool asynchronous() const override { return true; }
  void StartUp(int method, Suspension call) override { Start(Phase::kUp, method, std::move(call)); }
  void StartDown(int method, Suspension call) override {
    Start(Phase::kDown, method, std::move(call));
  }
  // Not called for asynchronous filters.
  Verdict Up(int, orb::Call&) override { return Verdict::kPass; }
  Verdict Down(int, orb::Call&) override { return Verdict::kPass; }

  void LetGo() override;

  absl::StatusOr<int> MethodIndex(Phase phase, std::string_view name) override;
  std::string MethodName(int method) const override;
  std::vector<FilterCounter> Counters() const override;

 private:
  // A method that is mapped, whether or not the filter has it.
  struct Method {
    std::string name;
    Phase phase;
    Reads reads = Reads::kHeader;
    bool changes = false;
    bool declared = false;  // by the filter that is connected
  };
  struct Waiting {
    Suspension call;
    Phase phase = Phase::kUp;
    int method = 0;
    Nanos deadline = 0;
  };
  enum Count : size_t {
    kAsked,
    kAnswered,
    kTimedOut,
    kLate,      // answers to what was no longer waited for, or never asked
    kLost,      // calls that waited when the connection broke
    kOverload,  // more than max_waiting
    kAbsent,    // not connected
    kBroken,    // the breaker was open
    kFailures,  // the filter said that it could not judge
    kRefused,   // changes that the method had not declared
    kPolicy,    // calls that got the policy, for any of these reasons
    kConnects,
    kCounts,
  };

  void Start(Phase phase, int method, Suspension call);
  // Counts the reason, and lets the call go on with the policy's verdict. `why` is for the gate.
  void TakePolicy(Phase phase, Count reason, StepOutcome why, Suspension call);
  // The filter has said, in `why`, that it cannot judge.
  void Failed(std::string_view why, Phase phase, Suspension call);
  void Tick();
  // Whether the filter may be asked now.
  bool BreakerAdmits(Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Add(Count count, uint64_t n = 1) { counts_[count].fetch_add(n, std::memory_order_relaxed); }
  void Log(LogLevel level, std::string_view event, std::string_view why);

  void Connected(std::vector<MethodInfo> methods) override;
  void Answered(uint64_t ticket, Answer answer) override;
  void Disconnected(std::string_view why) override;
  void NotConnected(std::string_view why) override;

  const RemoteOptions options_;
  const Clock* const clock_;
  Logger* const logger_;
  const std::string plug_;
  Ticker* const ticker_;
  std::atomic<uint64_t> counts_[kCounts] = {};
  std::atomic<uint64_t> next_ticket_{1};
  std::atomic<bool> connected_{false};

  mutable Mutex mu_;
  std::deque<Method> methods_ ABSL_GUARDED_BY(mu_);  // in the order in which they were asked for
  std::vector<MethodInfo> described_ ABSL_GUARDED_BY(mu_);
  bool known_ ABSL_GUARDED_BY(mu_) = false;  // `described_` was told, however long ago
  absl::flat_hash_map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  int timeouts_in_a_row_ ABSL_GUARDED_BY(mu_) = 0;
  Nanos broken_until_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t attempts_failed_ ABSL_GUARDED_BY(mu_) = 0;  // in a row

  std::unique_ptr<Channel> channel_;
  const std::string address_;  // while channel_ goes, it still has things to tell
  int tick_ = 0;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_REMOTE_FILTER_H_
