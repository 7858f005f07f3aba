#include "filters/remote/remote_filter.h"

#include <bit>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "filters/log_line.h"
#include "filters/remote/apply_answer.h"
#include "filters/remote/replica.h"
#include "filters/step_outcome.h"

namespace weir::filters {

namespace {
constexpr const char* kCountNames[] = {"asked",        "answered",     "failed_over", "asked_again",
                                       "timed_out",    "late",         "lost",        "overload",
                                       "absent",       "breaker_open", "failures",    "refused",
                                       "policy_taken", "connects",     "asked_ahead", "forgotten"};
}  // namespace

RemoteFilter::RemoteFilter(const RemoteOptions& options, const FilterContext& context,
                           Ticker* ticker, const std::vector<MakeChannel>& make_channels)
    : options_(options),
      clock_(context.clock),
      logger_(context.logger),
      plug_(context.plug),
      ticker_(ticker) {
  static_assert(std::size(kCountNames) == kCounts);
  for (const MakeChannel& make : make_channels) {
    replicas_.push_back(std::make_unique<Replica>(this, replicas_.size(), make));
  }
  for (const auto& replica : replicas_) replica->channel->Tick(clock_->Now());
  tick_ = ticker_->Add([this] { Tick(); });
}

RemoteFilter::~RemoteFilter() {
  ticker_->Remove(tick_);
  for (const auto& replica : replicas_) replica->channel.reset();
}

RemoteFilter::Offer RemoteFilter::FindOffer(const Replica& replica, const Method& method) {
  for (const MethodInfo& m : replica.described) {
    if (m.phase != method.phase || m.name != method.name) continue;
    absl::StatusOr<PhaseOptions> policy = Parse(m.policy);
    if (!policy.ok()) {
      Log(replica, LogLevel::kError, "filter_declares_bad_policy",
          StrCat(PhaseName(m.phase), " ", m.name, ": ", policy.status().message()));
      policy = PhaseOptions();
    }
    return {true, m.reads, m.changes, *std::move(policy)};
  }
  return {};
}

void RemoteFilter::SetPolicy(size_t method) {
  PhaseOptions declared;
  for (const auto& replica : replicas_) {
    if (!replica->offers[method].there) continue;
    declared = replica->offers[method].policy;
    break;
  }
  Method& m = methods_[method];
  m.policy = std::make_shared<const PhasePolicy>(options_.PolicyOf(m.phase, declared));
}

absl::StatusOr<int> RemoteFilter::MethodIndex(Phase phase, std::string_view name) {
  MutexLock lock(&mu_);
  // Before anything else: what is mapped stays mapped, and fails if the filter lacks it.
  for (size_t i = 0; i < methods_.size(); ++i) {
    if (methods_[i].phase == phase && methods_[i].name == name) return static_cast<int>(i);
  }
  Method method{std::string(name), phase, nullptr};
  std::vector<Offer> offers;
  bool there = false;
  for (const auto& replica : replicas_) {
    offers.push_back(FindOffer(*replica, method));
    there = there || offers.back().there;
  }
  // A spare may be known while the filter that it stands for is not.
  const Replica& first = *replicas_.front();
  if (!there && first.known) {
    std::vector<std::string> names;
    for (const MethodInfo& m : first.described) {
      if (m.phase == phase) names.push_back(m.name);
    }
    return absl::NotFoundError(
        StrCat("the filter at ", first.address, " has no ", PhaseName(phase), " method '",
               Escape(name), "'; its ", PhaseName(phase),
               " methods are: ", names.empty() ? "none" : absl::StrJoin(names, ", ")));
  }
  methods_.push_back(std::move(method));
  for (const auto& replica : replicas_) replica->offers.push_back(offers[replica->index]);
  SetPolicy(methods_.size() - 1);
  return static_cast<int>(methods_.size() - 1);
}

std::string RemoteFilter::MethodName(int method) const {
  MutexLock lock(&mu_);
  return methods_[method].name;
}

std::vector<FilterCounter> RemoteFilter::Counters() const {
  std::vector<FilterCounter> counters;
  uint64_t connected = 0;
  for (const auto& replica : replicas_) connected += replica->connected.load() ? 1 : 0;
  counters.push_back({"", "connected", connected});
  {
    MutexLock lock(&mu_);
    counters.push_back({"", "waiting", waiting_.size()});
  }
  for (size_t i = 0; i < kCounts; ++i) {
    counters.push_back({"", kCountNames[i], counts_[i].load(std::memory_order_relaxed)});
  }
  if (replicas_.size() == 1) return counters;
  for (const auto& replica : replicas_) {
    const std::string name = replica->index == 0 ? "first" : StrCat("spare_", replica->index);
    counters.push_back({"", name + "_connected", replica->connected.load() ? 1u : 0u});
    counters.push_back({"", name + "_asked", replica->asked.load(std::memory_order_relaxed)});
    counters.push_back({"", name + "_answered", replica->answered.load(std::memory_order_relaxed)});
  }
  return counters;
}

RemoteFilter::Waiting RemoteFilter::NewWaiting(Phase phase, int method, uint64_t call_id,
                                               Nanos now) const {
  Waiting waiting;
  waiting.call_id = call_id;
  waiting.phase = phase;
  waiting.method = method;
  {
    MutexLock lock(&mu_);
    waiting.policy = methods_[method].policy;
  }
  waiting.deadline = now + waiting.policy->timeout;
  return waiting;
}

void RemoteFilter::Start(Phase phase, int method, Suspension call) {
  if (options_.ahead && phase == Phase::kUp && TakeAhead(phase, method, &call)) return;
  const Nanos now = clock_->Now();
  Waiting waiting = NewWaiting(phase, method, call->id(), now);
  waiting.call = std::move(call);
  Ask(std::move(waiting), now);
}

RemoteFilter::Waiting RemoteFilter::TakeOut(uint64_t ticket) {
  const auto it = waiting_.find(ticket);
  Waiting waiting = std::move(it->second);
  waiting_.erase(it);
  if (!waiting.call) ahead_.erase({waiting.call_id, waiting.method});
  return waiting;
}

bool RemoteFilter::TryAsk(Waiting* waiting, const orb::Call& call, Nanos now, Count* refused) {
  *refused = kAbsent;
  for (const auto& replica : replicas_) {
    const uint32_t bit = uint32_t{1} << replica->index;
    if ((waiting->tried & bit) != 0 || !replica->connected.load(std::memory_order_acquire))
      continue;
    Question question;
    std::string name;
    {
      MutexLock lock(&mu_);
      const Offer& offer = replica->offers[waiting->method];
      if (!offer.there) continue;
      if (waiting_.size() >= static_cast<size_t>(options_.max_waiting)) {
        *refused = kOverload;
        return false;
      }
      if (!replica->breaker.Admits(now)) {
        *refused = kBroken;
        continue;
      }
      name = methods_[waiting->method].name;
      question.reads = offer.reads;
      waiting->may_change = offer.changes;
    }
    question.ticket = next_ticket_.fetch_add(1, std::memory_order_relaxed);
    question.method = name;
    question.phase = waiting->phase;
    question.call = &call;
    question.deadline = waiting->deadline;
    waiting->tried |= bit;
    waiting->replica = replica->index;
    const bool asked = replica->channel->Ask(question, [&] {
      Add(kAsked);
      replica->asked.fetch_add(1, std::memory_order_relaxed);
      if (waiting->lost) {
        Add(kAskedAgain);
      } else if (replica->index != 0) {
        Add(kFailedOver);
      }
      const bool ahead = !waiting->call;
      if (ahead) Add(kAhead);
      MutexLock lock(&mu_);
      if (ahead) ahead_[{waiting->call_id, waiting->method}] = question.ticket;
      waiting_.emplace(question.ticket, std::move(*waiting));
    });
    if (asked) return true;
  }
  return false;
}

void RemoteFilter::Ask(Waiting waiting, Nanos now) {
  Count refused;
  if (TryAsk(&waiting, *waiting.call, now, &refused)) return;
  if (waiting.lost) return TakePolicy(kLost, StepOutcome::kFailed, std::move(waiting));
  TakePolicy(refused, StepOutcome::kRefused, std::move(waiting));
}

void RemoteFilter::Lose(std::vector<Waiting> lost) {
  const Nanos now = clock_->Now();
  for (Waiting& w : lost) {
    if (!w.call) continue;  // asked ahead: asked anew when the call comes
    w.lost = true;
    if (w.deadline > now) {
      Ask(std::move(w), now);
    } else {
      TakePolicy(kLost, StepOutcome::kFailed, std::move(w));
    }
  }
}

void RemoteFilter::LetGo() {
  absl::flat_hash_map<uint64_t, Waiting> left;
  {
    MutexLock lock(&mu_);
    left.swap(waiting_);
    ahead_.clear();
  }
  for (auto& [ticket, w] : left) {
    if (w.call) w.call.Fail("the node ends");
  }
}

void RemoteFilter::TakePolicy(Count reason, StepOutcome why, Waiting waiting) {
  Add(reason);
  Add(kPolicy);
  const Verdict verdict = waiting.policy->on_failure.Apply(waiting.phase, *waiting.call);
  waiting.call.ResumeByPolicy(verdict, why);
}

void RemoteFilter::Tick() {
  const Nanos now = clock_->Now();
  for (const auto& replica : replicas_) replica->channel->Tick(now);
  std::vector<Waiting> late;
  {
    MutexLock lock(&mu_);
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      const auto here = it++;
      Waiting& w = here->second;
      if (w.deadline > now) continue;
      Replica& replica = *replicas_[w.replica];
      const bool told = w.answer.has_value() || w.late;
      if (!told && replica.breaker.TimedOut(now)) {
        Log(replica, LogLevel::kWarning, "filter_breaker_open",
            StrCat(replica.breaker.timeouts_in_a_row(), " calls in a row got no answer in time"));
      }
      if (w.call) {
        late.push_back(std::move(w));
        waiting_.erase(here);
      } else if (w.kept) {
        ahead_.erase({w.call_id, w.method});
        waiting_.erase(here);
        Add(kForgotten);
      } else {
        // What has come of it is kept for as long again.
        w.late = !told;
        w.kept = true;
        w.deadline += w.policy->timeout;
      }
    }
  }
  for (Waiting& w : late) TakePolicy(kTimedOut, StepOutcome::kTimedOut, std::move(w));
}

void RemoteFilter::Failed(std::string_view why, Waiting waiting) {
  const uint64_t failures = counts_[kFailures].load(std::memory_order_relaxed) + 1;
  if (std::has_single_bit(failures)) {
    Log(*replicas_[waiting.replica], LogLevel::kError, "filter_failed",
        StrCat("failure ", failures, ": ", why));
  }
  TakePolicy(kFailures, StepOutcome::kFailed, std::move(waiting));
}

void RemoteFilter::Answered(Replica* replica, uint64_t ticket, Answer answer) {
  Waiting waiting;
  {
    MutexLock lock(&mu_);
    const auto it = waiting_.find(ticket);
    // Nobody answers for another one, or twice.
    if (it == waiting_.end() || it->second.replica != replica->index || it->second.answer ||
        it->second.late) {
      Add(kLate);
      return;
    }
    if (replica->breaker.Answered()) {
      Log(*replica, LogLevel::kInfo, "filter_breaker_closed", "the filter answers again");
    }
    Add(kAnswered);
    replica->answered.fetch_add(1, std::memory_order_relaxed);
    if (!it->second.call) {
      it->second.answer = std::move(answer);
      return;
    }
    waiting = TakeOut(ticket);
  }
  Apply(std::move(waiting), std::move(answer));
}

void RemoteFilter::Apply(Waiting waiting, Answer answer) {
  if (answer.kind == Answer::Kind::kFailure) {
    return Failed(answer.failure, std::move(waiting));
  }
  bool refused = false;
  const absl::StatusOr<Verdict> verdict =
      ApplyAnswer(std::move(answer), waiting.phase, waiting.may_change, &*waiting.call, &refused);
  if (!verdict.ok()) {
    return Failed(ToStd(verdict.status().message()), std::move(waiting));
  }
  if (refused) Add(kRefused);
  waiting.call.Resume(*verdict);
}

void RemoteFilter::Connected(Replica* replica, std::vector<MethodInfo> methods) {
  Add(kConnects);
  {
    MutexLock lock(&mu_);
    replica->described = std::move(methods);
    replica->known = true;
    replica->attempts_failed = 0;
    replica->breaker.Close();
    for (size_t i = 0; i < methods_.size(); ++i) {
      replica->offers[i] = FindOffer(*replica, methods_[i]);
      SetPolicy(i);
      if (!replica->offers[i].there) {
        Log(*replica, LogLevel::kError, "filter_lacks_method",
            StrCat(PhaseName(methods_[i].phase), " ", methods_[i].name));
      }
    }
  }
  replica->connected.store(true, std::memory_order_release);
  Log(*replica, LogLevel::kInfo, "filter_connected", "");
}

void RemoteFilter::Unanswered(Replica* replica, uint64_t ticket) {
  std::vector<Waiting> lost;
  {
    MutexLock lock(&mu_);
    const auto it = waiting_.find(ticket);
    if (it == waiting_.end() || it->second.replica != replica->index) return;
    if (it->second.answer) return;
    lost.push_back(TakeOut(ticket));
  }
  Lose(std::move(lost));
}

void RemoteFilter::Disconnected(Replica* replica, std::string_view why) {
  replica->connected.store(false, std::memory_order_release);
  std::vector<Waiting> lost;
  {
    MutexLock lock(&mu_);
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      const auto here = it++;
      if (here->second.replica != replica->index || here->second.answer) continue;
      lost.push_back(TakeOut(here->first));
    }
  }
  Log(*replica, LogLevel::kWarning, "filter_disconnected", why);
  Lose(std::move(lost));
}

void RemoteFilter::NotConnected(Replica* replica, std::string_view why) {
  uint64_t failed;
  {
    MutexLock lock(&mu_);
    failed = ++replica->attempts_failed;
  }
  if (std::has_single_bit(failed)) {
    Log(*replica, LogLevel::kWarning, "filter_not_connected",
        StrCat("attempt ", failed, ": ", why));
  }
}

void RemoteFilter::Log(const Replica& replica, LogLevel level, std::string_view event,
                       std::string_view why) {
  LogLine line(event);
  line.Add("plug", plug_);
  line.Add("at", replica.address);
  if (!why.empty()) line.Add("why", why);
  logger_->Log(level, line.view());
}

}  // namespace weir::filters
