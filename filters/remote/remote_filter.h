// A filter in another process, as the chain sees it: suspends calls, asks, and applies what is
// answered; and the failure ladder for when nothing is.
//
// The filter may have spares: replicas that are asked, in the order in which the plug names them,
// while those before them cannot be. A replica is not asked while it is not connected, lacks the
// method, or has an open breaker. If none can be asked, or too many calls wait, the plug's policy
// is applied at once. Otherwise the call waits until the answer, the loss of the connection, or the
// timeout, whichever comes first. What comes later is dropped and counted.
//
// A call whose connection breaks is put to the next replica at once, within the same timeout, each
// replica no more than once. So a call may be judged by two of them, of whom one was not heard: a
// filter must not mind being asked about a call whose verdict is then not taken. After a timeout
// nobody else is asked.
//
// A plug may allow that the filter is asked about a request *ahead*, while filters before it have
// the call. The question then waits like any other, but without the call; what is answered is kept
// until the call comes, and is applied then. It is forgotten if the call does not come.
//
// Thread safety: as Filter.

#ifndef WEIR_FILTERS_REMOTE_REMOTE_FILTER_H_
#define WEIR_FILTERS_REMOTE_REMOTE_FILTER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "filters/filter.h"
#include "filters/remote/channel.h"
#include "filters/remote/policy.h"
#include "filters/remote/ticker.h"

namespace weir::filters {

class RemoteFilter : public Filter {
 public:
  using MakeChannel = std::function<std::unique_ptr<Channel>(Channel::Listener*)>;

  // One channel for the filter, then one for each spare. `ticker` must outlive the filter.
  RemoteFilter(const RemoteOptions& options, const FilterContext& context, Ticker* ticker,
               const std::vector<MakeChannel>& make_channels);
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

  void AskAhead(int method, const orb::Call& call) override;
  void Forget(int method, const orb::Call& call) override;
  bool OnlyLooks(int method) const override;
  void LetGo() override;

  absl::StatusOr<int> MethodIndex(Phase phase, std::string_view name) override;
  std::string MethodName(int method) const override;
  std::vector<FilterCounter> Counters() const override;

 private:
  // A method that is mapped, whether or not anybody has it.
  struct Method {
    std::string name;
    Phase phase;
    std::shared_ptr<const PhasePolicy> policy;  // what holds for it now
  };
  // What a replica has said of a method.
  struct Offer {
    bool there = false;
    Reads reads = Reads::kHeader;
    bool changes = false;
    PhaseOptions policy;  // remembered while the replica is away
  };
  class Replica;
  struct Waiting {
    Suspension call;  // empty while it was asked ahead and the call has not come
    uint64_t call_id = 0;
    std::optional<Answer> answer;  // which came before the call
    bool late = false;             // or did not come in time
    bool kept = false;             // the time for it is over
    Phase phase = Phase::kUp;
    int method = 0;
    std::shared_ptr<const PhasePolicy> policy;  // what held when it came
    Nanos deadline = 0;
    uint32_t tried = 0;  // replicas, as bits
    bool lost = false;   // the connection to one that was asked broke
    size_t replica = 0;  // that is asked
    bool may_change = false;
  };
  enum Count : size_t {
    kAsked,       // questions; a call may be put to several replicas
    kAnswered,    // calls
    kFailedOver,  // calls that a spare was asked about, as no replica before it could be
    kAskedAgain,  // calls that were put to another replica when the connection to one broke
    kTimedOut,
    kLate,      // answers to what was no longer waited for, or never asked
    kLost,      // calls that waited when the connection broke, and that nobody else could judge
    kOverload,  // more than max_waiting
    kAbsent,    // not connected
    kBroken,    // the breaker was open
    kFailures,  // the filter said that it could not judge
    kRefused,   // changes that the method had not declared
    kPolicy,    // calls that got the policy, for any of these reasons
    kConnects,
    kAhead,      // questions that were asked ahead
    kForgotten,  // of those, the ones whose call did not come, or came too late
    kCounts,
  };

  void Start(Phase phase, int method, Suspension call);
  // A new question of the call, with the method's policy.
  Waiting NewWaiting(Phase phase, int method, uint64_t call_id, Nanos now) const;
  // Puts it to the first replica that can be asked and was not, or applies the policy.
  void Ask(Waiting waiting, Nanos now);
  // The same; false, and nothing done, if there is none. `call` is the one that waits, or will.
  bool TryAsk(Waiting* waiting, const orb::Call& call, Nanos now, Count* refused);
  // The call has come, and was asked about ahead: goes on with what came of that. False: it was
  // not.
  bool TakeAhead(Phase phase, int method, Suspension* call);
  Waiting TakeOut(uint64_t ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What the replica has answered, to a call that waits.
  void Apply(Waiting waiting, Answer answer);
  // The replica will not answer these any more.
  void Lose(std::vector<Waiting> lost);
  // Counts the reason, and lets the call go on with the policy's verdict. `why` is for the gate.
  void TakePolicy(Count reason, StepOutcome why, Waiting waiting);
  // The replica that was asked has said, in `why`, that it cannot judge.
  void Failed(std::string_view why, Waiting waiting);
  void Tick();
  // What the replica has said of the method. A policy that makes no sense is logged and left out.
  Offer FindOffer(const Replica& replica, const Method& method);
  // Finds what holds for the method: the first replica that has it speaks for all.
  void SetPolicy(size_t method) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Add(Count count, uint64_t n = 1) { counts_[count].fetch_add(n, std::memory_order_relaxed); }
  void Log(const Replica& replica, LogLevel level, std::string_view event, std::string_view why);

  void Connected(Replica* replica, std::vector<MethodInfo> methods);
  void Answered(Replica* replica, uint64_t ticket, Answer answer);
  void Unanswered(Replica* replica, uint64_t ticket);
  void Disconnected(Replica* replica, std::string_view why);
  void NotConnected(Replica* replica, std::string_view why);

  const RemoteOptions options_;
  const Clock* const clock_;
  Logger* const logger_;
  const std::string plug_;
  Ticker* const ticker_;
  std::atomic<uint64_t> counts_[kCounts] = {};
  std::atomic<uint64_t> next_ticket_{1};
  int tick_ = 0;

  mutable Mutex mu_;
  std::deque<Method> methods_ ABSL_GUARDED_BY(mu_);  // in the order in which they were asked for
  absl::flat_hash_map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mu_);  // by ticket
  // Of those, the tickets of what was asked ahead, by call and method.
  absl::flat_hash_map<std::pair<uint64_t, int>, uint64_t> ahead_ ABSL_GUARDED_BY(mu_);

  std::vector<std::unique_ptr<Replica>> replicas_;  // constant; the first is no spare
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_REMOTE_FILTER_H_
