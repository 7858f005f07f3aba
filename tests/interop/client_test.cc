// Our client, `weir ping` and `weir ior`, against servers that are not ours.

#include <atomic>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/interop/raw_echo.h"
#include "tests/interop/raw_giop.h"
#include "tests/support/environment.h"
#include "tests/support/peers.h"
#include "tests/support/weir_command.h"

namespace weir::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Values;

constexpr char kServer[] = "tests/peers/omni_echo_server";
constexpr int kUnavailable = 5;

class WeirPing : public ::testing::TestWithParam<const char*> {};

TEST_P(WeirPing, ReachesAnOmniOrbServer) {
  const Server server = StartOmniServer(kServer, {"-ORBmaxGIOPVersion", GetParam()});
  ASSERT_NE(server.process, nullptr);
  for (const std::string& reference :
       {server.ior, Corbaloc(PortOf(server.ior), "echo", GetParam())}) {
    const Outcome outcome = RunWeir({"ping", reference, "-n", "3"});
    EXPECT_TRUE(outcome.ok()) << outcome;
  }
}

INSTANTIATE_TEST_SUITE_P(Giop, WeirPing, Values("1.0", "1.1", "1.2"),
                         [](const ::testing::TestParamInfo<const char*>& test) {
                           std::string name = test.param;
                           std::erase(name, '.');
                           return name;
                         });

TEST(WeirPingTest, UsesTheUnixSocketOfAnOmniOrbServer) {
  const TempDir dir;
  const Server server = StartOmniServer(
      kServer, {"-ORBendPoint", "giop:unix:" + dir.File("s"), "-ORBtraceLevel", "25"});
  ASSERT_NE(server.process, nullptr);
  for (const std::string& reference : {server.ior, UnixCorbaloc(dir.File("s"), "echo")}) {
    const Outcome outcome = RunWeir({"ping", reference, "-n", "2"});
    EXPECT_TRUE(outcome.ok()) << outcome;
    EXPECT_TRUE(
        server.process->WaitForLine("accepted connection from giop:unix", std::chrono::seconds(10))
            .ok());
  }
}

TEST(WeirPingTest, PrefersTheUnixSocketOfItsHost) {
  const TempDir dir;
  const Server server =
      StartOmniServer(kServer, {"-ORBendPoint", "giop:tcp:127.0.0.1:0", "-ORBendPoint",
                                "giop:unix:" + dir.File("s"), "-ORBtraceLevel", "25"});
  ASSERT_NE(server.process, nullptr);
  const Outcome outcome = RunWeir({"ping", server.ior, "-n", "2"});
  EXPECT_TRUE(outcome.ok()) << outcome;
  EXPECT_TRUE(
      server.process->WaitForLine("accepted connection from giop:unix", std::chrono::seconds(10))
          .ok());
}

TEST(WeirPingTest, ReachesServersOfEitherByteOrder) {
  for (Order order : {Order::kBig, Order::kLittle}) {
    const RawServer server(EchoHandler(order));
    for (const char* version : {"1.0", "1.1", "1.2"}) {
      const Outcome outcome =
          RunWeir({"ping", Corbaloc(server.port(), "echo", version), "-n", "3"});
      EXPECT_TRUE(outcome.ok()) << version << " " << outcome;
    }
  }
}

TEST(WeirPingTest, ReachesObjectsThatAreNoEcho) {
  const NameServer names;
  ASSERT_TRUE(names.running());
  const Outcome outcome = RunWeir({"ping", names.reference(), "-n", "2"});
  EXPECT_TRUE(outcome.ok()) << outcome;
}

// A corbaloc says 1.0 unless it says otherwise, and GIOP 1.0 knows no fragments.
TEST(WeirPingTest, TakesACorbalocWithoutVersion) {
  const Server server = StartOmniServer(kServer);
  ASSERT_NE(server.process, nullptr);
  const Outcome outcome = RunWeir(
      {"ping", "corbaloc::127.0.0.1:" + std::to_string(PortOf(server.ior)) + "/echo", "-n", "1"});
  EXPECT_TRUE(outcome.ok()) << outcome;
}

TEST(WeirPingTest, TriesEachAddressOfACorbaloc) {
  const Server server = StartOmniServer(kServer);
  ASSERT_NE(server.process, nullptr);
  const std::string reference = "corbaloc::1.2@127.0.0.1:" + std::to_string(FreePort()) +
                                ",:1.2@127.0.0.1:" + std::to_string(PortOf(server.ior)) + "/echo";
  const Outcome outcome = RunWeir({"ping", reference, "-n", "1"});
  EXPECT_TRUE(outcome.ok()) << outcome;
}

TEST(WeirPingTest, FollowsAForwardToAnOmniOrbServer) {
  const Server server = StartOmniServer(kServer);
  ASSERT_NE(server.process, nullptr);
  const auto target = "127.0.0.1";
  const int target_port = PortOf(server.ior);
  // Everything is at the omniORB server's address.
  const RawServer forwarder([&](const RawMessage& message, int) -> std::string {
    RawReader in(message.body, message.order, 12);
    const auto write_ior = [&](RawWriter* out) {
      RawWriter profile(Order::kBig);
      profile.Octet(0).Octet(1).Octet(2).String(target);
      profile.Short(static_cast<uint16_t>(target_port)).Octets("echo").Long(0);
      out->String("IDL:weir/Echo:1.0").Long(1).Long(0).Octets(profile.bytes());
    };
    if (message.type == kLocateRequest) {
      RawWriter out(Order::kBig, 12);
      out.Long(in.Long()).Long(2);
      write_ior(&out);
      return EncodeMessage(message.minor, Order::kBig, kLocateReply, out.bytes());
    }
    const auto call = DecodeRequest(message);
    if (!call.ok()) return std::string(RawServer::kHangUp);
    return EncodeReply(message.minor, Order::kBig, call->id, 3, write_ior);
  });
  for (const char* version : {"1.0", "1.1", "1.2"}) {
    const Outcome outcome =
        RunWeir({"ping", Corbaloc(forwarder.port(), "elsewhere", version), "-n", "2"});
    EXPECT_TRUE(outcome.ok()) << version << " " << outcome;
  }
}

// The request was not begun, so the client sends it anew over another connection (9.5.1.1).
TEST(WeirPingTest, CallsAgainAfterCloseConnection) {
  const auto echo = EchoHandler(Order::kBig);
  const RawServer server([&](const RawMessage& message, int connection) {
    if (connection == 0) {
      return EncodeMessage(2, Order::kBig, kCloseConnection, "") + std::string(RawServer::kHangUp);
    }
    return echo(message, connection);
  });
  const Outcome outcome = RunWeir({"ping", Corbaloc(server.port(), "echo"), "-n", "1"});
  EXPECT_TRUE(outcome.ok()) << outcome;
  EXPECT_EQ(server.connections(), 2);
}

TEST(WeirPingTest, SaysWhoRefusedTheConnection) {
  const int port = FreePort();
  const Outcome outcome = RunWeir({"ping", Corbaloc(port, "echo"), "-n", "1"});
  EXPECT_EQ(outcome.exit_code, kUnavailable) << outcome;
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("127.0.0.1:" + std::to_string(port)));
}

TEST(WeirPingTest, FailsForAKeyThatAnOmniOrbServerDoesNotKnow) {
  const Server server = StartOmniServer(kServer);
  ASSERT_NE(server.process, nullptr);
  const Outcome outcome = RunWeir({"ping", Corbaloc(PortOf(server.ior), "no_such"), "-n", "1"});
  EXPECT_NE(outcome.exit_code, 0) << outcome;
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("OBJECT_NOT_EXIST"));
}

TEST(WeirIor, AgreesWithCatiorOnOmniNamesReference) {
  const TempDir dir;
  const Server server = StartOmniServer(kServer, {"-ORBendPoint", "giop:tcp:127.0.0.1:0",
                                                  "-ORBendPoint", "giop:unix:" + dir.File("s")});
  ASSERT_NE(server.process, nullptr);
  const Outcome outcome = RunWeir({"ior", server.ior});
  ASSERT_TRUE(outcome.ok()) << outcome;
  for (const std::string& fact :
       {std::string("IDL:weir/Echo:1.0"), std::string("127.0.0.1"),
        std::to_string(PortOf(server.ior)), std::string("echo"), dir.File("s"),
        std::string("ISO-8859-1"), std::string("UTF-8"), std::string("UTF-16")}) {
    EXPECT_THAT(outcome.out, HasSubstr(fact));
  }
}

}  // namespace
}  // namespace weir::testing
