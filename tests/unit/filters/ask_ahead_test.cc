// Questions that a remote filter is asked ahead, while filters before it have the call.

#include "tests/unit/filters/remote_fixture.h"

namespace weir::filters {
namespace {

class AskAhead : public RemoteFilterFixture {
 protected:
  void MakeAhead(size_t replicas = 1, RemoteOptions options = {}) {
    options.ahead = true;
    Make(replicas, options);
    ConnectAll();
  }
  // A call that is still with another filter.
  std::unique_ptr<FakeSuspended> Ahead() {
    auto call = std::make_unique<FakeSuspended>(Phase::kUp);
    filter_->AskAhead(up_, call->call);
    return call;
  }
  // It comes.
  void Come(FakeSuspended* call) { filter_->StartUp(up_, call->Suspend()); }
  static Answer Exception() {
    Answer answer;
    answer.kind = Answer::Kind::kSystemException;
    answer.exception = {orb::ExceptionId::kNoMemory, 5, orb::Completion::kNo};
    return answer;
  }
};

TEST_F(AskAhead, WhatWasAnsweredIsAppliedWhenTheCallComes) {
  MakeAhead();
  const auto call = Ahead();
  ASSERT_EQ(channel(0).tickets.size(), 1u);
  channel(0).Answer(channel(0).last(), Exception());
  EXPECT_EQ(call->outcome(), "");
  EXPECT_FALSE(call->call.system_exception().has_value()) << "the call is another filter's";
  Come(call.get());
  EXPECT_EQ(call->outcome(), "bounce");
  EXPECT_EQ(call->call.system_exception()->id, orb::ExceptionId::kNoMemory);
  EXPECT_EQ(channel(0).tickets.size(), 1u) << "asked once";
  EXPECT_EQ(Counter("asked_ahead"), 1u);
  EXPECT_EQ(Counter("answered"), 1u);
  EXPECT_EQ(Counter("waiting"), 0u);
}

TEST_F(AskAhead, ACallThatComesFirstWaitsForItAndKeepsItsDeadline) {
  MakeAhead();
  const auto call = Ahead();
  clock_.now += 600 * kMillisecond;
  Come(call.get());
  EXPECT_EQ(call->outcome(), "");
  channel(0).Answer(channel(0).last());
  EXPECT_EQ(call->outcome(), "pass");
  const auto slow = Ahead();
  clock_.now += 600 * kMillisecond;
  Come(slow.get());
  Pass(600 * kMillisecond, *slow);
  EXPECT_EQ(slow->why(), StepOutcome::kTimedOut);
  EXPECT_EQ(Counter("timed_out"), 1u);
  channel(0).Answer(channel(0).last());
  EXPECT_EQ(Counter("late"), 1u);
}

TEST_F(AskAhead, OnesThatAreForgottenDoNothing) {
  MakeAhead();
  const auto answered = Ahead(), waiting = Ahead();
  channel(0).Answer(channel(0).tickets[0]);
  filter_->Forget(up_, answered->call);
  filter_->Forget(up_, waiting->call);
  filter_->Forget(up_, waiting->call);  // is nothing
  EXPECT_EQ(Counter("waiting"), 0u);
  EXPECT_EQ(Counter("forgotten"), 2u);
  channel(0).Answer(channel(0).tickets[1]);
  EXPECT_EQ(Counter("late"), 1u);
  EXPECT_EQ(waiting->outcome(), "");
}

TEST_F(AskAhead, ATimeoutIsThePolicyWhenTheCallComes) {
  MakeAhead();
  const auto call = Ahead(), answered = Ahead();
  channel(0).Answer(channel(0).tickets[1]);
  // Another call tells when the ticker has seen it.
  const auto witness = Start();
  Pass(1500 * kMillisecond, *witness);
  Come(call.get());
  EXPECT_EQ(call->outcome(), "bounce by policy");
  EXPECT_EQ(call->why(), StepOutcome::kTimedOut);
  Come(answered.get());
  EXPECT_EQ(answered->outcome(), "pass") << "it was in time, and the call was not";
  EXPECT_EQ(Counter("waiting"), 0u);
}

TEST_F(AskAhead, WhatNobodyComesForGoesByItself) {
  MakeAhead();
  const auto never = Ahead(), answered = Ahead();
  channel(0).Answer(channel(0).tickets[1]);
  for (int i = 0; i < 2; ++i) {
    const auto witness = Start();
    Pass(1500 * kMillisecond, *witness);
  }
  EXPECT_EQ(Counter("waiting"), 0u);
  EXPECT_EQ(Counter("forgotten"), 2u);
}

TEST_F(AskAhead, LostOnesAreAskedAnewWhenTheCallComes) {
  MakeAhead(2);
  const auto lost = Ahead(), kept = Ahead(), one = Ahead();
  channel(0).Answer(channel(0).tickets[1]);
  channel(0).LoseOne(channel(0).tickets[1]);  // which is answered
  channel(0).LoseOne(channel(0).tickets[2]);
  channel(0).Lose();
  EXPECT_EQ(channel(1).tickets.size(), 0u);
  Come(lost.get());
  Come(one.get());
  ASSERT_EQ(channel(1).tickets.size(), 2u);
  for (const uint64_t ticket : channel(1).tickets) channel(1).Answer(ticket);
  EXPECT_EQ(lost->outcome(), "pass");
  EXPECT_EQ(one->outcome(), "pass");
  Come(kept.get());
  EXPECT_EQ(kept->outcome(), "pass");
  EXPECT_EQ(Counter("policy_taken"), 0u);
  // One that is lost after the call has come is put to the next at once.
  channel(0).Connect(Methods());
  const auto late = Ahead();
  Come(late.get());
  channel(0).Lose();
  channel(1).Answer(channel(1).last());
  EXPECT_EQ(late->outcome(), "pass");
  EXPECT_EQ(Counter("asked_again"), 1u);
}

TEST_F(AskAhead, NobodyToAskIsNotThePolicyYet) {
  MakeAhead();
  channel(0).Lose();
  const auto call = Ahead();
  EXPECT_EQ(Counter("absent"), 0u);
  channel(0).Connect(Methods());
  Come(call.get());
  channel(0).Answer(channel(0).last());
  EXPECT_EQ(call->outcome(), "pass");
}

TEST_F(AskAhead, TheyCountAmongThoseThatWait) {
  RemoteOptions options;
  options.max_waiting = 1;
  MakeAhead(1, options);
  const auto first = Ahead(), second = Ahead();
  EXPECT_EQ(channel(0).tickets.size(), 1u);
  EXPECT_EQ(Counter("overload"), 0u) << "its call has not come";
  Come(second.get());
  EXPECT_EQ(second->outcome(), "bounce by policy");
  EXPECT_EQ(Counter("overload"), 1u);
  Come(first.get());
  channel(0).Answer(channel(0).last());
  EXPECT_EQ(first->outcome(), "pass");
}

TEST_F(AskAhead, IsAskedOnceAndOnlyIfThePlugAllowsIt) {
  MakeAhead();
  const auto call = Ahead();
  filter_->AskAhead(up_, call->call);
  EXPECT_EQ(channel(0).tickets.size(), 1u);
  filter_->Forget(up_, call->call);

  channels_.clear();
  filter_.reset();
  Make(1);
  ConnectAll();
  const auto other = Ahead();
  EXPECT_EQ(channel(0).tickets.size(), 0u);
}

TEST_F(AskAhead, OnlyWhatDeclaresNoChangeOnlyLooks) {
  MakeAhead(2);
  EXPECT_TRUE(filter_->OnlyLooks(up_));
  std::vector<MethodInfo> changing = Methods();
  changing[0].changes = true;
  channel(1).Connect(changing);
  EXPECT_FALSE(filter_->OnlyLooks(up_)) << "one of its replicas may";
  channel(1).Connect(Methods());
  EXPECT_TRUE(filter_->OnlyLooks(up_));
}

TEST_F(AskAhead, TheEndLetsGoOfThemToo) {
  MakeAhead();
  const auto ahead = Ahead(), come = Ahead();
  Come(come.get());
  filter_->LetGo();
  EXPECT_EQ(come->outcome(), "failed");
  EXPECT_EQ(ahead->outcome(), "");
  EXPECT_EQ(Counter("waiting"), 0u);
  for (const uint64_t ticket : channel(0).tickets) channel(0).Answer(ticket);
  EXPECT_EQ(Counter("late"), 2u);
}

}  // namespace
}  // namespace weir::filters
