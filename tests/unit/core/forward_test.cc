// LOCATION_FORWARD, NEEDS_ADDRESSING_MODE, and addresses that cannot be connected to.

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <vector>

#include "tests/unit/core/testing.h"

namespace weir::orb {
namespace {

FunctionServant::Function ForwardTo(std::vector<Endpoint> endpoints, std::string_view key) {
  return [ior = *BuildIor("", key, endpoints, IorOptions())](CallRef call) {
    cdr::Encoder out = call->NewBody();
    EncodeIor(ior, &out);
    call->SetForward();
    call.Send();
  };
}

class ForwardTest : public ::testing::Test {
 protected:
  // Has `key` of server_ answer ping by `function`.
  void Serve(std::string_view key, FunctionServant::Function function) {
    const auto servant = std::make_shared<FunctionServant>();
    servant->On("ping", std::move(function));
    EXPECT_TRUE(server_->adapter().Activate(key, servant).ok());
  }
  TestOrb server_, client_;
  const Endpoint at_ = server_.Listen();
};

TEST_F(ForwardTest, AMovedObjectIsFollowedAndItsPlaceRemembered) {
  std::atomic<int> asked{0};
  Serve("old", [&, forward = ForwardTo({at_}, "test")](CallRef call) {
    ++asked;
    forward(std::move(call));
  });
  const auto target = client_.To({at_}, "old");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client_.Ping(target, i), i + 1);
  EXPECT_EQ(asked, 1);
}

TEST_F(ForwardTest, AnAsynchronousCallIsFollowedToo) {
  Serve("old", ForwardTo({at_}, "test"));
  TestCall call("ping", 1);
  client_->invoker().Start(client_.To({at_}, "old"), &call);
  ASSERT_TRUE(call.WaitDone());
  EXPECT_EQ(call.result(), 2);
}

TEST_F(ForwardTest, ACircleEndsAtTheLimit) {
  Serve("a", ForwardTo({at_}, "b"));
  Serve("b", ForwardTo({at_}, "a"));
  TestCall call("ping");
  EXPECT_FALSE(client_.Invoke(client_.To({at_}, "a"), &call).ok());
  EXPECT_EQ(call.exception().minor, static_cast<uint32_t>(WeirMinor::kForwardLoop));
  EXPECT_NE(call.error().find("circle"), std::string::npos) << call.error();
}

TEST_F(ForwardTest, AnotherHostIsFollowedOnlyIfThePolicyAllows) {
  Serve("away", ForwardTo({{"tcp", "127.0.0.9:1"}}, "k"));
  const auto minor = [&](ForwardPolicy policy) {
    OrbOptions options;
    options.client.forward_policy = policy;
    TestOrb client(options);
    TestCall call("ping");
    EXPECT_FALSE(client.Invoke(client.To({at_}, "away"), &call).ok());
    return static_cast<WeirMinor>(call.exception().minor);
  };
  EXPECT_EQ(minor(ForwardPolicy::kNever), WeirMinor::kForwardRefused);
  EXPECT_EQ(minor(ForwardPolicy::kSameHost), WeirMinor::kForwardRefused);
  EXPECT_NE(minor(ForwardPolicy::kAny), WeirMinor::kForwardRefused);
}

TEST_F(ForwardTest, AUnixSocketMayForwardToThisHostButNotToOthers) {
  const testing::TempDir dir;
  const Endpoint local = server_.Listen("unix", dir.File("s"));
  Serve("here", ForwardTo({at_}, "test"));
  Serve("away", ForwardTo({{"tcp", "10.9.8.7:22"}}, "k"));
  EXPECT_EQ(client_.Ping(client_.To({local}, "here"), 1), 2);
  TestCall call("ping");
  EXPECT_FALSE(client_.Invoke(client_.To({local}, "away"), &call).ok());
  EXPECT_EQ(call.exception().minor, static_cast<uint32_t>(WeirMinor::kForwardRefused));
}

TEST_F(ForwardTest, ABadReferenceIsAnInvalidObjectReference) {
  Serve("bad", [](CallRef call) {
    call->NewBody().WriteULong(0xffffffff);
    call->SetForward();
    call.Send();
  });
  TestCall call("ping");
  EXPECT_FALSE(client_.Invoke(client_.To({at_}, "bad"), &call).ok());
  EXPECT_EQ(call.exception().id, ExceptionId::kInvObjref) << call.status;
}

TEST_F(ForwardTest, WhereAMovedObjectIsGoneItsOldPlaceIsAskedAgain) {
  std::atomic<int> asked{0};
  Serve("old", [&](CallRef call) {
    if (++asked > 1) return FunctionServant::AnswerPlusOne(std::move(call));
    ForwardTo({{"tcp", StrCat("127.0.0.1:", testing::FreePort())}}, "x")(std::move(call));
  });
  EXPECT_EQ(client_.Ping(client_.To({at_}, "old"), 1), 2);
  EXPECT_EQ(asked, 2);
}

TEST_F(ForwardTest, AServerThatWantsAnotherAddressingModeIsNotSupported) {
  FakeServer server({[](FakeServer::Connection& c) {
    orb::Reply reply;
    reply.status = ReplyStatus::kNeedsAddressingMode;
    reply.body.bytes = std::string_view("\0\1", 2);
    c.Reply(c.Next().id, reply);
    c.Next();
  }});
  TestCall call("ping");
  EXPECT_FALSE(client_.Invoke(client_.To({server.endpoint()}), &call).ok());
  EXPECT_EQ(call.exception().id, ExceptionId::kNoImplement) << call.status;
}

TEST_F(ForwardTest, TheNextAddressIsTriedWhereTheFirstIsRefused) {
  const Endpoint dead{"tcp", StrCat("127.0.0.1:", testing::FreePort())};
  const auto target = client_.To({dead, {"unix", "/nonexistent/socket"}, at_});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client_.Ping(target, i), i + 1);
  EXPECT_EQ(target->preferred, 2u);
}

TEST_F(ForwardTest, ConnectErrorsNameThePeerTheOperationAndWhatToDo) {
  const std::string dead = StrCat("127.0.0.1:", testing::FreePort());
  TestCall refused("list"), unknown("list");
  EXPECT_FALSE(client_.Invoke(client_.To({{"tcp", dead}}, "NameService"), &refused).ok());
  EXPECT_EQ(refused.error(),
            StrCat("tcp:", dead,
                   ": cannot connect while calling list on "
                   "NameService: Connection refused; is the server running there?"));
  EXPECT_FALSE(client_.Invoke(client_.To({{"tcp", "no-such-host.invalid:1"}}), &unknown).ok());
  EXPECT_EQ(unknown.exception().minor, static_cast<uint32_t>(WeirMinor::kNameLookupFailed));
  EXPECT_NE(unknown.error().find("no-such-host.invalid"), std::string::npos) << unknown.error();
}

TEST_F(ForwardTest, AConnectionThatIsNotToBeHadIsMadeUpForByOneThatIs) {
  OrbOptions options;
  options.server.max_connections = 1;
  TestOrb server(options);
  Held held;
  server.servant->On("hold", held.Hold());
  const testing::TempDir dir;
  const auto target = client_.To({server.Listen("unix", dir.File("s"))});
  TestCall first("hold"), second("ping", 1);
  client_->invoker().Start(target, &first);
  ASSERT_TRUE(Eventually([&] { return held.size() == 1; }));
  std::filesystem::rename(dir.File("s"), dir.File("gone"));
  EXPECT_TRUE(client_.Invoke(target, &second).ok()) << second.status;
  EXPECT_EQ(second.result(), 2);
  std::filesystem::rename(dir.File("gone"), dir.File("s"));
  for (CallRef& call : held.Take()) FunctionServant::AnswerPlusOne(std::move(call));
  EXPECT_TRUE(first.WaitDone());
}

}  // namespace
}  // namespace weir::orb
