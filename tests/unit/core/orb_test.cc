// Calls over real sockets, from one ORB to another and within one.

#include "orb/core/orb.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/core/testing.h"

namespace weir::orb {
namespace {

class OrbTransports : public ::testing::TestWithParam<const char*> {
 protected:
  Endpoint Listen() {
    return server_.Listen(GetParam(),
                          std::string_view(GetParam()) == "tcp" ? "127.0.0.1:0" : dir_.File("s"));
  }
  testing::TempDir dir_;
  TestOrb server_, client_;
};
INSTANTIATE_TEST_SUITE_P(Transports, OrbTransports, ::testing::Values("tcp", "unix"));

TEST_P(OrbTransports, ABlockingCallReturnsItsResult) {
  const auto target = client_.To({Listen()});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client_.Ping(target, i), i + 1);
  EXPECT_EQ(server_->stats().server.calls, 100u);
  EXPECT_EQ(client_->stats().upstream_connections, 1u);
}

TEST_P(OrbTransports, AConnectionIsServedAgainHoweverLongItWasHotOrRested) {
  // Below, at and above what makes a thread stay and take the connection out of the reactor's set,
  // with rests that call it back, and some that do not.
  const auto target = client_.To({Listen()});
  int value = 0;
  for (const int calls : {1, 31, 32, 33, 34, 100, 2, 200}) {
    for (const int rest_ms : {0, 3, 15, 50}) {
      for (int i = 0; i < calls; ++i, ++value) ASSERT_EQ(client_.Ping(target, value), value + 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(rest_ms));
    }
  }
  EXPECT_EQ(client_->stats().upstream_connections, 1u);
}

TEST_P(OrbTransports, HotConnectionsLeaveAThreadForTheOthers) {
  const Endpoint endpoint = Listen();
  std::atomic<bool> over{false};
  std::vector<std::thread> hot;
  for (int t = 0; t < 6; ++t) {
    hot.emplace_back([&] {
      TestOrb client;
      const auto target = client.To({endpoint});
      while (!over.load()) ASSERT_EQ(client.Ping(target, 1), 2);
    });
  }
  for (int i = 0; i < 20; ++i) {
    TestOrb fresh;
    EXPECT_EQ(fresh.Ping(fresh.To({endpoint}), i, In(kPatience)), i + 1);
  }
  over.store(true);
  for (std::thread& t : hot) t.join();
}

TEST_P(OrbTransports, AThousandAsynchronousCallsInFlightAreAllAnswered) {
  Held held;
  server_.servant->On("hold", held.Hold());
  const auto target = client_.To({Listen()});
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 1000; ++i) {
    calls.push_back(std::make_unique<TestCall>("hold", i));
    client_->invoker().Start(target, calls.back().get());
  }
  ASSERT_TRUE(Eventually([&] { return held.size() == 1000; }));
  EXPECT_EQ(server_->stats().server.calls_in_progress, 1000u);
  for (CallRef& call : held.Take()) FunctionServant::AnswerPlusOne(std::move(call));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(calls[i]->WaitDone());
    EXPECT_TRUE(calls[i]->status.ok()) << calls[i]->status;
    EXPECT_EQ(calls[i]->result(), i + 1);
    EXPECT_EQ(calls[i]->done(), 1);
  }
  EXPECT_LE(client_->stats().upstream_connections, 5u);
  EXPECT_LE(server_->stats().threads, 8);
}

TEST_P(OrbTransports, ManyThreadsCallAtTheSameTime) {
  const auto target = client_.To({Listen()});
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) right += client_.Ping(target, t * 1000 + i) == t * 1000 + i + 1;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 1600);
  EXPECT_LE(client_->stats().upstream_connections, 5u);
}

TEST_P(OrbTransports, LargeMessagesPassBothWays) {
  server_.servant->On("bounce", [](CallRef call) {
    call->NewBody().WriteOctets(call->request().body.bytes);
    call->SetResult();
    call.Send();
  });
  const auto target = client_.To({Listen()});
  for (const size_t size : {0u, 1u, 8192u, 100'000u, 5'000'000u}) {
    const std::string data(size, 'd');
    TestCall call("bounce");
    call.message.body.bytes = data;
    ASSERT_TRUE(client_.Invoke(target, &call).ok());
    EXPECT_EQ(call.reply.body.bytes, data);
  }
}

TEST_P(OrbTransports, AOnewayIsServedAndNothingComesBack) {
  std::atomic<int> served{0};
  server_.servant->On("tell", [&](CallRef call) {
    EXPECT_FALSE(call->request().response_expected);
    ++served;
    call.Send();
  });
  const auto target = client_.To({Listen()});
  for (int i = 0; i < 10; ++i) {
    TestCall call("tell", i);
    call.message.response_expected = false;
    EXPECT_TRUE(client_.Invoke(target, &call).ok());
  }
  TestCall later("tell");
  later.message.response_expected = false;
  client_->invoker().Start(target, &later);
  EXPECT_TRUE(later.WaitDone());
  EXPECT_TRUE(Eventually([&] { return served == 11; }));
  EXPECT_EQ(client_.Ping(target, 1), 2);
}

class OrbTest : public ::testing::Test {
 protected:
  TestOrb server_, client_;
};

TEST_F(OrbTest, LocateRequestSaysWhetherTheObjectIsThere) {
  const Endpoint at = server_.Listen();
  TestCall call("");
  call.locate = true;
  EXPECT_TRUE(client_.Invoke(client_.To({at}), &call).ok());
  EXPECT_EQ(call.locate_status, LocateStatus::kObjectHere);
  EXPECT_TRUE(client_.Invoke(client_.To({at}, "nobody"), &call).ok());
  EXPECT_EQ(call.locate_status, LocateStatus::kUnknownObject);
}

TEST_F(OrbTest, BuiltinOperationsAreAnsweredForTheServant) {
  const auto target = client_.To({server_.Listen()});
  const auto is_a = [&](std::string_view id) {
    cdr::ByteBuffer body;
    cdr::Encoder(&body).WriteString(id);
    TestCall call("_is_a");
    call.message.body.bytes = body.view();
    EXPECT_TRUE(client_.Invoke(target, &call).ok());
    return call.reply.body.decoder().ReadBoolean();
  };
  EXPECT_TRUE(is_a("IDL:weir/Test:1.0"));
  EXPECT_TRUE(is_a("IDL:omg.org/CORBA/Object:1.0"));
  EXPECT_FALSE(is_a("IDL:weir/Other:1.0"));
  TestCall malformed("_is_a");
  malformed.message.body.bytes = "\xff";
  EXPECT_TRUE(client_.Invoke(target, &malformed).ok());
  EXPECT_EQ(malformed.exception().id, ExceptionId::kMarshal);
  TestCall id("_repository_id");
  EXPECT_TRUE(client_.Invoke(target, &id).ok());
  EXPECT_EQ(id.reply.body.decoder().ReadString(), "IDL:weir/Test:1.0");
  TestCall non_existent("_non_existent");
  EXPECT_TRUE(client_.Invoke(target, &non_existent).ok());
  EXPECT_FALSE(non_existent.reply.body.decoder().ReadBoolean());
  TestCall interface("_interface");
  EXPECT_TRUE(client_.Invoke(target, &interface).ok());
  EXPECT_EQ(interface.exception().id, ExceptionId::kIntfRepos);
}

TEST_F(OrbTest, ExceptionsArriveWithMinorCodeAndCompletion) {
  server_.servant
      ->On("refuse",
           [](CallRef call) {
             call.SendSystemException({ExceptionId::kNoPermission, 77, Completion::kYes});
           })
      .On("user", [](CallRef call) {
        call->NewBody().WriteString("IDL:weir/Bad:1.0");
        call->SetUserException();
        call.Send();
      });
  const Endpoint at = server_.Listen();
  TestCall refuse("refuse"), user("user"), unknown("unknown"), nobody("ping");
  EXPECT_TRUE(client_.Invoke(client_.To({at}), &refuse).ok());
  EXPECT_EQ(refuse.reply.status, ReplyStatus::kSystemException);
  EXPECT_EQ(refuse.exception().id, ExceptionId::kNoPermission);
  EXPECT_EQ(refuse.exception().minor, 77u);
  EXPECT_EQ(refuse.exception().completed, Completion::kYes);
  EXPECT_TRUE(client_.Invoke(client_.To({at}), &user).ok());
  EXPECT_EQ(user.reply.status, ReplyStatus::kUserException);
  EXPECT_EQ(user.reply.body.decoder().ReadString(), "IDL:weir/Bad:1.0");
  EXPECT_TRUE(client_.Invoke(client_.To({at}), &unknown).ok());
  EXPECT_EQ(unknown.exception().id, ExceptionId::kBadOperation);
  EXPECT_TRUE(client_.Invoke(client_.To({at}, "nobody"), &nobody).ok());
  EXPECT_EQ(nobody.exception().id, ExceptionId::kObjectNotExist);
  EXPECT_EQ(nobody.exception().minor, OmgMinor(2));
}

TEST_F(OrbTest, AServantThatThrowsOrDropsTheCallIsAnsweredFor) {
  server_.servant->On("throw", [](CallRef) { throw std::runtime_error("out of\nluck"); })
      .On("throw int", [](CallRef) { throw 7; })
      .On("drop", [](CallRef) {})
      .On("drop later", [](CallRef call) {
        std::thread([c = std::move(call)]() mutable { CallRef dropped = std::move(c); }).detach();
      });
  const auto target = client_.To({server_.Listen()});
  const auto minor_of = [&](std::string_view operation, ExceptionId id) {
    TestCall call(operation);
    EXPECT_TRUE(client_.Invoke(target, &call).ok());
    EXPECT_EQ(call.exception().id, id) << operation;
    return static_cast<WeirMinor>(call.exception().minor);
  };
  EXPECT_EQ(minor_of("throw", ExceptionId::kUnknown), WeirMinor::kServantThrew);
  EXPECT_EQ(minor_of("throw int", ExceptionId::kUnknown), WeirMinor::kServantThrew);
  EXPECT_EQ(minor_of("drop", ExceptionId::kInternal), WeirMinor::kNoReply);
  EXPECT_EQ(minor_of("drop later", ExceptionId::kInternal), WeirMinor::kNoReply);
  EXPECT_NE(server_.log.lines().find("out of\\x0aluck"), std::string::npos) << server_.log.lines();
  EXPECT_EQ(client_.Ping(target, 1), 2);
}

TEST_F(OrbTest, AServantMayCallItsOwnOrbWhileItServes) {
  std::shared_ptr<Target> self;
  server_.servant->On("nest", [&](CallRef call) {
    const int32_t depth = FunctionServant::Argument(*call);
    int32_t below = 0;
    if (depth > 0) {
      TestCall inner("nest", depth - 1);
      EXPECT_TRUE(server_.Invoke(self, &inner).ok());
      below = inner.result();
    }
    call->NewBody().WriteLong(below + 1);
    call->SetResult();
    call.Send();
  });
  self = server_.To({server_.Listen()});
  TestCall call("nest", 20);
  EXPECT_TRUE(server_.Invoke(self, &call).ok());
  EXPECT_EQ(call.result(), 21);
}

TEST_F(OrbTest, ABlockedServantHoldsUpNoOtherConnection) {
  std::atomic<bool> go{false};
  server_.servant->On("block", [&](CallRef call) {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    FunctionServant::AnswerPlusOne(std::move(call));
  });
  const auto target = client_.To({server_.Listen()});
  std::vector<std::thread> blocked;
  TestOrb others[4];
  for (TestOrb& other : others) {
    blocked.emplace_back([&other, at = target->reference().endpoints] {
      TestCall call("block", 5);
      EXPECT_TRUE(other.Invoke(other.To(at), &call).ok());
      EXPECT_EQ(call.result(), 6);
    });
  }
  EXPECT_TRUE(Eventually([&] { return server_->stats().server.calls_in_progress == 4; }));
  EXPECT_EQ(client_.Ping(target, 1), 2);
  go = true;
  for (std::thread& t : blocked) t.join();
}

TEST_F(OrbTest, ADoneCallbackMayStartTheNextCall) {
  const auto target = client_.To({server_.Listen()});
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(std::make_unique<TestCall>("ping", i));
  for (int i = 0; i + 1 < 200; ++i) {
    calls[i]->on_done = [&, i] { client_->invoker().Start(target, calls[i + 1].get()); };
  }
  client_->invoker().Start(target, calls[0].get());
  EXPECT_TRUE(calls[199]->WaitDone());
  EXPECT_EQ(calls[199]->result(), 200);
  for (const auto& call : calls) EXPECT_TRUE(call->WaitDone());
}

TEST_F(OrbTest, UnknownEndpointsAreRefusedWithWhatThereIs) {
  const absl::Status transport = server_->Listen("giop:carrier:pigeon").status();
  EXPECT_EQ(transport.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(transport.message().find("tcp, unix"), absl::string_view::npos) << transport;
  const absl::Status messaging = server_->Listen("xml:tcp::0").status();
  EXPECT_NE(messaging.message().find("giop"), absl::string_view::npos) << messaging;
  EXPECT_EQ(server_->MakeReference("", "k").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(client_->Resolve("corbaloc:rir:/NameService").ok());
  EXPECT_FALSE(client_->Resolve("nonsense").ok());
}

TEST_F(OrbTest, AReferenceWithoutAUsableAddressMakesNoTarget) {
  const auto target = client_->invoker().NewTarget(ReferenceTo({{"carrier", "pigeon"}}));
  EXPECT_EQ(FromStatus(target.status()).minor, static_cast<uint32_t>(WeirMinor::kNoUsableAddress));
}

}  // namespace
}  // namespace weir::orb
