// What the registry counts of each plug, and how long its methods take.

#include <atomic>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "filters/registry.h"
#include "filters/snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/fake_call.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

using testing::IsEmpty;

class FiguresTest : public RegistryTest {
 protected:
  void Call(const std::string& operation = "op", int times = 1) {
    for (int i = 0; i < times; ++i) {
      FakeCall call("k", operation);
      call.Run(registry_.gate());
    }
  }
  StepCounts Counts(const std::string& plug, const std::string& operation, Phase phase) {
    for (const StepFigures& step : registry_.Figures(plug).steps) {
      if (step.operation == operation && step.phase == phase) return step.counts;
    }
    return {};
  }
  uint64_t Called(const std::string& plug, const std::string& operation, Phase phase) {
    return Counts(plug, operation, phase).called();
  }
};

TEST_F(FiguresTest, EachPlugPhaseAndMappedOperationIsCountedApart) {
  Commit({PlugOn("p", "all"), MapUp("p", "x", "a"), MapDown("p", "x", "a"), MapUp("p", "y", "a"),
          PlugOn("q", "all"), MapDown("q", "x", "a")});
  Call("x", 3);
  Call("y", 2);
  Call("z");
  EXPECT_EQ(Called("p", "x", Phase::kUp), 3u);
  EXPECT_EQ(Called("p", "x", Phase::kDown), 3u);
  EXPECT_EQ(Called("p", "y", Phase::kUp), 2u);
  EXPECT_EQ(Called("q", "x", Phase::kDown), 3u);
  EXPECT_EQ(registry_.Figures("p").steps.size(), 3u);
  EXPECT_EQ(registry_.Figures("q").steps.size(), 1u);
  EXPECT_THAT(registry_.Figures("nobody").steps, IsEmpty());
}

TEST_F(FiguresTest, AStarIsOneRowWhateverIsCalledAndWhateverOthersMap) {
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a"), MapUp("p", "own", "b"), MapDown("p", "*", "a"),
          PlugOn("q", "all"), MapUp("q", "x", "a")});
  for (int i = 0; i < 500; ++i) Call("hostile" + std::to_string(i));
  Call("x");
  Call("own", 7);
  ASSERT_EQ(registry_.Figures("p").steps.size(), 3u);
  EXPECT_EQ(Called("p", "*", Phase::kUp), 501u);
  EXPECT_EQ(Called("p", "own", Phase::kUp), 7u);
  EXPECT_EQ(Called("p", "*", Phase::kDown), 508u) << "'own' has no down mapping of its own";
}

TEST_F(FiguresTest, MappingsBeyondTheLimitShareARow) {
  constexpr int kMappings = static_cast<int>(PluggedFilter::kMostOperations) + 50;
  ChangeSet changes = {PlugOn("p", "all")};
  for (int i = 0; i < kMappings; ++i) changes.push_back(MapUp("p", "op" + std::to_string(i), "a"));
  Commit(changes);
  for (int i = 0; i < kMappings; ++i) Call("op" + std::to_string(i));
  EXPECT_EQ(registry_.Figures("p").steps.size(), PluggedFilter::kMostOperations + 1);
  EXPECT_EQ(Called("p", std::string(kOtherOperations), Phase::kUp), 50u);
}

TEST_F(FiguresTest, EveryEndOfAStepHasItsCounter) {
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a"), MapDown("p", "*", "a")});
  Call();
  probe_->down = [](const std::string&, std::string_view, orb::Call& call) {
    call.SetSystemException({orb::ExceptionId::kBadParam, 5, orb::Completion::kYes});
    return Verdict::kRaise;
  };
  Call("op", 2);
  probe_->down = [](const std::string&, std::string_view, orb::Call&) -> Verdict { throw 17; };
  Call("op", 4);
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    call.SetSystemException({orb::ExceptionId::kNoPermission, 5, orb::Completion::kNo});
    return Verdict::kBounce;
  };
  Call("op", 8);
  probe_->up = [](const std::string&, std::string_view, orb::Call&) -> Verdict {
    throw std::runtime_error("x");
  };
  Call("op", 16);
  const StepCounts up = Counts("p", "*", Phase::kUp);
  EXPECT_EQ(up[StepOutcome::kPassed], 7u);
  EXPECT_EQ(up[StepOutcome::kBounced], 8u);
  EXPECT_EQ(up[StepOutcome::kFailed], 16u);
  EXPECT_EQ(up[StepOutcome::kRaised], 0u);
  EXPECT_EQ(up.called(), 31u);
  const StepCounts down = Counts("p", "*", Phase::kDown);
  EXPECT_EQ(down[StepOutcome::kPassed], 1u);
  EXPECT_EQ(down[StepOutcome::kRaised], 2u);
  EXPECT_EQ(down[StepOutcome::kFailed], 4u);
  EXPECT_EQ(down.called(), 7u) << "a plug that bounced a call does not see its reply";
}

TEST_F(FiguresTest, WhatIsNoCallIsNotCountedAsOne) {
  StepCounts counts;
  for (size_t i = 0; i < kStepOutcomes; ++i) counts.by_outcome[i] = uint64_t{1} << i;
  EXPECT_EQ(counts.called(), 0b00111111u) << "neither refused nor what a policy did";
}

TEST_F(FiguresTest, CountsStayWhileThePlugStaysAndGoWithIt) {
  Commit({PlugOn("p", "all"), MapUp("p", "op", "a")});
  Call();
  Commit({MapUp("p", "op", "b"), PlugOn("q", "all"), MapUp("q", "*", "a")});
  Call();
  Commit({UnmapUp("p", "op", "a"), UnmapUp("p", "op", "b")});
  Call();
  EXPECT_EQ(Called("p", "op", Phase::kUp), 2u) << "the mapping is gone, its past is not";
  Commit({MapUp("p", "op", "a")});
  Call();
  EXPECT_EQ(Called("p", "op", Phase::kUp), 3u);
  Commit({Unplug("p"), PlugOn("p", "all"), MapUp("p", "op", "a")});
  EXPECT_THAT(registry_.Figures("p").steps, IsEmpty());
}

TEST_F(FiguresTest, CountsAddUpWhilePlugsChangeUnderManyThreads) {
  // More than have an index of their own.
  constexpr int kThreads = 20;
  constexpr int kEach = 1500;
  probe_->up = [](const std::string& plug, std::string_view, orb::Call& call) {
    if (plug != "stays" || call.id() % 3 != 0) return Verdict::kPass;
    call.SetSystemException({orb::ExceptionId::kNoPermission, 5, orb::Completion::kNo});
    return Verdict::kBounce;
  };
  Commit({PlugOn("stays", "all", -1), MapUp("stays", "*", "a"), MapUp("stays", "x", "b"),
          MapDown("stays", "*", "a")});
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        FakeCall call("k", i % 2 == 0 ? "x" : "y", i);
        call.Run(registry_.gate());
      }
      --running;
    });
  }
  // Timing and recording come and go as well, so that all that is watched is raced for.
  while (running > 0) {
    Commit({PlugOn("goes", "key:k"), MapUp("goes", "*", "a"), MapUp("stays", "y", "a")});
    registry_.tracer()->Extend(Tracer::kTiming, kSecond);
    registry_.tracer()->Extend(Tracer::kRecording, kSecond);
    registry_.Figures("stays");
    Commit({Unplug("goes"), UnmapUp("stays", "y", "a")});
    clock_.now += 2 * kSecond;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(registry_.Drain(clock_.Now()).ok());
  StepCounts up, down;
  for (const StepFigures& step : registry_.Figures("stays").steps) {
    StepCounts& sum = step.phase == Phase::kUp ? up : down;
    for (size_t i = 0; i < kStepOutcomes; ++i) sum.by_outcome[i] += step.counts.by_outcome[i];
  }
  constexpr uint64_t kCalls = uint64_t{kThreads} * kEach;
  EXPECT_EQ(up.called(), kCalls);
  EXPECT_EQ(up[StepOutcome::kBounced], kCalls / 3);
  EXPECT_EQ(down.called(), kCalls - kCalls / 3);
  EXPECT_EQ(Called("stays", "x", Phase::kUp), kCalls / 2);
}

class TimingTest : public FiguresTest {
 protected:
  TimingTest() {
    probe_->up = [this](const std::string& plug, std::string_view, orb::Call&) {
      clock_.now += plug == "slow" ? kMillisecond : kMicrosecond;
      return Verdict::kPass;
    };
    probe_->down = [this](const std::string&, std::string_view, orb::Call&) {
      clock_.now += 100;
      return Verdict::kPass;
    };
    const auto plug = [&](const std::string& name) {
      Commit({PlugOn(name, "all"), MapUp(name, "*", "a"), MapDown(name, "*", "a")});
    };
    plug("quick");
    plug("slow");
  }
};

TEST_F(TimingTest, NothingIsTimedUnlessSomebodyAsks) {
  Call("op", 10);
  EXPECT_EQ(registry_.tracer()->Left(Tracer::kTiming), 0);
  EXPECT_EQ(registry_.Figures("quick").up_took, HistogramCounts());
  EXPECT_EQ(registry_.Figures("quick").down_took, HistogramCounts());
}

TEST_F(TimingTest, EachPlugAndPhaseHasItsOwnTimesAndNotThoseOfTheServant) {
  registry_.tracer()->Extend(Tracer::kTiming, kSecond);
  for (int i = 0; i < 3; ++i) {
    FakeCall call;
    call.Run(registry_.gate(), [&](orb::Call& c) {
      clock_.now += 50 * kMillisecond;
      c.SetResult();
    });
  }
  const PlugFigures quick = registry_.Figures("quick"), slow = registry_.Figures("slow");
  EXPECT_EQ(quick.up_took.count(), 3u);
  EXPECT_EQ(quick.up_took.sum, 3u * kMicrosecond);
  EXPECT_EQ(slow.up_took.max, 1u * kMillisecond);
  EXPECT_EQ(quick.down_took.sum, 300u);
  EXPECT_EQ(slow.down_took.sum, 300u);
}

TEST_F(TimingTest, ALeaseEndsByItselfAndIsRenewedByAsking) {
  Tracer* const tracer = registry_.tracer();
  tracer->Extend(Tracer::kTiming, kSecond);
  Call();
  EXPECT_EQ(registry_.Figures("quick").up_took.count(), 1u);
  clock_.now += 900 * kMillisecond;
  tracer->Extend(Tracer::kTiming, kSecond);
  clock_.now += 900 * kMillisecond;
  Call();
  EXPECT_EQ(registry_.Figures("quick").up_took.count(), 2u);
  clock_.now += 900 * kMillisecond;
  EXPECT_EQ(tracer->Left(Tracer::kTiming), 0);
  Call("op", 5);
  EXPECT_EQ(registry_.Figures("quick").up_took.count(), 2u);
  EXPECT_FALSE(tracer->on()) << "the first call after the end has switched it off";
  tracer->Extend(Tracer::kTiming, kSecond);
  Call();
  EXPECT_EQ(registry_.Figures("quick").up_took.count(), 3u) << "and on again";
}

TEST_F(TimingTest, AShorterLeaseDoesNotCutALongerOne) {
  registry_.tracer()->Extend(Tracer::kTiming, 10 * kSecond);
  registry_.tracer()->Extend(Tracer::kTiming, kSecond);
  EXPECT_EQ(registry_.tracer()->Left(Tracer::kTiming), 10 * kSecond);
}

TEST_F(TimingTest, TimingAndRecordingEndEachByItsOwnLease) {
  Tracer* const tracer = registry_.tracer();
  tracer->Extend(Tracer::kTiming, kSecond);
  tracer->Extend(Tracer::kRecording, 3 * kSecond);
  Call();
  clock_.now += 2 * kSecond;
  Call();
  EXPECT_EQ(registry_.Figures("quick").up_took.count(), 1u);
  EXPECT_EQ(tracer->ring().Latest(10).calls.size(), 2u);
  clock_.now += 2 * kSecond;
  Call();
  EXPECT_EQ(tracer->ring().Latest(10).calls.size(), 2u);
}

TEST(ClockTest, CallsDoNotReadTheClockUnlessSomebodyWatches) {
  class CountingClock : public Clock {
   public:
    Nanos Now() const override { return ++reads; }
    Nanos WallTime() const override { return ++reads; }
    mutable int reads = 0;
  } clock;
  NullLogger logger;
  FilterKinds kinds;
  kinds.Add(std::make_unique<ProbeKind>());
  Registry registry(&kinds, &clock, &logger);
  auto prepared = registry.Prepare(
      {PlugOn("p", "all"), MapUp("p", "*", "a"), MapDown("p", "*", "a")}, std::nullopt);
  ASSERT_TRUE(prepared.ok());
  registry.Publish(*std::move(prepared));
  FakeCall call;
  const int before = clock.reads;
  for (int i = 0; i < 100; ++i) call.Run(registry.gate());
  EXPECT_EQ(clock.reads, before);
  registry.tracer()->Extend(Tracer::kTiming, kSecond);
  call.Run(registry.gate());
  EXPECT_GT(clock.reads, before + 3);
}

}  // namespace
}  // namespace weir::filters
