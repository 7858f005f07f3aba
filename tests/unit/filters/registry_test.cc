// What calls meet: which filters run, in which order, and what becomes of the reply.

#include "filters/registry.h"

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "filters/snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/call_fixture.h"

namespace weir::filters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(CallTest, TheGateIsActiveOnlyWhileSomethingIsEnabled) {
  orb::Gate* gate = registry_.gate();
  EXPECT_FALSE(gate->active());
  Commit({PlugOn("p", "all"), MapUp("p", "op", "a", false)});
  EXPECT_FALSE(gate->active());
  Commit({EnableUp("p", "op")});
  EXPECT_TRUE(gate->active());
  Commit({DisableUp("p", "op")});
  EXPECT_FALSE(gate->active());
  Commit({EnableUp("p", "op")});
  Commit({Unplug("p")});
  EXPECT_FALSE(gate->active());
}

TEST_F(CallTest, UpMethodsRunInPlugOrderAndDownMethodsInReverse) {
  PlugBoth("z", "all");
  PlugBoth("a", "all");
  PlugBoth("m", "all");
  EXPECT_THAT(See("k"), ElementsAre("z^a", "a^a", "m^a", "mva", "ava", "zva"));
}

TEST_F(CallTest, PriorityComesBeforePlugOrder) {
  PlugBoth("late", "all", 5);
  PlugBoth("first", "all", -1);
  PlugBoth("mid", "all");
  EXPECT_THAT(See("k"), ElementsAre("first^a", "mid^a", "late^a", "lateva", "midva", "firstva"));
}

TEST_F(CallTest, AKeyMeetsItsOwnFiltersThoseOfItsPrefixesAndAll) {
  PlugBoth("exact", "key:ab");
  PlugBoth("shorter", "key:a*");
  PlugBoth("longer", "key:ab*");
  PlugBoth("every", "all");
  PlugBoth("star", "key:*");
  const auto ups = [&](const std::string& key) {
    std::vector<std::string> names;
    for (const std::string& s : See(key)) {
      if (s.ends_with("^a")) names.push_back(s.substr(0, s.size() - 2));
    }
    return names;
  };
  EXPECT_THAT(ups("ab"), ElementsAre("exact", "shorter", "longer", "every", "star"));
  EXPECT_THAT(ups("abc"), ElementsAre("shorter", "longer", "every", "star"));
  EXPECT_THAT(ups("ac"), ElementsAre("shorter", "every", "star"));
  EXPECT_THAT(ups("b"), ElementsAre("every", "star"));
  EXPECT_THAT(ups(""), ElementsAre("every", "star"));
}

TEST_F(CallTest, TheLongestPrefixIsFoundPastSiblingsThatSortBetween) {
  PlugBoth("outer", "key:a*");
  PlugBoth("inner", "key:ab*");
  PlugBoth("sibling", "key:abc*");
  PlugBoth("other", "key:abcd/*");
  EXPECT_EQ(See("abd").size(), 4u);     // outer, inner
  EXPECT_EQ(See("abcz").size(), 6u);    // and sibling
  EXPECT_EQ(See("abcd/x").size(), 8u);  // and other
  EXPECT_EQ(See("az").size(), 2u);      // outer
  EXPECT_EQ(See("b").size(), 0u);
}

TEST_F(CallTest, KeysWithoutFiltersPassAndHoldNoSnapshot) {
  PlugBoth("p", "key:a");
  FakeCall call("b");
  ASSERT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kPass);
  EXPECT_EQ(call.gate_state().hold, nullptr);
  EXPECT_EQ(call.gate_state().chain, nullptr);
}

TEST_F(CallTest, OnlyMappedOperationsAreSeen) {
  Commit({PlugOn("p", "all"), MapUp("p", "x", "a"), MapDown("p", "y", "b")});
  EXPECT_THAT(See("k", "x"), ElementsAre("p^a"));
  EXPECT_THAT(See("k", "y"), ElementsAre("pvb"));
  EXPECT_THAT(See("k", "z"), IsEmpty());
}

TEST_F(CallTest, AMappingOfItsOwnTakesPrecedenceOverTheStar) {
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a"), MapUp("p", "x", "b")});
  EXPECT_THAT(See("k", "x"), ElementsAre("p^b"));
  EXPECT_THAT(See("k", "y"), ElementsAre("p^a"));
}

TEST_F(CallTest, ADisabledMappingOfItsOwnTakesTheOperationOutOfTheStar) {
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a"), MapUp("p", "x", "a", false)});
  EXPECT_THAT(See("k", "x"), IsEmpty());
  EXPECT_THAT(See("k", "y"), ElementsAre("p^a"));
}

TEST_F(CallTest, PrecedenceOverTheStarIsByPhaseAndByPlug) {
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a"), MapDown("p", "*", "a"),
          MapUp("p", "x", "b", false), PlugOn("q", "all"), MapUp("q", "*", "b")});
  EXPECT_THAT(See("k", "x"), ElementsAre("q^b", "pva"));
  EXPECT_THAT(See("k", "y"), ElementsAre("p^a", "q^b", "pva"));
}

TEST_F(CallTest, ABouncedCallReachesNeitherLaterFiltersNorTheServant) {
  for (const char* name : {"one", "two", "three"}) PlugBoth(name, "all");
  bouncer_ = "two";
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_FALSE(call.reached_servant());
  EXPECT_THAT(seen_, ElementsAre("one^a", "two^a", "oneva"));
}

TEST_F(CallTest, ABounceByTheOutermostFilterHasNoDownPhase) {
  for (const char* name : {"one", "two"}) PlugBoth(name, "all");
  bouncer_ = "one";
  EXPECT_THAT(See("k"), ElementsAre("one^a"));
}

TEST_F(CallTest, AFilterWithoutAnUpMethodCountsAsHavingPassedTheCall) {
  Commit({PlugOn("outer", "all"), MapDown("outer", "*", "c"), PlugOn("mid", "all"),
          MapUp("mid", "*", "a"), PlugOn("inner", "all"), MapDown("inner", "*", "c")});
  EXPECT_THAT(See("k"), ElementsAre("mid^a", "innervc", "outervc"));
  bouncer_ = "mid";
  EXPECT_THAT(See("k"), ElementsAre("mid^a", "outervc"));
}

TEST_F(CallTest, OnewaysHaveNoDownPhase) {
  PlugBoth("p", "all");
  FakeCall call;
  call.request().response_expected = false;
  call.Run(registry_.gate());
  EXPECT_THAT(seen_, ElementsAre("p^a"));
}

TEST_F(CallTest, AnExceptionRaisedOnTheWayDownIsSeenByOuterFilters) {
  PlugBoth("outer", "all");
  PlugBoth("inner", "all");
  raiser_ = "inner";
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_EQ(call.system_exception()->id, orb::ExceptionId::kBadParam);
  EXPECT_THAT(seen_, ElementsAre("outer^a", "inner^a", "innerva", "outerva"));
}

TEST_F(CallTest, AFilterThatThrowsGoingUpAnswersNoPermission) {
  PlugBoth("outer", "all");
  PlugBoth("inner", "all");
  thrower_ = "inner";
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_FALSE(call.reached_servant());
  const auto exception = call.system_exception();
  ASSERT_TRUE(exception.has_value());
  EXPECT_EQ(exception->id, orb::ExceptionId::kNoPermission);
  EXPECT_EQ(exception->minor, static_cast<uint32_t>(orb::WeirMinor::kFilterFailed));
  EXPECT_EQ(exception->completed, orb::Completion::kNo);
  EXPECT_THAT(seen_, ElementsAre("outer^a", "inner^a", "outerva"));
}

TEST_F(CallTest, AFilterThatThrowsComingDownAnswersNoPermissionToOuterFilters) {
  PlugBoth("outer", "all");
  Commit({PlugOn("inner", "all"), MapDown("inner", "*", "a")});
  thrower_ = "inner";
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_EQ(call.system_exception()->id, orb::ExceptionId::kNoPermission);
  EXPECT_EQ(call.system_exception()->completed, orb::Completion::kYes);
  EXPECT_THAT(seen_, ElementsAre("outer^a", "innerva", "outerva"));
}

TEST_F(CallTest, AFailingFilterIsLoggedButNotAtEveryCallAndNothingOfItReachesThePeer) {
  PlugBoth("p", "all");
  thrower_ = "p";
  for (int i = 0; i < 1000; ++i) {
    FakeCall call("k\n", "op");
    call.Run(registry_.gate());
    EXPECT_EQ(call.reply().body.bytes.find("secret"), std::string_view::npos);
  }
  EXPECT_EQ(logger_.lines.size(), 10u);  // 1, 2, 4 ... 512
  EXPECT_THAT(logger_.lines[0],
              HasSubstr("event=filter_failed plug=p up=a call=1 key=k%0A operation=op failures=1 "
                        "error=secret%0Aforged=line"));
}

TEST_F(CallTest, OutcomesOtherThanPassAreCountedByPlug) {
  const auto counter = [&](const char* plug, std::string_view name) -> uint64_t {
    for (const FilterCounter& c : registry_.Counters(plug)) {
      if (c.name == name) return c.value;
    }
    return 0;
  };
  PlugBoth("one", "all");
  PlugBoth("two", "all");
  See("k");
  bouncer_ = "two";
  raiser_ = "one";
  See("k");
  See("k");
  thrower_ = "one";
  See("k");
  EXPECT_EQ(counter("one", "seen"), 4u);
  EXPECT_EQ(counter("two", "bounced"), 2u);
  EXPECT_EQ(counter("one", "raised"), 2u);
  EXPECT_EQ(counter("one", "failed"), 1u);
  EXPECT_THAT(registry_.Counters("nobody"), IsEmpty());
}

TEST_F(CallTest, APlugKeepsItsFilterAndCountersAcrossChanges) {
  Commit({PlugOn("p", "all"), MapUp("p", "op", "a")});
  See("k");
  Commit({MapDown("p", "op", "b"), PlugOn("q", "all")});
  Commit({DisableUp("p"), EnableUp("p")});
  See("k");
  EXPECT_EQ(registry_.Counters("p")[0].value, 2u);
  EXPECT_EQ(probe_->made, 2);
  // So does a state that is read back with it.
  State state = registry_.state();
  state.revision = 77;
  registry_.Publish(*registry_.PrepareState(state));
  EXPECT_EQ(registry_.Counters("p")[0].value, 2u);
  // A plug that was unplugged in between is another one.
  Commit({Unplug("p"), PlugOn("p", "all")});
  EXPECT_EQ(registry_.Counters("p")[0].value, 0u);
}

TEST_F(CallTest, ACallKeepsTheSnapshotThatItBeganWith) {
  PlugBoth("p", "all");
  FakeCall call;
  call.Run(registry_.gate(), [&](orb::Call&) {
    Commit({Unplug("p"), PlugOn("q", "all"), MapUp("q", "*", "a"), MapDown("q", "*", "a")});
    EXPECT_EQ(probe_->destroyed, 0);
  });
  EXPECT_THAT(seen_, ElementsAre("p^a", "pva"));
  EXPECT_THAT(See("k"), ElementsAre("q^a", "qva"));
}

TEST_F(CallTest, AnUnpluggedFilterIsDestroyedOnceTheLastCallHasLetGo) {
  PlugBoth("p", "all");
  FakeCall call;
  call.Run(registry_.gate(), [&](orb::Call&) {
    Commit({Unplug("p")});
    Commit({PlugOn("q", "all")});
    EXPECT_EQ(probe_->destroyed, 0);
  });
  EXPECT_TRUE(registry_.Drain(clock_.Now()).ok());
  EXPECT_EQ(probe_->destroyed, 1);
}

TEST_F(CallTest, DrainSaysHowManyCallsAreLeftAtItsDeadline) {
  PlugBoth("p", "all");
  EXPECT_TRUE(registry_.Drain(clock_.Now()).ok());
  FakeCall first, second;
  first.Run(registry_.gate(), [&](orb::Call&) {
    EXPECT_TRUE(registry_.Drain(clock_.Now()).ok()) << "it holds the current snapshot";
    second.Run(registry_.gate(), [&](orb::Call&) {
      Commit({Unplug("p")});
      const absl::Status status = registry_.Drain(clock_.Now());
      EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_THAT(std::string(status.message()), HasSubstr("2 calls"));
    });
    EXPECT_THAT(std::string(registry_.Drain(clock_.Now()).message()), HasSubstr("1 call "));
  });
  EXPECT_TRUE(registry_.Drain(clock_.Now()).ok());
}

TEST_F(CallTest, DrainWaitsForTheLastCall) {
  PlugBoth("p", "all");
  FakeCall call;
  ASSERT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kPass);
  Commit({Unplug("p")});
  std::atomic<bool> released{false};
  std::thread drain([&] {
    EXPECT_TRUE(registry_.Drain(kNoDeadline).ok());
    EXPECT_TRUE(released);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  released = true;
  registry_.gate()->Release(call);  // by another thread than the one that drains
  drain.join();
}

TEST_F(CallTest, ObserversSeeEachPublishedStateInOrderAndNoNoOps) {
  std::vector<std::string> events;
  const int id = registry_.Subscribe([&](const State& state, const ChangeSet& changes) {
    events.push_back(std::to_string(state.revision) + "/" + std::to_string(changes.size()) + "/" +
                     std::to_string(registry_.revision()));
  });
  Commit({PlugOn("p", "all"), MapUp("p", "op", "a")});
  Commit({PlugOn("p", "all")});
  Commit({Unplug("p")});
  registry_.Unsubscribe(id);
  Commit({PlugOn("p", "all")});
  EXPECT_THAT(events, ElementsAre("1/2/1", "2/1/2"));
}

TEST_F(CallTest, AThousandPlugsOfWhichOneMapsTheOperationMakeAChainOfOne) {
  ChangeSet changes;
  for (int i = 0; i < 1000; ++i) changes.push_back(PlugOn("p" + std::to_string(i), "key:k"));
  for (int i = 0; i < 1000; ++i) {
    changes.push_back(MapUp("p" + std::to_string(i), i == 500 ? "op" : "other", "a"));
  }
  Commit(changes);
  FakeCall call("k");
  ASSERT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kPass);
  const Chain* chain = static_cast<const Chain*>(call.gate_state().chain);
  EXPECT_EQ(chain->size, 1u);
  EXPECT_EQ(chain->up.size(), 1u);
  EXPECT_EQ(chain->down.size(), 0u);
  registry_.gate()->Release(call);
  EXPECT_THAT(seen_, ElementsAre("p500^a"));
}

}  // namespace
}  // namespace weir::filters
