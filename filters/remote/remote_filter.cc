#include "filters/remote/remote_filter.h"

#include <bit>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "filters/log_line.h"
#include "filters/remote/apply_answer.h"
#include "filters/step_outcome.h"

namespace weir::filters {

namespace {
constexpr const char* kCountNames[] = {"asked",    "answered", "timed_out",    "late",
                                       "lost",     "overload", "absent",       "breaker_open",
                                       "failures", "refused",  "policy_taken", "connects"};
}  // namespace

RemoteFilter::RemoteFilter(const RemoteOptions& options, const FilterContext& context,
                           Ticker* ticker, const MakeChannel& make_channel)
    : options_(options),
      clock_(context.clock),
      logger_(context.logger),
      plug_(context.plug),
      ticker_(ticker),
      channel_(make_channel(this)),
      address_(channel_->address()) {
  static_assert(std::size(kCountNames) == kCounts);
  channel_->Tick(clock_->Now());
  tick_ = ticker_->Add([this] { Tick(); });
}

RemoteFilter::~RemoteFilter() {
  ticker_->Remove(tick_);
  channel_.reset();
}

absl::StatusOr<int> RemoteFilter::MethodIndex(Phase phase, std::string_view name) {
  MutexLock lock(&mu_);
  // Before anything else: what is mapped stays mapped, and fails if the filter lacks it.
  for (size_t i = 0; i < methods_.size(); ++i) {
    if (methods_[i].phase == phase && methods_[i].name == name) return static_cast<int>(i);
  }
  const MethodInfo* declared = nullptr;
  std::vector<std::string> names;
  for (const MethodInfo& m : described_) {
    if (m.phase != phase) continue;
    if (m.name == name) declared = &m;
    names.push_back(m.name);
  }
  if (known_ && declared == nullptr) {
    return absl::NotFoundError(
        StrCat("the filter at ", address_, " has no ", PhaseName(phase), " method '", Escape(name),
               "'; its ", PhaseName(phase),
               " methods are: ", names.empty() ? "none" : absl::StrJoin(names, ", ")));
  }
  Method& m = methods_.emplace_back(Method{std::string(name), phase});
  if (declared != nullptr) {
    m.declared = true;
    m.reads = declared->reads;
    m.changes = declared->changes;
  }
  return static_cast<int>(methods_.size() - 1);
}

std::string RemoteFilter::MethodName(int method) const {
  MutexLock lock(&mu_);
  return methods_[method].name;
}

std::vector<FilterCounter> RemoteFilter::Counters() const {
  std::vector<FilterCounter> counters;
  counters.push_back({"", "connected", connected_.load() ? 1u : 0u});
  {
    MutexLock lock(&mu_);
    counters.push_back({"", "waiting", waiting_.size()});
  }
  for (size_t i = 0; i < kCounts; ++i) {
    counters.push_back({"", kCountNames[i], counts_[i].load(std::memory_order_relaxed)});
  }
  return counters;
}

bool RemoteFilter::BreakerAdmits(Nanos now) {
  if (broken_until_ == 0) return true;
  if (now < broken_until_) return false;
  // Half open: this call tries, further ones wait for what comes of it.
  broken_until_ = now + options_.breaker_pause;
  return true;
}

void RemoteFilter::Start(Phase phase, int method, Suspension call) {
  if (!connected_.load(std::memory_order_acquire)) {
    return TakePolicy(phase, kAbsent, StepOutcome::kRefused, std::move(call));
  }
  const Nanos now = clock_->Now();
  Question question;
  question.ticket = next_ticket_.fetch_add(1, std::memory_order_relaxed);
  question.phase = phase;
  std::string name;
  std::optional<Count> refused;
  {
    MutexLock lock(&mu_);
    const Method& m = methods_[method];
    if (!m.declared) {
      refused = kAbsent;
    } else if (waiting_.size() >= static_cast<size_t>(options_.max_waiting)) {
      refused = kOverload;
    } else if (!BreakerAdmits(now)) {
      refused = kBroken;
    } else {
      name = m.name;
      question.reads = m.reads;
    }
  }
  if (refused.has_value())
    return TakePolicy(phase, *refused, StepOutcome::kRefused, std::move(call));
  question.method = name;
  question.call = &*call;

  const bool asked = channel_->Ask(question, [&] {
    Add(kAsked);
    MutexLock lock(&mu_);
    waiting_.emplace(question.ticket,
                     Waiting{std::move(call), phase, method, now + options_.of(phase).timeout});
  });
  if (!asked) TakePolicy(phase, kAbsent, StepOutcome::kRefused, std::move(call));
}

void RemoteFilter::LetGo() {
  absl::flat_hash_map<uint64_t, Waiting> left;
  {
    MutexLock lock(&mu_);
    left.swap(waiting_);
  }
  for (auto& [ticket, w] : left) w.call.Fail("the node ends");
}

void RemoteFilter::TakePolicy(Phase phase, Count reason, StepOutcome why, Suspension call) {
  Add(reason);
  Add(kPolicy);
  const Verdict verdict = options_.of(phase).on_failure.Apply(phase, *call);
  call.ResumeByPolicy(verdict, why);
}

void RemoteFilter::Tick() {
  const Nanos now = clock_->Now();
  channel_->Tick(now);
  std::vector<Waiting> late;
  {
    MutexLock lock(&mu_);
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (it->second.deadline > now) {
        ++it;
        continue;
      }
      late.push_back(std::move(it->second));
      waiting_.erase(it++);
    }
    if (!late.empty()) {
      timeouts_in_a_row_ += static_cast<int>(late.size());
      if (options_.breaker != 0 && timeouts_in_a_row_ >= options_.breaker && broken_until_ == 0) {
        broken_until_ = now + options_.breaker_pause;
        Log(LogLevel::kWarning, "filter_breaker_open",
            StrCat(timeouts_in_a_row_, " calls in a row got no answer in time"));
      }
    }
  }
  for (Waiting& w : late) TakePolicy(w.phase, kTimedOut, StepOutcome::kTimedOut, std::move(w.call));
}

void RemoteFilter::Failed(std::string_view why, Phase phase, Suspension call) {
  const uint64_t failures = counts_[kFailures].load(std::memory_order_relaxed) + 1;
  if (std::has_single_bit(failures)) {
    Log(LogLevel::kError, "filter_failed", StrCat("failure ", failures, ": ", why));
  }
  TakePolicy(phase, kFailures, StepOutcome::kFailed, std::move(call));
}

void RemoteFilter::Answered(uint64_t ticket, Answer answer) {
  Waiting waiting;
  bool may_change = false;
  {
    MutexLock lock(&mu_);
    const auto it = waiting_.find(ticket);
    if (it == waiting_.end()) {
      Add(kLate);
      return;
    }
    waiting = std::move(it->second);
    waiting_.erase(it);
    may_change = methods_[waiting.method].changes;
    timeouts_in_a_row_ = 0;
    if (broken_until_ != 0) {
      broken_until_ = 0;
      Log(LogLevel::kInfo, "filter_breaker_closed", "the filter answers again");
    }
  }
  Add(kAnswered);
  if (answer.kind == Answer::Kind::kFailure) {
    return Failed(answer.failure, waiting.phase, std::move(waiting.call));
  }
  bool refused = false;
  const absl::StatusOr<Verdict> verdict =
      ApplyAnswer(std::move(answer), waiting.phase, may_change, &*waiting.call, &refused);
  if (!verdict.ok()) {
    return Failed(ToStd(verdict.status().message()), waiting.phase, std::move(waiting.call));
  }
  if (refused) Add(kRefused);
  waiting.call.Resume(*verdict);
}

void RemoteFilter::Connected(std::vector<MethodInfo> methods) {
  Add(kConnects);
  {
    MutexLock lock(&mu_);
    described_ = std::move(methods);
    known_ = true;
    attempts_failed_ = 0;
    timeouts_in_a_row_ = 0;
    broken_until_ = 0;
    for (Method& m : methods_) {
      m.declared = false;
      for (const MethodInfo& declared : described_) {
        if (declared.phase != m.phase || declared.name != m.name) continue;
        m.declared = true;
        m.reads = declared.reads;
        m.changes = declared.changes;
      }
      if (!m.declared) {
        Log(LogLevel::kError, "filter_lacks_method", StrCat(PhaseName(m.phase), " ", m.name));
      }
    }
  }
  connected_.store(true, std::memory_order_release);
  Log(LogLevel::kInfo, "filter_connected", "");
}

void RemoteFilter::Disconnected(std::string_view why) {
  connected_.store(false, std::memory_order_release);
  absl::flat_hash_map<uint64_t, Waiting> lost;
  {
    MutexLock lock(&mu_);
    lost.swap(waiting_);
  }
  Log(LogLevel::kWarning, "filter_disconnected", why);
  for (auto& [ticket, w] : lost)
    TakePolicy(w.phase, kLost, StepOutcome::kFailed, std::move(w.call));
}

void RemoteFilter::NotConnected(std::string_view why) {
  uint64_t failed;
  {
    MutexLock lock(&mu_);
    failed = ++attempts_failed_;
  }
  if (std::has_single_bit(failed)) {
    Log(LogLevel::kWarning, "filter_not_connected", StrCat("attempt ", failed, ": ", why));
  }
}

void RemoteFilter::Log(LogLevel level, std::string_view event, std::string_view why) {
  LogLine line(event);
  line.Add("plug", plug_);
  line.Add("at", address_);
  if (!why.empty()) line.Add("why", why);
  logger_->Log(level, line.view());
}

}  // namespace weir::filters
