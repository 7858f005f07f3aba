// Records of single calls: what is in them, and when there are any.

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "filters/registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/fake_call.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RecordTest : public RegistryTest {
 protected:
  RecordTest() {
    probe_->up = [this](const std::string& plug, std::string_view, orb::Call& call) {
      clock_.now += kMicrosecond;
      if (plug == thrower_) throw std::runtime_error("x");
      if (plug != bouncer_) return Verdict::kPass;
      call.SetSystemException({orb::ExceptionId::kNoPermission, 0x57454010, orb::Completion::kNo});
      return Verdict::kBounce;
    };
    probe_->down = [this](const std::string&, std::string_view, orb::Call&) {
      clock_.now += 10 * kMicrosecond;
      return Verdict::kPass;
    };
  }
  void PlugBoth(const std::string& name) {
    Commit({PlugOn(name, "all"), MapUp(name, "*", "a"), MapDown(name, "*", "c")});
  }
  void Record() { registry_.tracer()->Extend(Tracer::kRecording, kSecond); }
  std::vector<std::shared_ptr<const CallRecord>> Recorded() {
    return registry_.tracer()->ring().Latest(1000).calls;
  }
  CallRecord Only() {
    const auto calls = Recorded();
    EXPECT_EQ(calls.size(), 1u);
    return calls.empty() ? CallRecord() : *calls[0];
  }
  // "outer^a passed 1000".
  static std::vector<std::string> Steps(const CallRecord& record) {
    std::vector<std::string> steps;
    for (const CallRecord::Step& s : record.steps) {
      steps.push_back(s.plug + (s.phase == Phase::kUp ? "^" : "v") + s.method + " " +
                      std::string(StepOutcomeName(s.outcome)) + " " + std::to_string(s.took));
    }
    return steps;
  }

  std::string bouncer_, thrower_;
};

TEST_F(RecordTest, NothingIsRecordedUnlessSomebodyAsks) {
  PlugBoth("p");
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_EQ(call.gate_state().trace, nullptr);
  EXPECT_THAT(Recorded(), IsEmpty());
}

TEST_F(RecordTest, ARecordTellsTheWholeStory) {
  PlugBoth("outer");
  PlugBoth("inner");
  Record();
  const Nanos began = clock_.now;
  FakeCall call("some/key", "transfer", 4711);
  call.Run(registry_.gate(), [&](orb::Call& c) {
    clock_.now += kMillisecond;
    c.SetResult();
  });
  const CallRecord record = Only();
  EXPECT_EQ(record.call, 4711u);
  EXPECT_EQ(record.time, began);
  EXPECT_EQ(record.took, kMillisecond + 22 * kMicrosecond);
  EXPECT_EQ(record.peer, "tcp:10.0.0.7:40112");
  EXPECT_EQ(record.object_key, "some/key");
  EXPECT_EQ(record.operation, "transfer");
  EXPECT_EQ(record.revision, 2u);
  EXPECT_EQ(record.status, "NO_EXCEPTION");
  EXPECT_THAT(Steps(record), ElementsAre("outer^a passed 1000", "inner^a passed 1000",
                                         "innervc passed 10000", "outervc passed 10000"));
  EXPECT_EQ(call.gate_state().trace, nullptr) << "nothing is left behind";
}

TEST_F(RecordTest, ABounceNamesItsFilterAndTheExceptionThatLeft) {
  PlugBoth("outer");
  PlugBoth("guard");
  PlugBoth("never");
  bouncer_ = "guard";
  Record();
  FakeCall().Run(registry_.gate());
  EXPECT_THAT(Steps(Only()),
              ElementsAre("outer^a passed 1000", "guard^a bounced 1000", "outervc passed 10000"));
  EXPECT_EQ(Only().status, "SYSTEM_EXCEPTION NO_PERMISSION minor 0x57454010");
}

TEST_F(RecordTest, AFailureIsRecordedAsSuch) {
  PlugBoth("broken");
  thrower_ = "broken";
  Record();
  FakeCall().Run(registry_.gate());
  EXPECT_THAT(Steps(Only()), ElementsAre("broken^a failed 1000"));
  EXPECT_EQ(Only().status, "SYSTEM_EXCEPTION NO_PERMISSION minor 0x57454011");
}

TEST_F(RecordTest, AOnewayHasNoReply) {
  PlugBoth("p");
  Record();
  FakeCall call;
  call.request().response_expected = false;
  call.Run(registry_.gate());
  EXPECT_EQ(Only().status, "NO_REPLY");
  EXPECT_THAT(Steps(Only()), ElementsAre("p^a passed 1000"));
}

TEST_F(RecordTest, AUserExceptionIsNamed) {
  PlugBoth("p");
  Record();
  FakeCall().Run(registry_.gate(), [](orb::Call& call) {
    cdr::Encoder out = call.NewBody();
    out.WriteString("IDL:Bank/Broke:1.0");
    call.SetUserException();
  });
  EXPECT_EQ(Only().status, "USER_EXCEPTION IDL:Bank/Broke:1.0");
}

TEST_F(RecordTest, ABrokenReplyIsRecordedAllTheSame) {
  PlugBoth("p");
  Record();
  for (const auto status : {orb::ReplyStatus::kSystemException, orb::ReplyStatus::kUserException}) {
    FakeCall().Run(registry_.gate(),
                   [&](orb::Call& call) { call.SetBorrowedBody(status, "\xff\xff\xff"); });
  }
  EXPECT_EQ(Recorded().size(), 2u);
}

TEST_F(RecordTest, CallsWithoutFiltersAreNotRecorded) {
  Commit({PlugOn("p", "key:filtered"), MapUp("p", "*", "a")});
  Record();
  FakeCall("other").Run(registry_.gate());
  EXPECT_THAT(Recorded(), IsEmpty());
  FakeCall("filtered").Run(registry_.gate());
  EXPECT_EQ(Only().object_key, "filtered");
}

TEST_F(RecordTest, HostileBytesAreEscaped) {
  PlugBoth("p");
  Record();
  FakeCall call("k\n\x1b[2J\xff%", "op\n\x1b[31mred\x80");
  call.set_peer({"tcp", "10.0.0.7\x07:1"});
  call.Run(registry_.gate());
  const CallRecord record = Only();
  EXPECT_EQ(record.object_key, "k%0A%1B%5B2J%FF%25");
  EXPECT_EQ(record.operation, "op\\x0a\\x1b[31mred\\x80");
  EXPECT_EQ(record.peer, "tcp:10.0.0.7\\x07:1");
}

TEST_F(RecordTest, ACallEndsAsItBeganWhateverTheLeaseDoesMeanwhile) {
  PlugBoth("p");
  Record();
  FakeCall during("k", "during");
  during.Run(registry_.gate(), [&](orb::Call& call) {
    clock_.now += 10 * kSecond;
    registry_.tracer()->Stop(Tracer::kRecording);
    call.SetResult();
  });
  EXPECT_EQ(Only().operation, "during");
  FakeCall before("k", "before");
  before.Run(registry_.gate(), [&](orb::Call& call) {
    Record();
    call.SetResult();
  });
  EXPECT_EQ(Recorded().size(), 1u) << "half a record would mislead";
}

TEST_F(RecordTest, StopEndsItAtOnceAndWhatWasRecordedStays) {
  PlugBoth("p");
  Record();
  FakeCall().Run(registry_.gate());
  registry_.tracer()->Stop(Tracer::kRecording);
  EXPECT_FALSE(registry_.tracer()->on());
  FakeCall().Run(registry_.gate());
  EXPECT_EQ(Recorded().size(), 1u);
}

TEST_F(RecordTest, RecordsKeepNoFilterFromBeingDestroyed) {
  PlugBoth("p");
  Record();
  FakeCall().Run(registry_.gate());
  Commit({Unplug("p")});
  EXPECT_TRUE(registry_.Drain(clock_.Now()).ok());
  EXPECT_EQ(probe_->destroyed, 1);
  EXPECT_THAT(Steps(Only()), ElementsAre("p^a passed 1000", "pvc passed 10000"));
}

// Keeps every call that it is given, until the test goes on with it.
class WaitingKind : public FilterKind {
 public:
  std::string_view name() const override { return "waiting"; }
  std::string_view help() const override { return "For tests."; }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters&,
                                              const FilterContext&) const override {
    return std::make_unique<Waiting>(this);
  }
  mutable Suspension call;

 private:
  class Waiting : public Filter {
   public:
    explicit Waiting(const WaitingKind* kind) : kind_(kind) {}
    bool asynchronous() const override { return true; }
    Verdict Up(int, orb::Call&) override { return Verdict::kPass; }
    Verdict Down(int, orb::Call&) override { return Verdict::kPass; }
    void StartUp(int, Suspension call) override { kind_->call = std::move(call); }
    void StartDown(int, Suspension call) override { kind_->call = std::move(call); }

   private:
    const WaitingKind* const kind_;
  };

  const std::vector<MethodInfo> methods_ = {{.name = "ask", .phase = Phase::kUp},
                                            {.name = "ask", .phase = Phase::kDown}};
};

class SuspendedTest : public RecordTest {
 protected:
  SuspendedTest() {
    auto kind = std::make_unique<WaitingKind>();
    waiting_ = kind.get();
    kinds_.Add(std::move(kind));
    PlugBoth("outer");
    Commit(
        {PlugOn("far", "all", 0, "waiting"), MapUp("far", "*", "ask"), MapDown("far", "*", "ask")});
    PlugBoth("inner");
    registry_.tracer()->Extend(Tracer::kTiming, 100 * kSecond);
    registry_.tracer()->Extend(Tracer::kRecording, 100 * kSecond);
  }
  // Some time passes, and the filter answers, on another thread.
  template <typename Answer>
  void AfterAMillisecond(const Answer& answer) {
    clock_.now += kMillisecond;
    std::thread([&] { answer(std::move(waiting_->call)); }).join();
  }
  uint64_t Count(Phase phase, StepOutcome outcome) {
    for (const StepFigures& step : registry_.Figures("far").steps) {
      if (step.phase == phase) return step.counts[outcome];
    }
    return 0;
  }

  WaitingKind* waiting_ = nullptr;
};

TEST_F(SuspendedTest, TheTimeOfAFilterThatAnswersLaterIsUntilItsAnswer) {
  FakeCall call;
  ASSERT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kSuspended);
  AfterAMillisecond([](Suspension s) { s.Resume(Verdict::kPass); });
  clock_.now += kSecond;  // the servant
  call.SetResult();
  ASSERT_EQ(registry_.gate()->Down(call), orb::Gate::Outcome::kSuspended);
  AfterAMillisecond([](Suspension s) { s.Resume(Verdict::kRaise); });
  registry_.gate()->Release(call);
  EXPECT_THAT(Steps(Only()), ElementsAre("outer^a passed 1000", "far^ask passed 1000000",
                                         "inner^a passed 1000", "innervc passed 10000",
                                         "farvask raised 1000000", "outervc passed 10000"));
  EXPECT_EQ(Only().took, kSecond + 2 * kMillisecond + 22 * kMicrosecond);
  EXPECT_EQ(registry_.Figures("far").up_took.max, uint64_t{kMillisecond});
  EXPECT_EQ(Count(Phase::kUp, StepOutcome::kPassed), 1u);
  EXPECT_EQ(Count(Phase::kDown, StepOutcome::kRaised), 1u);
}

TEST_F(SuspendedTest, WhatThePolicyDidIsCountedBesideItsReason) {
  FakeCall timed_out;
  ASSERT_EQ(registry_.gate()->Up(timed_out), orb::Gate::Outcome::kSuspended);
  AfterAMillisecond(
      [](Suspension s) { s.ResumeByPolicy(Verdict::kBounce, StepOutcome::kTimedOut); });
  ASSERT_EQ(registry_.gate()->Down(timed_out), orb::Gate::Outcome::kPass);
  registry_.gate()->Release(timed_out);
  EXPECT_THAT(Steps(Only()), ElementsAre("outer^a passed 1000", "far^ask timed_out 1000000",
                                         "outervc passed 10000"));
  FakeCall refused;
  ASSERT_EQ(registry_.gate()->Up(refused), orb::Gate::Outcome::kSuspended);
  AfterAMillisecond([](Suspension s) { s.ResumeByPolicy(Verdict::kPass, StepOutcome::kRefused); });
  refused.SetResult();
  ASSERT_EQ(registry_.gate()->Down(refused), orb::Gate::Outcome::kSuspended) << "it was passed";
  AfterAMillisecond([](Suspension s) { s.ResumeByPolicy(Verdict::kPass, StepOutcome::kFailed); });
  registry_.gate()->Release(refused);
  EXPECT_EQ(Count(Phase::kUp, StepOutcome::kTimedOut), 1u);
  EXPECT_EQ(Count(Phase::kUp, StepOutcome::kRefused), 1u);
  EXPECT_EQ(Count(Phase::kUp, StepOutcome::kPolicyTaken), 2u);
  EXPECT_EQ(Count(Phase::kUp, StepOutcome::kPassed), 0u);
  EXPECT_EQ(Count(Phase::kDown, StepOutcome::kFailed), 1u);
  EXPECT_EQ(Count(Phase::kDown, StepOutcome::kPolicyTaken), 1u);
}

TEST_F(SuspendedTest, ACallThatItsFilterDropsHasFailed) {
  FakeCall call;
  ASSERT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kSuspended);
  AfterAMillisecond([](Suspension) {});
  ASSERT_EQ(registry_.gate()->Down(call), orb::Gate::Outcome::kPass);
  registry_.gate()->Release(call);
  EXPECT_THAT(Steps(Only()),
              ElementsAre("outer^a passed 1000", "far^ask failed 1000000", "outervc passed 10000"));
  EXPECT_EQ(Count(Phase::kUp, StepOutcome::kFailed), 1u);
  EXPECT_EQ(Count(Phase::kUp, StepOutcome::kPolicyTaken), 0u);
}

TEST_F(SuspendedTest, TheRequestIsRecordedAsItCameWhateverAFilterMakesOfIt) {
  FakeCall call("k", "asked");
  ASSERT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kSuspended);
  AfterAMillisecond([](Suspension s) {
    s->request().operation = s->Keep("changed");
    s.Resume(Verdict::kPass);
  });
  call.SetResult();
  ASSERT_EQ(registry_.gate()->Down(call), orb::Gate::Outcome::kSuspended);
  AfterAMillisecond([](Suspension s) { s.Resume(Verdict::kPass); });
  registry_.gate()->Release(call);
  EXPECT_EQ(Only().operation, "asked");
}

class BoundedRecordTest : public RecordTest {
 protected:
  void Use(CallRingLimits limits) { bounded_.emplace(&kinds_, &clock_, &logger_, limits); }
  void CommitHere(const ChangeSet& changes) {
    auto prepared = bounded_->Prepare(changes, std::nullopt);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    bounded_->Publish(*std::move(prepared));
  }
  std::optional<Registry> bounded_;
};

TEST_F(BoundedRecordTest, LongTextIsCutWithAMark) {
  Use({.text_bytes = 8});
  CommitHere({PlugOn("p", "all"), MapUp("p", "*", "a")});
  bounded_->tracer()->Extend(Tracer::kRecording, kSecond);
  FakeCall(std::string(1 << 20, '\n'), std::string(1 << 20, 'o')).Run(bounded_->gate());
  FakeCall("12345678", "12345678").Run(bounded_->gate());
  const auto calls = bounded_->tracer()->ring().Latest(10).calls;
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]->object_key, "%0A%0A%0A%0A%0A%0A%0A%0A...");
  EXPECT_EQ(calls[0]->operation, "oooooooo...");
  EXPECT_LT(calls[0]->Bytes(), 2000u);
  EXPECT_EQ(calls[1]->object_key, "12345678");
  EXPECT_EQ(calls[1]->operation, "12345678");
}

TEST_F(BoundedRecordTest, StepsBeyondTheLimitAreCounted) {
  Use({.steps = 3});
  for (const char* name : {"a", "b", "c"}) {
    CommitHere({PlugOn(name, "all"), MapUp(name, "*", "a"), MapDown(name, "*", "a")});
  }
  bounded_->tracer()->Extend(Tracer::kRecording, kSecond);
  FakeCall().Run(bounded_->gate());
  const auto calls = bounded_->tracer()->ring().Latest(10).calls;
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->steps.size(), 3u);
  EXPECT_EQ(calls[0]->steps_left_out, 3u);
}

TEST_F(BoundedRecordTest, ManyHostileCallsStayWithinTheBytes) {
  Use({.entries = 100'000, .bytes = 200'000});
  CommitHere({PlugOn("p", "all"), MapUp("p", "*", "a")});
  bounded_->tracer()->Extend(Tracer::kRecording, kSecond);
  size_t most = 0;
  for (int i = 0; i < 3000; ++i) {
    clock_.now -= kMicrosecond;  // the probe takes one: the lease must not end
    FakeCall(std::string(i, '\n'), std::string(i, '\x80')).Run(bounded_->gate());
    if (i % 100 != 0) continue;
    size_t bytes = 0;
    for (const auto& call : bounded_->tracer()->ring().Latest(100'000).calls)
      bytes += call->Bytes();
    most = std::max(most, bytes);
  }
  EXPECT_LE(most, 200'000u);
  EXPECT_GT(most, 100'000u);
}

TEST_F(RecordTest, ACallMayEndOnAnotherThread) {
  PlugBoth("p");
  Record();
  FakeCall call;
  ASSERT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kPass);
  std::thread([&] {
    call.SetResult();
    registry_.gate()->Down(call);
    registry_.gate()->Release(call);
  }).join();
  EXPECT_THAT(Steps(Only()), ElementsAre("p^a passed 1000", "pvc passed 10000"));
}

}  // namespace
}  // namespace weir::filters
