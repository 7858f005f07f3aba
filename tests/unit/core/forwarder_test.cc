#include "orb/core/forwarder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/core/testing.h"

namespace weir::orb {
namespace {

// client_ -> gateway_ -> server_
class ForwarderTest : public ::testing::Test {
 protected:
  // Returns what clients call.
  std::shared_ptr<Target> Forward(const Endpoint& upstream, ForwarderOptions options = {}) {
    gateway_->adapter().SetDefaultServant(
        std::make_shared<Forwarder>(&gateway_->invoker(), gateway_.To({upstream}),
                                    &gateway_->reactor(), &TheClock(), &gateway_.log, options));
    EXPECT_TRUE(gateway_->adapter().Deactivate("test").ok());
    return client_.To({gateway_.Listen()});
  }
  TestOrb server_, gateway_, client_;
};

TEST_F(ForwarderTest, RequestsAndRepliesPassUnchanged) {
  server_.servant->On("bounce", [](CallRef call) {
    call->NewBody().WriteOctets(call->request().body.bytes);
    call->SetUserException();
    call.Send();
  });
  const auto target = Forward(server_.Listen());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client_.Ping(target, i), i + 1);
  for (const size_t size : {0u, 1u, 100'000u, 3'000'000u}) {
    const std::string data(size, 'x');
    TestCall call("bounce");
    call.message.body.bytes = data;
    ASSERT_TRUE(client_.Invoke(target, &call).ok());
    EXPECT_EQ(call.reply.status, ReplyStatus::kUserException);
    EXPECT_EQ(call.reply.body.bytes, data);
  }
}

TEST_F(ForwarderTest, LocateRequestsAndBuiltinOperationsReachTheUpstream) {
  const auto target = Forward(server_.Listen());
  const Endpoint gateway = target->reference().endpoints[0];
  TestCall locate("");
  locate.locate = true;
  EXPECT_TRUE(client_.Invoke(target, &locate).ok());
  EXPECT_EQ(locate.locate_status, LocateStatus::kObjectHere);
  EXPECT_TRUE(client_.Invoke(client_.To({gateway}, "nobody"), &locate).ok());
  EXPECT_EQ(locate.locate_status, LocateStatus::kUnknownObject);
  TestCall id("_repository_id");
  EXPECT_TRUE(client_.Invoke(target, &id).ok());
  EXPECT_EQ(id.reply.body.decoder().ReadString(), "IDL:weir/Test:1.0");
}

TEST_F(ForwarderTest, OnewaysOfOneClientKeepTheirOrder) {
  Mutex mu;
  std::vector<int32_t> seen;
  server_.servant->On("note", [&](CallRef call) {
    MutexLock lock(&mu);
    seen.push_back(FunctionServant::Argument(*call));
  });
  const auto target = Forward(server_.Listen());
  for (int i = 0; i < 300; ++i) {
    TestCall call("note", i);
    call.affinity = 1;
    call.message.response_expected = false;
    EXPECT_TRUE(client_.Invoke(target, &call).ok());
  }
  EXPECT_TRUE(Eventually([&] {
    MutexLock lock(&mu);
    return seen.size() == 300;
  }));
  for (int i = 0; i < 300; ++i) EXPECT_EQ(seen[i], i);
}

TEST_F(ForwarderTest, AThousandCallsInFlightHoldNoThreads) {
  Held held;
  server_.servant->On("hold", held.Hold());
  const auto target = Forward(server_.Listen());
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 1000; ++i) {
    calls.push_back(std::make_unique<TestCall>("hold", i));
    client_->invoker().Start(target, calls.back().get());
  }
  ASSERT_TRUE(Eventually([&] { return held.size() == 1000; }));
  EXPECT_LE(gateway_->stats().threads, 8);
  for (CallRef& call : held.Take()) FunctionServant::AnswerPlusOne(std::move(call));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(calls[i]->WaitDone());
    EXPECT_EQ(calls[i]->result(), i + 1);
  }
}

TEST_F(ForwarderTest, ACallerThatCancelsGetsNothingAndDisturbsNobody) {
  Held held;
  server_.servant->On("hold", held.Hold());
  const auto target = Forward(server_.Listen());
  TestCall call("hold");
  call.cancellable = true;
  client_->invoker().Start(target, &call);
  ASSERT_TRUE(Eventually([&] { return held.size() == 1; }));
  client_->invoker().Cancel(&call);
  EXPECT_TRUE(call.WaitDone());
  EXPECT_FALSE(call.status.ok());
  for (CallRef& late : held.Take()) FunctionServant::AnswerPlusOne(std::move(late));
  EXPECT_EQ(client_.Ping(target, 1), 2);
  EXPECT_TRUE(Eventually([&] { return gateway_->stats().server.calls_in_progress == 0; }));
}

// The held calls are the upstream's: it learns of the cancellation while it still works on them.
TEST_F(ForwarderTest, AnAbandonedCallIsCancelledAtTheUpstreamToo) {
  Held held;
  server_.servant->On("hold", held.Hold());
  const auto target = Forward(server_.Listen());
  TestCall call("hold");
  call.cancellable = true;
  client_->invoker().Start(target, &call);
  ASSERT_TRUE(Eventually([&] { return held.size() == 1; }));
  client_->invoker().Cancel(&call);
  EXPECT_TRUE(call.WaitDone());
  EXPECT_TRUE(Eventually([&] { return gateway_->stats().server.calls_in_progress == 0; }));
  std::vector<CallRef> late = held.Take();
  EXPECT_TRUE(Eventually([&] { return late[0]->abandoned(); }));
  // The slot is free again: the next calls are not cancelled with it.
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client_.Ping(target, i), i + 1);
  for (CallRef& l : late) FunctionServant::AnswerPlusOne(std::move(l));
}

TEST_F(ForwarderTest, AClientThatVanishesLeavesNoCallBehind) {
  Held held;
  server_.servant->On("hold", held.Hold());
  const auto target = Forward(server_.Listen());
  {
    TestOrb vanishing;
    TestCall call("hold");
    vanishing->invoker().Start(vanishing.To(target->reference().endpoints), &call);
    ASSERT_TRUE(Eventually([&] { return held.size() == 1; }));
    EXPECT_FALSE(vanishing->Shutdown(In(kSecond)).code() == absl::StatusCode::kDeadlineExceeded);
    EXPECT_TRUE(call.WaitDone());
    EXPECT_EQ(call.exception().id, ExceptionId::kCommFailure) << call.status;
  }
  for (CallRef& late : held.Take()) FunctionServant::AnswerPlusOne(std::move(late));
  EXPECT_TRUE(Eventually([&] { return gateway_->stats().server.connections == 0; }));
}

TEST_F(ForwarderTest, AnUpstreamThatTakesTooLongIsATimeout) {
  Held held;
  server_.servant->On("hold", held.Hold());
  const auto target = Forward(server_.Listen(), ForwarderOptions{50 * kMillisecond});
  TestCall call("hold");
  EXPECT_TRUE(client_.Invoke(target, &call).ok());
  EXPECT_EQ(call.exception().id, ExceptionId::kTimeout);
  EXPECT_EQ(call.exception().completed, Completion::kMaybe);
  EXPECT_NE(gateway_.log.lines().find("event=upstream_failed"), std::string::npos);
  EXPECT_NE(gateway_.log.lines().find("no reply before the deadline while calling hold on test"),
            std::string::npos)
      << gateway_.log.lines();
  held.Take();
}

TEST_F(ForwarderTest, AnUpstreamThatRestartsIsFoundAgain) {
  auto first = std::make_unique<TestOrb>();
  const Endpoint at = first->Listen();
  const auto target = Forward(at);
  EXPECT_EQ(client_.Ping(target, 1), 2);
  EXPECT_TRUE((*first)->Shutdown(In(5 * kSecond)).ok());
  first.reset();

  TestCall down("ping");
  EXPECT_TRUE(client_.Invoke(target, &down).ok());
  EXPECT_EQ(down.exception().id, ExceptionId::kTransient);
  EXPECT_EQ(down.exception().minor, static_cast<uint32_t>(WeirMinor::kConnectFailed));
  EXPECT_EQ(down.exception().completed, Completion::kNo);
  EXPECT_NE(gateway_.log.lines().find(StrCat("upstream tcp:", at.address,
                                             ": cannot connect while calling ping on test: "
                                             "Connection refused; is the server running there?")),
            std::string::npos)
      << gateway_.log.lines();

  TestOrb second;
  second.Listen("tcp", at.address);
  EXPECT_EQ(client_.Ping(target, 2), 3);
}

// An object that has moved, and whose new place is gone: the upstream is asked again, by the key
// that the client sent.
TEST_F(ForwarderTest, AForwardThatLeadsNowhereIsAskedForAgainByTheClientsKey) {
  std::atomic<int> asked{0};
  const auto moved = std::make_shared<FunctionServant>();
  moved->On("ping", [&](CallRef call) {
    if (++asked > 1) return FunctionServant::AnswerPlusOne(std::move(call));
    const Ior ior = *BuildIor("", "elsewhere", {{"tcp", StrCat("127.0.0.1:", testing::FreePort())}},
                              IorOptions());
    cdr::Encoder out = call->NewBody();
    EncodeIor(ior, &out);
    call->SetForward();
    call.Send();
  });
  ASSERT_TRUE(server_->adapter().Activate("moved", moved).ok());
  const auto gateway = Forward(server_.Listen())->reference().endpoints[0];
  const auto target = client_.To({gateway}, "moved");
  EXPECT_EQ(client_.Ping(target, 4), 5);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace weir::orb
