// What becomes of calls when servers misbehave, go away, or send them elsewhere.

#include "orb/core/invoker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/core/testing.h"

namespace weir::orb {
namespace {

using Connection = FakeServer::Connection;

void AnswerOne(Connection& c) {
  const Incoming in = c.Next();
  ASSERT_EQ(in.kind, Incoming::Kind::kRequest);
  c.ReplyLong(in.id, in.request.body.decoder().ReadLong() + 1);
}
void UntilTheEnd(Connection& c) {
  while (c.Next().kind != Incoming::Kind::kClose) {
  }
}

class InvokerTest : public ::testing::Test {
 protected:
  // Blocking and asynchronous calls must fare alike.
  void Call(const std::shared_ptr<Target>& target, TestCall* call, bool blocking) {
    if (blocking) {
      (void)client_.Invoke(target, call);
    } else {
      client_->invoker().Start(target, call);
      EXPECT_TRUE(call->WaitDone());
      EXPECT_EQ(call->done(), 1);
    }
  }
  TestOrb client_;
};

void ExpectFailure(const TestCall& call, ExceptionId id, WeirMinor minor, Completion completed) {
  EXPECT_FALSE(call.status.ok());
  EXPECT_EQ(call.exception().id, id) << call.status;
  EXPECT_EQ(call.exception().minor, static_cast<uint32_t>(minor)) << call.status;
  EXPECT_EQ(call.exception().completed, completed) << call.status;
}

TEST_F(InvokerTest, ACallThatTheServerClosesOnInGoodOrderIsSentAgain) {
  for (const bool blocking : {true, false}) {
    FakeServer server({[](Connection& c) {
                         EXPECT_EQ(c.Next().kind, Incoming::Kind::kRequest);
                         c.SendClose();
                       },
                       [](Connection& c) {
                         AnswerOne(c);
                         UntilTheEnd(c);
                       }});
    TestOrb client;
    TestCall call("ping", 5);
    const auto target = client.To({server.endpoint()});
    if (blocking) {
      EXPECT_TRUE(client.Invoke(target, &call).ok()) << call.status;
    } else {
      client->invoker().Start(target, &call);
      ASSERT_TRUE(call.WaitDone());
    }
    EXPECT_TRUE(call.status.ok()) << call.status;
    EXPECT_EQ(call.result(), 6);
  }
}

TEST_F(InvokerTest, AServerThatAlwaysClosesInGoodOrderIsGivenUpOn) {
  const auto close = [](Connection& c) {
    c.Next();
    c.SendClose();
  };
  for (const bool blocking : {true, false}) {
    FakeServer server({close, close, close, close, close});
    TestCall call("ping");
    Call(client_.To({server.endpoint()}), &call, blocking);
    ExpectFailure(call, ExceptionId::kTransient, WeirMinor::kConnectionLost, Completion::kNo);
  }
}

TEST_F(InvokerTest, ACallOnAConnectionThatJustEndsMayHaveBeenExecuted) {
  for (const bool blocking : {true, false}) {
    std::atomic<int> requests{0};
    const auto drop = [&](Connection& c) { requests += c.Next().kind == Incoming::Kind::kRequest; };
    FakeServer server({drop, drop});
    TestCall call("list");
    Call(client_.To({server.endpoint()}), &call, blocking);
    ExpectFailure(call, ExceptionId::kCommFailure, WeirMinor::kConnectionLost, Completion::kMaybe);
    EXPECT_EQ(requests, 1);
    EXPECT_EQ(call.error(),
              StrCat("tcp:", server.endpoint().address,
                     ": connection lost while calling list on test: the peer closed "
                     "it without a word; whether the call was executed is not known"));
  }
}

TEST_F(InvokerTest, ARestBetweenCallsEndsWithANewConnectionIfTheServerHasClosed) {
  FakeServer server({AnswerOne, [](Connection& c) {
                       AnswerOne(c);
                       UntilTheEnd(c);
                     }});
  const auto target = client_.To({server.endpoint()});
  EXPECT_EQ(client_.Ping(target, 1), 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(client_.Ping(target, 2), 3);
}

TEST_F(InvokerTest, ASilentServerIsGivenUpOnAtTheDeadline) {
  for (const bool blocking : {true, false}) {
    for (const Nanos time : {kMillisecond, 50 * kMillisecond}) {
      FakeServer server({[](Connection& c) {
        const uint32_t id = c.Next().id;
        const Incoming cancel = c.Next();
        EXPECT_EQ(cancel.kind, Incoming::Kind::kCancel);
        EXPECT_EQ(cancel.id, id);
        c.ReplyLong(id, 99);  // too late
        AnswerOne(c);
        UntilTheEnd(c);
      }});
      TestOrb client;
      const auto target = client.To({server.endpoint()});
      TestCall call("wait", 0, 0);
      {
        // So that the connection is there, and the deadline is all for the reply.
        TestCall late("wait", 0, TheClock().Now() - 1);
        EXPECT_FALSE(client.Invoke(target, &late).ok());
        ExpectFailure(late, ExceptionId::kTimeout, WeirMinor::kCallTimeout, Completion::kNo);
      }
      const Nanos began = TheClock().Now();
      call.message.deadline = began + time + 20 * kMillisecond;
      if (blocking) {
        (void)client.Invoke(target, &call);
      } else {
        client->invoker().Start(target, &call);
        ASSERT_TRUE(call.WaitDone());
      }
      EXPECT_GE(TheClock().Now(), call.message.deadline);
      EXPECT_LT(TheClock().Now() - began, 10 * kSecond);
      ExpectFailure(call, ExceptionId::kTimeout, WeirMinor::kCallTimeout, Completion::kMaybe);
      EXPECT_NE(call.error().find("no reply before the deadline while calling wait on test"),
                std::string::npos)
          << call.error();
      EXPECT_EQ(client.Ping(target, 1), 2);
    }
  }
}

TEST_F(InvokerTest, ACallCanBeCancelledFromAnotherThread) {
  for (const bool blocking : {true, false}) {
    std::atomic<bool> arrived{false};
    FakeServer server({[&](Connection& c) {
      const uint32_t id = c.Next().id;
      arrived = true;
      const Incoming cancel = c.Next();
      EXPECT_EQ(cancel.kind, Incoming::Kind::kCancel);
      EXPECT_EQ(cancel.id, id);
      UntilTheEnd(c);
    }});
    TestOrb client;
    TestCall call("wait");
    call.cancellable = true;
    std::thread canceller([&] {
      EXPECT_TRUE(Eventually([&] { return arrived.load(); }));
      client->invoker().Cancel(&call);
    });
    const auto target = client.To({server.endpoint()});
    if (blocking) {
      (void)client.Invoke(target, &call);
    } else {
      client->invoker().Start(target, &call);
      ASSERT_TRUE(call.WaitDone());
    }
    canceller.join();
    ExpectFailure(call, ExceptionId::kTransient, WeirMinor::kCancelled, Completion::kMaybe);
  }
}

TEST_F(InvokerTest, CancellableCallsThatShareAConnectionAllGetTheirReplies) {
  TestOrb server;
  const auto target = client_.To({server.Listen()});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        TestCall call("ping", i);
        call.cancellable = (t + i) % 2 == 0;
        call.affinity = 1;
        EXPECT_TRUE(client_.Invoke(target, &call).ok());
        EXPECT_EQ(call.result(), i + 1);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(client_->stats().upstream_connections, 1u);
}

TEST_F(InvokerTest, AMalformedReplyEndsItsCallOrTheConnection) {
  for (const bool blocking : {true, false}) {
    FakeServer server({[](Connection& c) {
      c.Next();
      c.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
      UntilTheEnd(c);
    }});
    TestCall call("ping");
    Call(client_.To({server.endpoint()}), &call, blocking);
    EXPECT_EQ(call.exception().id, ExceptionId::kCommFailure) << call.status;
  }
}

TEST_F(InvokerTest, RepliesToNobodyAreIgnored) {
  FakeServer server({[](Connection& c) {
    const Incoming in = c.Next();
    for (const uint32_t id : {0u, 1u, 4u, 0xfffffffeu, in.id + 2, in.id + 0x10000}) {
      c.ReplyLong(id, 13);
    }
    c.ReplyLong(in.id, 7);
    UntilTheEnd(c);
  }});
  EXPECT_EQ(client_.Ping(client_.To({server.endpoint()}), 1), 7);
}

TEST_F(InvokerTest, AnswersInAnyOrderFindTheirCalls) {
  constexpr int kCalls = 50;
  FakeServer server({[](Connection& c) {
    std::vector<std::pair<uint32_t, int32_t>> asked;
    for (int i = 0; i < kCalls; ++i) {
      const Incoming in = c.Next();
      asked.emplace_back(in.id, in.request.body.decoder().ReadLong());
    }
    for (int i = kCalls; i-- > 0;) c.ReplyLong(asked[i].first, asked[i].second + 1);
    UntilTheEnd(c);
  }});
  const auto target = client_.To({server.endpoint()});
  std::vector<std::thread> threads;
  for (int t = 0; t < kCalls; ++t) {
    threads.emplace_back([&, t] {
      TestCall call("ping", t);
      call.affinity = 1;
      EXPECT_TRUE(client_.Invoke(target, &call).ok()) << call.status;
      EXPECT_EQ(call.result(), t + 1);
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST_F(InvokerTest, CallsOfOneAffinityArriveInOrder) {
  std::vector<int32_t> seen;
  TestOrb server;
  server.servant->On("note", [&](CallRef call) {
    seen.push_back(FunctionServant::Argument(*call));
    call.Send();
  });
  const auto target = client_.To({server.Listen()});
  for (int i = 0; i < 500; ++i) {
    TestCall call("note", i);
    call.message.response_expected = false;
    call.affinity = 42;
    EXPECT_TRUE(client_.Invoke(target, &call).ok());
  }
  TestCall last("ping");
  last.affinity = 42;
  EXPECT_TRUE(client_.Invoke(target, &last).ok());
  ASSERT_EQ(seen.size(), 500u);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(seen[i], i);
}

TEST_F(InvokerTest, NoMoreCallsThanTheLimitAreInFlightOnAConnection) {
  OrbOptions options;
  options.client.max_calls_per_connection = 3;
  TestOrb client(options), server;
  Held held;
  server.servant->On("hold", held.Hold());
  const auto target = client.To({server.Listen()});
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 4; ++i) {
    calls.push_back(std::make_unique<TestCall>("hold", i));
    calls.back()->affinity = 1;
    client->invoker().Start(target, calls.back().get());
  }
  ASSERT_TRUE(calls[3]->WaitDone());
  ExpectFailure(*calls[3], ExceptionId::kNoResources, WeirMinor::kTooManyPending, Completion::kNo);
  ASSERT_TRUE(Eventually([&] { return held.size() == 3; }));
  for (CallRef& call : held.Take()) FunctionServant::AnswerPlusOne(std::move(call));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(calls[i]->WaitDone() && calls[i]->status.ok());
}

TEST_F(InvokerTest, ABodyThatCannotKeepItsAlignmentIsRefused) {
  TestOrb server;
  TestCall call("ping");
  call.message.body.alignment = 4;
  EXPECT_FALSE(client_.Invoke(client_.To({server.Listen()}), &call).ok());
  EXPECT_EQ(call.exception().id, ExceptionId::kMarshal) << call.status;
}

TEST_F(InvokerTest, TheSameInvocationCanBeUsedAgain) {
  TestOrb server;
  server.servant->On("fail", [](CallRef call) {
    call.SendSystemException({ExceptionId::kNoMemory, 0, Completion::kNo});
  });
  const auto target = client_.To({server.Listen()});
  TestCall call("fail");
  EXPECT_TRUE(client_.Invoke(target, &call).ok());
  EXPECT_EQ(call.reply.status, ReplyStatus::kSystemException);
  call.message.operation = "ping";
  call.message.response_expected = false;
  EXPECT_TRUE(client_.Invoke(target, &call).ok());
  EXPECT_EQ(call.reply.status, ReplyStatus::kNoException) << "left from the call before";
}

}  // namespace
}  // namespace weir::orb
