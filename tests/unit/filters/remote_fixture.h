// A remote filter over channels that a test plays: what is asked, and what comes of it, step by
// step and without a connection.
//
// Thread safety: for the test's main thread, with the ticker's beside it.

#ifndef WEIR_TESTS_UNIT_FILTERS_REMOTE_FIXTURE_H_
#define WEIR_TESTS_UNIT_FILTERS_REMOTE_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/strings.h"
#include "filters/remote/remote_filter.h"
#include "filters/step_outcome.h"
#include "tests/unit/filters/fake_call.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {

// Keeps every line, of any thread.
class LockedLogger : public Logger {
 public:
  void Log(LogLevel, std::string_view line) override {
    MutexLock lock(&mu_);
    lines_ += StrCat(line, "\n");
  }
  std::string lines() const {
    MutexLock lock(&mu_);
    return lines_;
  }

 private:
  mutable Mutex mu_;
  std::string lines_ ABSL_GUARDED_BY(mu_);
};

// One replica, as the filter reaches it.
class FakeChannel : public Channel {
 public:
  FakeChannel(std::string address, Listener* listener)
      : listener_(listener), address_(std::move(address)) {}

  bool Ask(const Question& question, absl::FunctionRef<void()> will_ask) override {
    if (!takes) return false;
    tickets.push_back(question.ticket);
    deadlines.push_back(question.deadline);
    will_ask();
    return true;
  }
  void Tick(Nanos) override {}
  std::string address() const override { return address_; }

  void Connect(std::vector<MethodInfo> methods) { listener_->Connected(std::move(methods)); }
  void Lose() { listener_->Disconnected("the test says so"); }
  void LoseOne(uint64_t ticket) { listener_->Unanswered(ticket); }
  void Answer(uint64_t ticket, Answer answer = {}) {
    listener_->Answered(ticket, std::move(answer));
  }
  uint64_t last() const { return tickets.back(); }

  bool takes = true;
  std::vector<uint64_t> tickets;
  std::vector<Nanos> deadlines;

 private:
  Listener* const listener_;
  const std::string address_;
};

// A call that is in the filter's hands, and what became of it.
class FakeSuspended final : private Suspension::Resumer {
 public:
  explicit FakeSuspended(Phase phase) : call("key", "op", orb::NextCallId()) {
    if (phase == Phase::kDown) call.SetResult();
  }
  Suspension Suspend() { return Suspension(this, &call); }

  // Empty while it waits: "pass", "bounce", "raise", "redirect", "failed"; by the policy: with
  // " by policy" behind it.
  std::string outcome() const {
    MutexLock lock(&mu_);
    return outcome_;
  }
  std::optional<StepOutcome> why() const {
    MutexLock lock(&mu_);
    return why_;
  }

  FakeCall call;

 private:
  static std::string Name(Verdict verdict) {
    static constexpr const char* kNames[] = {"pass", "bounce", "raise", "redirect"};
    return kNames[static_cast<size_t>(verdict)];
  }
  void Set(std::string outcome) {
    MutexLock lock(&mu_);
    EXPECT_EQ(outcome_, "") << "resumed twice";
    outcome_ = std::move(outcome);
  }
  void Resume(orb::Call&, Verdict verdict) override { Set(Name(verdict)); }
  void ResumeFailed(orb::Call&, std::string_view) override { Set("failed"); }
  void ResumeByPolicy(orb::Call&, Verdict verdict, StepOutcome why) override {
    {
      MutexLock lock(&mu_);
      why_ = why;
    }
    Set(Name(verdict) + " by policy");
  }

  mutable Mutex mu_;
  std::string outcome_ ABSL_GUARDED_BY(mu_);
  std::optional<StepOutcome> why_ ABSL_GUARDED_BY(mu_);
};

class RemoteFilterFixture : public ::testing::Test {
 protected:
  ~RemoteFilterFixture() override {
    if (filter_ != nullptr) filter_->LetGo();
    filter_.reset();
  }

  static std::vector<MethodInfo> Methods() {
    return {{.name = "check", .phase = Phase::kUp}, {.name = "look", .phase = Phase::kDown}};
  }
  // With so many replicas, which are not connected yet; and its methods mapped.
  void Make(size_t replicas, const RemoteOptions& options = {}) {
    std::vector<RemoteFilter::MakeChannel> make;
    for (size_t i = 0; i < replicas; ++i) {
      make.push_back([this, i](Channel::Listener* listener) {
        auto channel = std::make_unique<FakeChannel>(StrCat("address-", i), listener);
        channels_.push_back(channel.get());
        return channel;
      });
    }
    filter_ = std::make_unique<RemoteFilter>(
        options, FilterContext{.clock = &clock_, .logger = &logger_, .plug = "p"}, &ticker_, make);
    up_ = *filter_->MethodIndex(Phase::kUp, "check");
    down_ = *filter_->MethodIndex(Phase::kDown, "look");
  }
  void ConnectAll() {
    for (FakeChannel* channel : channels_) channel->Connect(Methods());
  }
  FakeChannel& channel(size_t i) { return *channels_[i]; }

  // A call that the filter is asked about now. It must live until it is resumed.
  [[nodiscard]] std::unique_ptr<FakeSuspended> Start(Phase phase = Phase::kUp) {
    auto call = std::make_unique<FakeSuspended>(phase);
    if (phase == Phase::kUp) {
      filter_->StartUp(up_, call->Suspend());
    } else {
      filter_->StartDown(down_, call->Suspend());
    }
    return call;
  }
  uint64_t Counter(std::string_view name) const {
    for (const FilterCounter& c : filter_->Counters()) {
      if (c.name == name) return c.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }
  // Lets `time` pass, until what it brings has come to the call.
  void Pass(Nanos time, const FakeSuspended& call) {
    clock_.now += time;
    for (int i = 0; call.outcome().empty() && i < 20'000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_NE(call.outcome(), "") << "it waits for ever";
  }

  ManualClock clock_;
  LockedLogger logger_;
  Ticker ticker_{kMillisecond};
  std::vector<FakeChannel*> channels_;
  std::unique_ptr<RemoteFilter> filter_;
  int up_ = 0, down_ = 0;
};

}  // namespace weir::filters

#endif  // WEIR_TESTS_UNIT_FILTERS_REMOTE_FIXTURE_H_
