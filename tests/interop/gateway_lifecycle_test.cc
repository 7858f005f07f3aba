// A gateway whose clients and upstreams come, go and fall silent; and one that goes itself.

#include <signal.h>

#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/interop/gateway.h"
#include "tests/interop/raw_echo.h"
#include "tests/interop/raw_giop.h"
#include "tests/support/environment.h"
#include "tests/support/peers.h"
#include "tests/support/weir_command.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace weir::testing
