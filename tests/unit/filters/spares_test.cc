// Spare replicas of a remote filter: who is asked when, what a lost connection does, and what the
// counters say of it.

#include "tests/unit/filters/remote_fixture.h"

namespace weir::filters {
namespace {

class Spares : public RemoteFilterFixture {};

TEST_F(Spares, TheFirstIsAskedWhileItIsThere) {
  Make(3);
  ConnectAll();
  for (int i = 0; i < 5; ++i) {
    const auto call = Start(i % 2 == 0 ? Phase::kUp : Phase::kDown);
    channel(0).Answer(channel(0).last());
    EXPECT_EQ(call->outcome(), "pass");
  }
  EXPECT_EQ(Counter("first_asked"), 5u);
  EXPECT_EQ(Counter("first_answered"), 5u);
  EXPECT_EQ(Counter("spare_1_asked") + Counter("spare_2_asked"), 0u);
  EXPECT_EQ(Counter("failed_over"), 0u);
  EXPECT_EQ(Counter("connected"), 3u);
}

TEST_F(Spares, TheNextThatIsConnectedIsAskedWhileTheFirstIsNot) {
  Make(3);
  channel(2).Connect(Methods());
  auto call = Start();
  ASSERT_EQ(channel(2).tickets.size(), 1u);
  channel(2).Answer(channel(2).last());
  EXPECT_EQ(call->outcome(), "pass");
  EXPECT_EQ(Counter("failed_over"), 1u);

  channel(1).Connect(Methods());
  call = Start();
  channel(1).Answer(channel(1).last());
  EXPECT_EQ(call->outcome(), "pass");
  EXPECT_EQ(Counter("spare_1_asked"), 1u);
  EXPECT_EQ(Counter("spare_2_asked"), 1u);
  EXPECT_EQ(Counter("policy_taken"), 0u);
}

TEST_F(Spares, TheFirstIsAskedAgainWhenItIsBack) {
  Make(2);
  ConnectAll();
  channel(0).Lose();
  const auto meanwhile = Start();
  EXPECT_EQ(Counter("spare_1_asked"), 1u);
  channel(0).Connect(Methods());
  const auto call = Start();
  EXPECT_EQ(Counter("spare_1_asked"), 1u);
  channel(0).Answer(channel(0).last());
  EXPECT_EQ(call->outcome(), "pass");
  channel(1).Answer(channel(1).last());
}

TEST_F(Spares, NobodyThereIsThePolicy) {
  Make(3);
  ConnectAll();
  for (size_t i = 0; i < 3; ++i) channel(i).Lose();
  const auto call = Start();
  EXPECT_EQ(call->outcome(), "bounce by policy");
  EXPECT_EQ(call->why(), StepOutcome::kRefused);
  EXPECT_EQ(Counter("absent"), 1u);
  EXPECT_EQ(Counter("asked"), 0u);
}

TEST_F(Spares, ALostQuestionIsPutToTheNextAtOnceAndKeepsItsDeadline) {
  Make(2);
  ConnectAll();
  const auto up = Start(), down = Start(Phase::kDown);
  clock_.now += 100 * kMillisecond;
  channel(0).Lose();
  EXPECT_EQ(up->outcome(), "");
  ASSERT_EQ(channel(1).tickets.size(), 2u);
  EXPECT_EQ(channel(1).deadlines[0], channel(0).deadlines[0]) << "no more time than before";
  for (const uint64_t ticket : channel(1).tickets) channel(1).Answer(ticket);
  EXPECT_EQ(up->outcome(), "pass");
  EXPECT_EQ(down->outcome(), "pass");
  EXPECT_EQ(Counter("asked_again"), 2u);
  EXPECT_EQ(Counter("failed_over"), 0u);
  EXPECT_EQ(Counter("lost"), 0u);
  EXPECT_EQ(Counter("asked"), 4u);
  EXPECT_EQ(Counter("answered"), 2u);
}

TEST_F(Spares, OneLostQuestionAloneIsPutToTheNext) {
  Make(2);
  ConnectAll();
  const auto lost = Start(), other = Start();
  channel(0).LoseOne(channel(0).tickets[0]);
  channel(0).LoseOne(channel(0).tickets[0]);  // which is known
  ASSERT_EQ(channel(1).tickets.size(), 1u);
  channel(1).Answer(channel(1).last());
  EXPECT_EQ(lost->outcome(), "pass");
  channel(0).Answer(channel(0).tickets[1]);
  EXPECT_EQ(other->outcome(), "pass");
}

TEST_F(Spares, NobodyIsAskedTwiceAboutOneCall) {
  Make(2);
  ConnectAll();
  const auto call = Start();
  channel(0).Lose();
  channel(0).Connect(Methods());
  channel(1).Lose();
  EXPECT_EQ(call->outcome(), "bounce by policy");
  EXPECT_EQ(call->why(), StepOutcome::kFailed);
  EXPECT_EQ(channel(0).tickets.size(), 1u);
  EXPECT_EQ(Counter("lost"), 1u);
  EXPECT_EQ(Counter("policy_taken"), 1u);
}

TEST_F(Spares, TheFirstIsAskedAboutWhatASpareHasLostIfItIsBack) {
  Make(2);
  channel(1).Connect(Methods());
  const auto call = Start();
  channel(0).Connect(Methods());
  channel(1).Lose();
  ASSERT_EQ(channel(0).tickets.size(), 1u);
  channel(0).Answer(channel(0).last());
  EXPECT_EQ(call->outcome(), "pass");
}

TEST_F(Spares, NoTimeLeftIsThePolicy) {
  RemoteOptions options;
  options.up.timeout = kSecond;
  Make(2, options);
  ConnectAll();
  // Before the ticker sees it, or after: nobody else is asked.
  const auto call = Start();
  clock_.now += 2 * kSecond;
  channel(0).Lose();
  EXPECT_EQ(call->outcome(), "bounce by policy");
  EXPECT_EQ(channel(1).tickets.size(), 0u);
  EXPECT_EQ(Counter("lost") + Counter("timed_out"), 1u);
}

TEST_F(Spares, ATimeoutIsNotPutToAnybodyElse) {
  Make(2);
  ConnectAll();
  const auto call = Start();
  Pass(10 * kSecond, *call);
  EXPECT_EQ(call->outcome(), "bounce by policy");
  EXPECT_EQ(call->why(), StepOutcome::kTimedOut);
  EXPECT_EQ(channel(1).tickets.size(), 0u);
  channel(0).Answer(channel(0).last());
  EXPECT_EQ(Counter("late"), 1u);
}

TEST_F(Spares, AnOpenBreakerSendsCallsToTheNextUntilAProbeIsAnswered) {
  RemoteOptions options;
  options.breaker = 2;
  options.breaker_pause = 5 * kSecond;
  Make(2, options);
  ConnectAll();
  const auto a = Start(), b = Start();
  Pass(1 * kSecond, *a);
  Pass(0, *b);
  // Open: no call is lost to it.
  for (int i = 0; i < 10; ++i) {
    const auto call = Start();
    ASSERT_EQ(channel(1).tickets.size(), i + 1u);
    channel(1).Answer(channel(1).last());
    EXPECT_EQ(call->outcome(), "pass");
  }
  EXPECT_EQ(Counter("first_asked"), 2u);
  EXPECT_EQ(Counter("failed_over"), 10u);
  EXPECT_EQ(Counter("breaker_open"), 0u) << "nobody got the policy for it";
  // Half open: one call probes, the others go to the spare meanwhile.
  clock_.now += 5 * kSecond;
  const auto probe = Start(), other = Start();
  EXPECT_EQ(Counter("first_asked"), 3u);
  EXPECT_EQ(channel(1).tickets.size(), 11u);
  channel(0).Answer(channel(0).last());
  EXPECT_EQ(probe->outcome(), "pass");
  channel(1).Answer(channel(1).last());
  const auto last = Start();
  EXPECT_EQ(Counter("first_asked"), 4u);
  channel(0).Answer(channel(0).last());
}

TEST_F(Spares, AllBreakersOpenIsThePolicy) {
  RemoteOptions options;
  options.breaker = 1;
  options.breaker_pause = 60 * kSecond;
  Make(2, options);
  ConnectAll();
  for (int i = 0; i < 2; ++i) {
    const auto call = Start();
    Pass(1 * kSecond, *call);
  }
  const auto call = Start();
  EXPECT_EQ(call->outcome(), "bounce by policy");
  EXPECT_EQ(call->why(), StepOutcome::kRefused);
  EXPECT_EQ(Counter("breaker_open"), 1u);
  EXPECT_EQ(Counter("asked"), 2u);
}

TEST_F(Spares, OneThatTakesNoMoreIsPassedOver) {
  Make(2);
  ConnectAll();
  channel(0).takes = false;
  const auto call = Start();
  channel(1).Answer(channel(1).last());
  EXPECT_EQ(call->outcome(), "pass");
  EXPECT_EQ(Counter("failed_over"), 1u);
}

TEST_F(Spares, NobodyAnswersForAnotherOne) {
  Make(2);
  ConnectAll();
  const auto call = Start();
  Answer bounce;
  bounce.kind = Answer::Kind::kSystemException;
  channel(1).Answer(channel(0).last(), bounce);
  EXPECT_EQ(call->outcome(), "");
  EXPECT_EQ(Counter("late"), 1u);
  channel(1).LoseOne(channel(0).last());
  channel(1).Lose();
  EXPECT_EQ(call->outcome(), "");
  channel(0).Answer(channel(0).last());
  EXPECT_EQ(call->outcome(), "pass");
}

TEST_F(Spares, TheLimitOfWaitingCallsIsForAllTogether) {
  RemoteOptions options;
  options.max_waiting = 2;
  Make(2, options);
  ConnectAll();
  const auto a = Start(), b = Start();
  channel(0).Lose();
  EXPECT_EQ(channel(1).tickets.size(), 2u);
  const auto c = Start();
  EXPECT_EQ(c->outcome(), "bounce by policy");
  EXPECT_EQ(Counter("overload"), 1u);
  filter_->LetGo();
  EXPECT_EQ(a->outcome(), "failed");
  EXPECT_EQ(b->outcome(), "failed");
}

TEST_F(Spares, WhatOneLacksAnotherIsAsked) {
  Make(2);
  channel(0).Connect({{.name = "look", .phase = Phase::kDown}});
  channel(1).Connect(Methods());
  const auto call = Start();
  channel(1).Answer(channel(1).last());
  EXPECT_EQ(call->outcome(), "pass");
  EXPECT_NE(logger_.lines().find("filter_lacks_method plug=p at=address-0"), std::string::npos)
      << logger_.lines();
}

TEST_F(Spares, AMethodIsUnknownOnceTheFirstHasNotNamedItAndNoSpareHas) {
  Make(2);
  channel(1).Connect(Methods());
  EXPECT_TRUE(filter_->MethodIndex(Phase::kUp, "other").ok()) << "the first may have it";
  channel(0).Connect({{.name = "only", .phase = Phase::kUp}});
  EXPECT_TRUE(filter_->MethodIndex(Phase::kUp, "only").ok());
  const auto unknown = filter_->MethodIndex(Phase::kUp, "nonsense");
  EXPECT_TRUE(absl::IsNotFound(unknown.status()));
  EXPECT_NE(unknown.status().message().find("address-0"), std::string::npos) << unknown.status();
}

TEST_F(Spares, ChangesAreThoseThatTheOneAskedHasDeclared) {
  Make(2);
  std::vector<MethodInfo> changing = Methods();
  changing[0].changes = true;
  channel(0).Connect(changing);
  channel(1).Connect(Methods());
  Answer change;
  change.operation = "other";
  auto call = Start();
  channel(0).Answer(channel(0).last(), change);
  EXPECT_EQ(call->call.request().operation, "other");
  channel(0).Lose();
  call = Start();
  channel(1).Answer(channel(1).last(), change);
  EXPECT_EQ(call->call.request().operation, "op");
  EXPECT_EQ(Counter("refused"), 1u);
}

}  // namespace
}  // namespace weir::filters
