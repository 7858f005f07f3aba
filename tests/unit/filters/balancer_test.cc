// The filter `balancer`: over objects of one server, and over servers.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/core/testing.h"
#include "tests/unit/filters/builtin_fixture.h"

namespace weir::filters {
namespace {

using orb::TestCall;
using orb::TestOrb;
using ::testing::HasSubstr;

class BalancerTest : public BuiltinTest {
 protected:
  // A servant whose `who` answers `name`.
  static std::shared_ptr<orb::Servant> Named(const std::string& name) {
    auto servant = std::make_shared<orb::FunctionServant>();
    servant->On("who", [name](orb::CallRef call) {
      call->NewBody().WriteString(name);
      call->SetResult();
      call.Send();
    });
    return servant;
  }
  static std::string Who(TestOrb* client, const orb::Endpoint& endpoint, const std::string& key) {
    TestCall call("who", 0, orb::In(orb::kPatience));
    const absl::Status status = client->Invoke(client->To({endpoint}, key), &call);
    if (!status.ok()) return "no reply";
    if (call.reply.status != orb::ReplyStatus::kNoException) {
      return std::string(orb::ExceptionName(call.exception().id));
    }
    return std::string(call.reply.body.decoder().ReadString());
  }
  static std::string Reference(const orb::Endpoint& endpoint, const std::string& key) {
    return StrCat("corbaloc::1.2@", endpoint.address, "/", key);
  }
};

TEST_F(BalancerTest, RoundRobinOverKeysOfTheServer) {
  TestOrb server{{}, registry_.gate()}, client;
  for (const char* key : {"front", "x", "y", "z"}) {
    ASSERT_TRUE(server->adapter().Activate(key, Named(key)).ok());
  }
  const orb::Endpoint endpoint = server.Listen();
  Plug("balancer", {{"to", "x y  z"}}, "balance", "watch");
  std::string seen;
  // The plug is on everything, so that it is asked about the chosen ones again.
  for (int i = 0; i < 9; ++i) seen += Who(&client, endpoint, "front");
  EXPECT_EQ(seen, "xyzxyzxyz");
  auto counters = Counters();
  EXPECT_EQ(counters[".sent x"], 3u);
  EXPECT_EQ(counters[".sent z"], 3u);
}

TEST_F(BalancerTest, OverServersWithTheSameKeyAndPastTheOneThatIsNotThere) {
  TestOrb gateway{{}, registry_.gate()}, client, one;
  auto two = std::make_unique<TestOrb>();
  ASSERT_TRUE(one->adapter().Activate("bank", Named("one")).ok());
  ASSERT_TRUE((*two)->adapter().Activate("bank", Named("two")).ok());
  const orb::Endpoint endpoint = gateway.Listen();
  const std::string first = Reference(one.Listen(), "bank");
  const std::string second = Reference(two->Listen(), "bank");
  ASSERT_TRUE(gateway->adapter().Activate("bank", Named("nobody")).ok());
  Plug("balancer", {{"to", StrCat(first, " ", second)}, {"aside", "5s"}}, "balance", "watch");
  EXPECT_EQ(Who(&client, endpoint, "bank"), "one");
  EXPECT_EQ(Who(&client, endpoint, "bank"), "two");
  EXPECT_EQ(Who(&client, endpoint, "bank"), "one");
  two.reset();
  // One call learns it the hard way; the others do not, until the time is over.
  EXPECT_THAT(Who(&client, endpoint, "bank"), ::testing::AnyOf("TRANSIENT", "COMM_FAILURE"));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(Who(&client, endpoint, "bank"), "one");
  EXPECT_EQ(Counters()[".put_aside " + second], 1u);
  EXPECT_EQ(Counters()[".put_aside " + first], 0u);
  clock_.now = clock_.now + 6 * kSecond;
  std::map<std::string, int> seen;
  for (int i = 0; i < 2; ++i) ++seen[Who(&client, endpoint, "bank")];
  EXPECT_EQ(seen["one"], 1);
  EXPECT_EQ(Counters()[".put_aside " + second], 2u);
}

TEST_F(BalancerTest, IfNoneIsThereTheCallerLearnsOfOne) {
  TestOrb gateway{{}, registry_.gate()}, client;
  const orb::Endpoint endpoint = gateway.Listen();
  ASSERT_TRUE(gateway->adapter().Activate("bank", Named("nobody")).ok());
  Plug("balancer", {{"to", "corbaloc::1.2@127.0.0.1:1/bank corbaloc::1.2@127.0.0.1:2/bank"}},
       "balance", "watch");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Who(&client, endpoint, "bank"), "TRANSIENT");
}

TEST_F(BalancerTest, APeerStaysWithItsObject) {
  Plug("balancer", {{"to", "x y z"}, {"by", "peer"}}, "balance");
  std::map<std::string, int> peers_of;
  for (int host = 1; host <= 60; ++host) {
    std::string chosen;
    for (const int port : {1000, 2000, 3000}) {
      FakeCall call("front");
      call.set_peer({"tcp", StrCat("10.0.0.", host, ":", port)});
      call.Run(registry_.gate());
      const std::string key(call.request().object_key);
      EXPECT_TRUE(chosen.empty() || chosen == key) << host << ": " << chosen << ", " << key;
      chosen = key;
    }
    ++peers_of[chosen];
  }
  EXPECT_EQ(peers_of.size(), 3u);
  for (const auto& [key, peers] : peers_of) EXPECT_GT(peers, 5) << key;
}

TEST_F(BalancerTest, BadParametersAreRefused) {
  const auto refused = [this](const std::string& to) {
    const absl::Status status = TryPlug("balancer", {{"to", to}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << to;
    return std::string(status.message());
  };
  EXPECT_THAT(refused(" "), HasSubstr("1 to 256"));
  EXPECT_THAT(refused("good b%zzd"), HasSubstr("'b%zzd'"));
  EXPECT_THAT(refused("corbaloc::host:1"), HasSubstr("name an address and an object"));
  EXPECT_THAT(refused("corbaloc:rir:/NameService"), HasSubstr("name an address and an object"));
  EXPECT_THAT(refused("IOR:0102"), HasSubstr("'IOR:0102'"));
}

}  // namespace
}  // namespace weir::filters
