// omniORB clients through our gateway to omniORB servers: every case of the interop client, each
// pair of GIOP versions, both byte orders.

#include "tests/interop/gateway.h"

#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/interop/raw_echo.h"
#include "tests/interop/raw_giop.h"
#include "tests/support/environment.h"
#include "tests/support/peers.h"
#include "tests/support/weir_command.h"

namespace weir::testing {
namespace {

using ::testing::Combine;
using ::testing::HasSubstr;
using ::testing::Values;

// The client's and the upstream's GIOP version.
using Versions = std::tuple<std::string, std::string>;

std::string NameOf(const ::testing::TestParamInfo<Versions>& test) {
  std::string name = "Client" + std::get<0>(test.param) + "Upstream" + std::get<1>(test.param);
  std::erase(name, '.');
  return name;
}

class GatewayVersions : public ::testing::TestWithParam<Versions> {
 protected:
  // In the fragments of GIOP 1.1 alignment depends on the types, which a gateway does not know, and
  // GIOP 1.0 has no fragments.
  bool RefusesFragments() const { return GetParam() == Versions("1.1", "1.0"); }

  void Check(const std::string& reference) {
    Args arguments = {reference};
    // Wide characters are laid out differently in each version, which needs the types, too.
    if (GetParam() == Versions("1.2", "1.2")) {
      const Args wide = WideOptions();
      arguments.insert(arguments.end(), wide.begin(), wide.end());
    } else {
      arguments.insert(arguments.end(), {"-wchar", "-wstring"});
    }
    if (RefusesFragments()) {
      arguments.insert(arguments.end(), {"-request_8k", "-both_8k", "-fragment_edge", "-doubles",
                                         "-strings", "-structs", "-user_exception", "-parallel"});
    }
    const Outcome outcome = RunProgram(kClient, arguments);
    EXPECT_TRUE(outcome.ok()) << reference << ": " << outcome;
    EXPECT_THAT(outcome.out, HasSubstr("ok both_1m\n"));
    if (RefusesFragments()) {
      EXPECT_THAT(RunProgram(kClient, {reference, "both_8k"}).out,
                  HasSubstr("FAIL both_8k: MARSHAL 0x57454012 NO"));
    }
  }
};

TEST_P(GatewayVersions, CarryEveryCaseToAnUpstreamKnownByItsIor) {
  const auto& [client_version, upstream_version] = GetParam();
  const Server upstream = StartOmniServer(kServer, {"-ORBmaxGIOPVersion", upstream_version});
  ASSERT_NE(upstream.process, nullptr);
  const Gateway gateway(upstream.ior);
  ASSERT_TRUE(gateway);
  Check(gateway.Tcp("interop", client_version));
}

// The other byte order, the other addressing forms, fragments of any size.
TEST_P(GatewayVersions, CarryMessagesMadeByHandInBothByteOrders) {
  const auto& [client_version, upstream_version] = GetParam();
  const int minor = client_version.back() - '0';
  const Server upstream = StartOmniServer(kEchoServer, {"-ORBmaxGIOPVersion", upstream_version});
  ASSERT_NE(upstream.process, nullptr);
  const Gateway gateway(upstream.ior);
  ASSERT_TRUE(gateway);
  for (Order order : {Order::kBig, Order::kLittle}) {
    const auto connection = RawConnection::Tcp(gateway.node.port);
    ASSERT_TRUE(connection.ok()) << connection.status();
    CheckEcho(connection->get(), "echo", minor, order);
    if (minor == 2) CheckAddressing(connection->get(), "echo", order);
  }
}

TEST_P(GatewayVersions, CarryTheRepliesOfABigEndianUpstream) {
  const auto& [client_version, upstream_version] = GetParam();
  const RawServer upstream(EchoHandler(Order::kBig));
  const Gateway gateway(Corbaloc(upstream.port(), "echo", upstream_version));
  ASSERT_TRUE(gateway);
  Args arguments = {gateway.Tcp("echo", client_version)};
  if (RefusesFragments()) arguments.insert(arguments.end(), {"-repeat", "-bounce_8k"});
  const Outcome outcome = RunProgram(kEchoClient, arguments);
  EXPECT_TRUE(outcome.ok()) << outcome;
}

INSTANTIATE_TEST_SUITE_P(All, GatewayVersions,
                         Combine(Values("1.0", "1.1", "1.2"), Values("1.0", "1.1", "1.2")), NameOf);

class GatewayOverUnix : public ::testing::TestWithParam<const char*> {};

TEST_P(GatewayOverUnix, CarriesEveryCase) {
  const TempDir dir;
  const Server upstream = StartOmniServer(kServer, {"-ORBendPoint", "giop:unix:" + dir.File("s")});
  ASSERT_NE(upstream.process, nullptr);
  for (const std::string& reference : {upstream.ior, UnixCorbaloc(dir.File("s"), "interop")}) {
    const Gateway gateway(reference);
    ASSERT_TRUE(gateway);
    const Outcome outcome = RunProgram(
        kClient, {gateway.Unix("interop"), "-wchar", "-wstring", "-ORBmaxGIOPVersion", GetParam()});
    EXPECT_TRUE(outcome.ok()) << reference << ": " << outcome;
  }
}

INSTANTIATE_TEST_SUITE_P(Giop, GatewayOverUnix, Values("1.0", "1.1", "1.2"),
                         [](const ::testing::TestParamInfo<const char*>& test) {
                           std::string name = test.param;
                           std::erase(name, '.');
                           return name;
                         });

TEST_F(GatewayTest, ACallToAKeyThatTheUpstreamDoesNotKnowIsAnsweredByTheUpstream) {
  const Outcome outcome = RunProgram(kClient, {gateway_->Tcp("other"), "missing_object"});
  EXPECT_TRUE(outcome.ok()) << outcome;
}

TEST_F(GatewayTest, ManyClientsAtOnceEachGetTheirOwnAnswers) {
  std::vector<std::unique_ptr<Process>> clients;
  for (int i = 0; i < 6; ++i) {
    Process::Options options;
    options.argv = {RunfilePath(kClient),
                    i % 2 ? gateway_->Tcp("interop", "1.1") : gateway_->Unix("interop"), "-wchar",
                    "-wstring", "-oneway"};
    auto client = Process::Start(options);
    ASSERT_TRUE(client.ok()) << client.status();
    clients.push_back(*std::move(client));
  }
  for (const auto& client : clients) {
    const auto code = client->Wait(std::chrono::seconds(60));
    ASSERT_TRUE(code.ok()) << code.status();
    EXPECT_EQ(*code, 0) << client->out() << client->err();
  }
}

// Each client tells its code sets once per connection; the gateway's connections are shared.
TEST_F(GatewayTest, CodeSetsThatAClientToldOnceHoldForAllItsCalls) {
  const auto first = InteractiveClient(WideOptions());
  const auto second = InteractiveClient(WideOptions());
  ASSERT_TRUE(first && second);
  for (const char* name : {"integers", "wstring", "wchar", "parallel", "wstring"}) {
    EXPECT_EQ(RunCase(first.get(), name), std::string("ok ") + name);
    EXPECT_EQ(RunCase(second.get(), name), std::string("ok ") + name);
  }
}

TEST_F(GatewayTest, CodeSetsThatAClientToldOnceHoldAfterTheUpstreamHasChanged) {
  const auto client = InteractiveClient(WideOptions());
  ASSERT_TRUE(client);
  EXPECT_EQ(RunCase(client.get(), "wstring"), "ok wstring");
  upstream_.process->Stop();
  ASSERT_NO_FATAL_FAILURE(StartUpstream());
  EXPECT_EQ(RunCase(client.get(), "wstring"), "ok wstring");
}

TEST(GatewayFragments, BothPeersTakeOurFragments) {
  const Server upstream = StartOmniServer(kServer);
  ASSERT_NE(upstream.process, nullptr);
  for (const char* size : {"256", "8000"}) {
    const Gateway gateway(upstream.ior, {"--fragment-size", size});
    ASSERT_TRUE(gateway);
    const Outcome outcome = RunProgram(kClient, {gateway.Tcp("interop"), "-wchar", "-wstring"});
    EXPECT_TRUE(outcome.ok()) << outcome;
    const auto connection = RawConnection::Tcp(gateway.node.port);
    ASSERT_TRUE(connection.ok()) << connection.status();
    RawRequest request;
    request.key = "interop";
    request.operation = "make_octets";
    request.arguments = [](RawWriter* out) { out->Long(100000); };
    ASSERT_TRUE((*connection)->Send(Encode(request)));
    const auto reply = (*connection)->Receive();
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_GT(reply->pieces, 10);
  }
}

TEST(GatewayLimits, AnUpstreamThatRefusesALargeMessageIsHeard) {
  const Server upstream = StartOmniServer(kServer, {"-ORBgiopMaxMsgSize", "65536"});
  ASSERT_NE(upstream.process, nullptr);
  const Gateway gateway(upstream.ior);
  ASSERT_TRUE(gateway);
  const auto client = StartClient(kClient, {gateway.Tcp("interop"), "--interactive"});
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(RunCase(client.get(), "both_8k"), "ok both_8k");
  EXPECT_THAT(RunCase(client.get(), "request_1m"), HasSubstr("FAIL request_1m: "));
  EXPECT_EQ(RunCase(client.get(), "both_8k"), "ok both_8k");
}

TEST(GatewayForwardTest, AForwardFromTheUpstreamIsFollowedInside) {
  const Server target = StartOmniServer(kEchoServer);
  ASSERT_NE(target.process, nullptr);
  const auto port = static_cast<uint16_t>(PortOf(target.ior));
  const RawServer upstream([&](const RawMessage& message, int) -> std::string {
    if (message.type == kLocateRequest) {
      RawReader in(message.body, message.order, 12);
      RawWriter out(Order::kBig, 12);
      out.Long(in.Long()).Long(1);
      return EncodeMessage(message.minor, Order::kBig, kLocateReply, out.bytes());
    }
    const auto call = DecodeRequest(message);
    if (!call.ok()) return std::string(RawServer::kHangUp);
    return EncodeReply(message.minor, Order::kBig, call->id, 3, [&](RawWriter* out) {
      RawWriter profile(Order::kBig);
      profile.Octet(0).Octet(1).Octet(2).String("127.0.0.1").Short(port).Octets("echo").Long(0);
      out->String("IDL:weir/Echo:1.0").Long(1).Long(0).Octets(profile.bytes());
    });
  });
  const Gateway gateway(Corbaloc(upstream.port(), "here"));
  ASSERT_TRUE(gateway);
  // The client must not need to reach the target itself: it sees no forward.
  const auto connection = RawConnection::Tcp(gateway.node.port);
  ASSERT_TRUE(connection.ok()) << connection.status();
  CheckPing(connection->get(), "here", 2, Order::kBig);
}

// An upstream whose published address is the gateway's: its references, with their code sets, lead
// through the gateway.
TEST(GatewayPublishTest, ReferencesThatNameTheGatewayLeadThroughIt) {
  const int upstream_port = FreePort();
  const Gateway gateway(Corbaloc(upstream_port, "interop"));
  ASSERT_TRUE(gateway);
  Args options = ListenOn(upstream_port);
  options.insert(options.end(), {"-ORBendPointPublish",
                                 "giop:tcp:127.0.0.1:" + std::to_string(gateway.node.port)});
  const Server upstream = StartOmniServer(kServer, options);
  ASSERT_NE(upstream.process, nullptr);
  ASSERT_EQ(PortOf(upstream.ior), gateway.node.port);
  const Outcome outcome = RunProgram(kClient, {upstream.ior});
  EXPECT_TRUE(outcome.ok()) << outcome;
}

}  // namespace
}  // namespace weir::testing
