// omniORB clients through our gateway to omniORB servers: every case of the interop client, each
// pair of GIOP versions, both byte orders.

#include <signal.h>

#include <memory>
#include <string>
#include <thread>
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

constexpr char kEchoServer[] = "tests/peers/omni_echo_server";
constexpr char kEchoClient[] = "tests/peers/omni_echo_client";
constexpr char kServer[] = "tests/peers/omni_interop_server";
constexpr char kClient[] = "tests/peers/omni_interop_client";

// A corbaloc cannot say which code sets the server takes.
Args WideOptions() {
  return {"-ORBdefaultWCharCodeSet", "UTF-16", "-ORBdefaultCharCodeSet", "ISO-8859-1"};
}

// A gateway on a free TCP port and on the Unix socket "g" of its folder.
struct Gateway {
  explicit Gateway(const std::string& upstream, const Args& more = {}) {
    Args arguments = {"gateway",
                      "--listen",
                      "giop:tcp:127.0.0.1:0",
                      "--listen",
                      "giop:unix:" + dir.File("g"),
                      "--upstream",
                      upstream,
                      "--control",
                      "unix:" + dir.File("c"),
                      "--store",
                      "memory"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    node = StartWeir(arguments);
  }
  std::string Tcp(const std::string& key, const std::string& version = "1.2") const {
    return Corbaloc(node.port, key, version);
  }
  std::string Unix(const std::string& key) const { return UnixCorbaloc(dir.File("g"), key); }
  explicit operator bool() const { return static_cast<bool>(node); }

  TempDir dir;
  WeirNode node;
};

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

// One upstream and one gateway with the usual settings.
class GatewayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    upstream_port_ = FreePort();
    ASSERT_NO_FATAL_FAILURE(StartUpstream());
    gateway_ = std::make_unique<Gateway>(Corbaloc(upstream_port_, "interop"));
    ASSERT_TRUE(*gateway_);
  }
  void StartUpstream() {
    Args options = ListenOn(upstream_port_);
    for (const std::string& option : UpstreamOptions()) options.push_back(option);
    upstream_ = StartOmniServer(kServer, options);
    ASSERT_NE(upstream_.process, nullptr);
  }
  virtual Args UpstreamOptions() const { return {}; }
  std::unique_ptr<Process> InteractiveClient(const Args& options = {}) {
    Args arguments = {gateway_->Tcp("interop"), "--interactive"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return StartClient(kClient, arguments);
  }

  Server upstream_;
  int upstream_port_ = 0;
  std::unique_ptr<Gateway> gateway_;
};

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

TEST_F(GatewayTest, AnUpstreamThatWasStoppedAndStartedIsFoundAgain) {
  const auto client = InteractiveClient();
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
  upstream_.process->Stop();
  EXPECT_THAT(RunCase(client.get(), "nothing"), HasSubstr("FAIL nothing: TRANSIENT"));
  ASSERT_NO_FATAL_FAILURE(StartUpstream());
  EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
  EXPECT_EQ(RunCase(client.get(), "both_1m"), "ok both_1m");
}

TEST_F(GatewayTest, AnUpstreamReplacedBetweenTwoCallsGoesUnnoticed) {
  const auto client = InteractiveClient();
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
    if (i % 2 == 0) {
      upstream_.process->Stop();
    } else {
      upstream_.process->Kill();
    }
    ASSERT_NO_FATAL_FAILURE(StartUpstream());
  }
  EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
}

TEST_F(GatewayTest, ACallInProgressWhenTheUpstreamDiesFailsOnceAndTheNextOneSucceeds) {
  const auto client = InteractiveClient();
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
  ASSERT_TRUE(client->WriteLine("sleep_3s").ok());
  const auto watcher = StartClient(kClient, {Corbaloc(upstream_port_, "interop"), "--interactive"});
  ASSERT_NE(watcher, nullptr);
  EXPECT_EQ(RunCase(watcher.get(), "wait_for_sleeper"), "ok wait_for_sleeper");
  upstream_.process->Kill();
  const auto line = client->WaitForLine("sleep_3s", std::chrono::seconds(30));
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(*line, ::testing::MatchesRegex("FAIL sleep_3s: COMM_FAILURE 0x[0-9a-f]+ MAYBE"));
  ASSERT_NO_FATAL_FAILURE(StartUpstream());
  EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
}

TEST_F(GatewayTest, AnUpstreamThatIsNotThereIsTransient) {
  const Gateway gateway(Corbaloc(FreePort(), "interop"));
  ASSERT_TRUE(gateway);
  const Outcome outcome = RunProgram(kClient, {gateway.Tcp("interop"), "nothing"});
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("FAIL nothing: TRANSIENT 0x[0-9a-f]+ NO"));
}

TEST(GatewayRestart, AGatewayStoppedInOrderAndStartedGoesUnnoticed) {
  const Server upstream = StartOmniServer(kServer);
  ASSERT_NE(upstream.process, nullptr);
  const int port = FreePort();
  const Args arguments = {"gateway",    "--listen",   "giop:tcp:127.0.0.1:" + std::to_string(port),
                          "--upstream", upstream.ior, "--store",
                          "memory"};
  const TempDir dir;
  Args with_control = arguments;
  with_control.insert(with_control.end(), {"--control", "unix:" + dir.File("c")});
  WeirNode gateway = StartWeir(with_control);
  ASSERT_TRUE(gateway);
  const auto client = StartClient(kClient, {Corbaloc(port, "interop"), "--interactive"});
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
    EXPECT_EQ(gateway.process->Stop(std::chrono::seconds(20)), 0) << gateway.process->err();
    gateway = StartWeir(with_control);
    ASSERT_TRUE(gateway);
  }
  EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
}

// An orderly end lets the calls in progress finish.
TEST(GatewayRestart, AGatewayThatIsToldToStopAnswersTheCallsInProgress) {
  const Server upstream = StartOmniServer(kServer);
  ASSERT_NE(upstream.process, nullptr);
  const Gateway gateway(upstream.ior);
  ASSERT_TRUE(gateway);
  const auto client = StartClient(kClient, {gateway.Tcp("interop"), "--interactive"});
  const auto watcher = StartClient(kClient, {upstream.ior, "--interactive"});
  ASSERT_TRUE(client && watcher);
  ASSERT_TRUE(client->WriteLine("sleep_3s").ok());
  EXPECT_EQ(RunCase(watcher.get(), "wait_for_sleeper"), "ok wait_for_sleeper");
  gateway.node.process->Signal(SIGTERM);
  const auto line = client->WaitForLine("sleep_3s", std::chrono::seconds(30));
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line, "ok sleep_3s") << gateway.node.process->err();
  const auto code = gateway.node.process->Wait(std::chrono::seconds(20));
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, 0);
}

// What is on its way to a peer that reads slowly is not cut off.
TEST(GatewayRestart, AGatewayThatIsToldToStopSendsTheRestOfAReply) {
  const RawServer upstream(EchoHandler(Order::kLittle));
  const Gateway gateway(Corbaloc(upstream.port(), "echo"));
  ASSERT_TRUE(gateway);
  const auto connection = RawConnection::Tcp(gateway.node.port);
  ASSERT_TRUE(connection.ok()) << connection.status();
  // More than the kernel's buffers hold.
  const std::string data(7 << 20, 'x');
  RawRequest request;
  request.key = "echo";
  request.operation = "bounce";
  request.arguments = [&](RawWriter* out) { out->Octets(data); };
  ASSERT_TRUE((*connection)->Send(Encode(request)));
  const absl::StatusOr<std::string> begin = (*connection)->ReceiveOctets(12, 20000);
  ASSERT_TRUE(begin.ok()) << begin.status();
  gateway.node.process->Signal(SIGTERM);
  ASSERT_TRUE(gateway.node.process->WaitForLine("event=stopping", std::chrono::seconds(10)).ok());
  std::this_thread::sleep_for(Milliseconds(100));
  const absl::StatusOr<std::string> rest = (*connection)->ReceiveOctets(data.size(), 20000);
  ASSERT_TRUE(rest.ok()) << rest.status();
}

// What a client that idles past the gateway's patience sees of it: nothing, or in GIOP a
// CloseConnection, which lets it call again.
TEST(GatewayIdleClient, AConnectionClosedForIdlenessIsReplacedAtTheNextCall) {
  const Server upstream = StartOmniServer(kServer);
  ASSERT_NE(upstream.process, nullptr);
  const Gateway gateway(upstream.ior, {"--idle-timeout", "300ms"});
  ASSERT_TRUE(gateway);
  const auto client = StartClient(kClient, {gateway.Tcp("interop"), "--interactive"});
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
    // Its connection is idle for as long as the client's, or less.
    const auto watcher = RawConnection::Tcp(gateway.node.port);
    ASSERT_TRUE(watcher.ok()) << watcher.status();
    RawRequest request;
    request.key = "interop";
    request.operation = "nothing";
    EXPECT_TRUE((*watcher)->Invoke(request).ok());
    const auto farewell = (*watcher)->Receive();
    ASSERT_TRUE(farewell.ok()) << farewell.status();
    EXPECT_EQ(farewell->type, kCloseConnection);
    EXPECT_EQ((*watcher)->Receive().status().code(), absl::StatusCode::kOutOfRange);
  }
  EXPECT_EQ(RunCase(client.get(), "both_1m"), "ok both_1m");
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

// omniORB closes connections after their idle time, with CloseConnection.
class GatewayIdleUpstream : public GatewayTest {
 protected:
  Args UpstreamOptions() const override {
    return {"-ORBinConScanPeriod", "3", "-ORBscanGranularity", "1", "-ORBtraceLevel", "25"};
  }
};

TEST_F(GatewayIdleUpstream, AnUpstreamConnectionClosedForIdlenessIsReplaced) {
  const auto client = InteractiveClient();
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
  const auto closed =
      upstream_.process->WaitForLine("Server close connection", std::chrono::seconds(20));
  ASSERT_TRUE(closed.ok()) << closed.status();
  EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
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

// At any moment a server may send CloseConnection and close; a request that crosses it on the way
// was not executed, and is sent again over another connection (9.5.1.1).
TEST(GatewayClosingUpstream, AnUpstreamThatClosesAfterEachReplyLosesNoCall) {
  const auto echo = EchoHandler(Order::kLittle);
  const RawServer upstream([&](const RawMessage& message, int connection) {
    return echo(message, connection) + std::string(RawServer::kPause) +
           EncodeMessage(2, Order::kLittle, kCloseConnection, "") + std::string(RawServer::kHangUp);
  });
  const Gateway gateway(Corbaloc(upstream.port(), "echo"));
  ASSERT_TRUE(gateway);
  const Outcome outcome = RunProgram(kEchoClient, {gateway.Tcp("echo"), "ping_1000"});
  EXPECT_TRUE(outcome.ok()) << outcome << gateway.node.process->err();
  EXPECT_GT(upstream.connections(), 100);
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
