// Clients that are not ours against our server, `weir echo`.

#include <string>
#include <tuple>

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
using ::testing::Not;
using ::testing::Values;

constexpr char kClient[] = "tests/peers/omni_echo_client";

// One server for all tests, on TCP and on a Unix socket.
class WeirEcho : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new TempDir;
    node_ = new WeirNode(StartWeir(
        {"echo", "--listen", "giop:tcp:127.0.0.1:0", "--listen", "giop:unix:" + dir_->File("s")}));
  }
  static void TearDownTestSuite() {
    delete node_;
    delete dir_;
    node_ = nullptr;
    dir_ = nullptr;
  }
  void SetUp() override { ASSERT_TRUE(*node_); }
  // The server has survived what the test did to it.
  void TearDown() override {
    const Outcome outcome = RunProgram(kClient, {Corbaloc(node_->port, "echo"), "ping"});
    EXPECT_TRUE(outcome.ok()) << outcome << node_->process->err();
  }

  static std::string Socket() { return dir_->File("s"); }

  static TempDir* dir_;
  static WeirNode* node_;
};

TempDir* WeirEcho::dir_ = nullptr;
WeirNode* WeirEcho::node_ = nullptr;

class WeirEchoVersions : public WeirEcho, public ::testing::WithParamInterface<const char*> {};

TEST_P(WeirEchoVersions, AnOmniOrbClientCallsItByItsReference) {
  const Outcome outcome = RunProgram(
      kClient, {node_->ior, "-ORBmaxGIOPVersion", GetParam(), "-ORBclientTransportRule", "* tcp"});
  EXPECT_TRUE(outcome.ok()) << outcome;
}

TEST_P(WeirEchoVersions, AnOmniOrbClientCallsItByItsAddress) {
  const Outcome outcome = RunProgram(kClient, {Corbaloc(node_->port, "echo", GetParam())});
  EXPECT_TRUE(outcome.ok()) << outcome;
}

TEST_P(WeirEchoVersions, AnOmniOrbClientUsesItsUnixSocketByItsReference) {
  const Outcome outcome =
      RunProgram(kClient, {node_->ior, "-ORBmaxGIOPVersion", GetParam(), "-ORBtraceLevel", "25"});
  EXPECT_TRUE(outcome.ok()) << outcome;
  EXPECT_THAT(outcome.err, HasSubstr("Client opened connection to giop:unix:" + Socket()));
  EXPECT_THAT(outcome.err, Not(HasSubstr("Client opened connection to giop:tcp:")));
}

TEST_P(WeirEchoVersions, AnOmniOrbClientUsesItsUnixSocketByItsPath) {
  const Outcome outcome =
      RunProgram(kClient, {UnixCorbaloc(Socket(), "echo"), "-ORBmaxGIOPVersion", GetParam()});
  EXPECT_TRUE(outcome.ok()) << outcome;
}

INSTANTIATE_TEST_SUITE_P(Giop, WeirEchoVersions, Values("1.0", "1.1", "1.2"),
                         [](const ::testing::TestParamInfo<const char*>& test) {
                           std::string name = test.param;
                           std::erase(name, '.');
                           return name;
                         });

class WeirEchoByHand : public WeirEcho,
                       public ::testing::WithParamInterface<std::tuple<int, Order, bool>> {
 protected:
  std::unique_ptr<RawConnection> Connect() {
    auto connection =
        std::get<2>(GetParam()) ? RawConnection::Unix(Socket()) : RawConnection::Tcp(node_->port);
    EXPECT_TRUE(connection.ok()) << connection.status();
    return connection.ok() ? *std::move(connection) : nullptr;
  }
};

TEST_P(WeirEchoByHand, EveryCallIsRight) {
  const auto connection = Connect();
  ASSERT_NE(connection, nullptr);
  CheckEcho(connection.get(), "echo", std::get<0>(GetParam()), std::get<1>(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(VersionsOrdersTransports, WeirEchoByHand,
                         Combine(Values(0, 1, 2), Values(Order::kBig, Order::kLittle),
                                 Values(false, true)),
                         [](const ::testing::TestParamInfo<std::tuple<int, Order, bool>>& test) {
                           return "Giop1" + std::to_string(std::get<0>(test.param)) +
                                  (std::get<1>(test.param) == Order::kBig ? "Big" : "Little") +
                                  (std::get<2>(test.param) ? "Unix" : "Tcp");
                         });

TEST_F(WeirEcho, EveryAddressingFormIsUnderstood) {
  for (Order order : {Order::kBig, Order::kLittle}) {
    auto connection = RawConnection::Tcp(node_->port);
    ASSERT_TRUE(connection.ok()) << connection.status();
    CheckAddressing(connection->get(), "echo", order);
  }
}

// A connection may carry messages of both byte orders, and of each version in turn.
TEST_F(WeirEcho, AConnectionMayChangeItsByteOrder) {
  auto connection = RawConnection::Tcp(node_->port);
  ASSERT_TRUE(connection.ok()) << connection.status();
  for (Order order : {Order::kBig, Order::kLittle, Order::kBig}) {
    CheckEcho(connection->get(), "echo", 2, order);
  }
}

TEST(WeirEchoFragments, AnOmniOrbClientTakesFragmentedReplies) {
  for (const char* size : {"64", "1024"}) {
    const WeirNode node =
        StartWeir({"echo", "--listen", "giop:tcp:127.0.0.1:0", "--fragment-size", size});
    ASSERT_TRUE(node);
    for (const char* version : {"1.0", "1.1", "1.2"}) {
      const Outcome outcome = RunProgram(kClient, {Corbaloc(node.port, "echo", version)});
      EXPECT_TRUE(outcome.ok()) << version << " " << outcome;
    }
  }
}

// As in a container: bound to one address, published as another.
TEST(WeirEchoPublish, AnOmniOrbClientUsesTheAddressThatIsPublished) {
  const std::string port = std::to_string(FreePort());
  const WeirNode node =
      StartWeir({"echo", "--listen", "giop:tcp:0.0.0.0:" + port + "?publish=localhost:" + port});
  ASSERT_TRUE(node);
  const Outcome decoded = RunProgram("catior", {node.ior});
  EXPECT_THAT(decoded.out, HasSubstr("IIOP 1.2 localhost " + port + " "));
  EXPECT_THAT(decoded.out, Not(HasSubstr("0.0.0.0")));
  const Outcome outcome = RunProgram(kClient, {node.ior});
  EXPECT_TRUE(outcome.ok()) << outcome;
}

TEST(WeirEchoIpv6, AnOmniOrbClientUsesItsAddress) {
  if (!HasIpv6()) GTEST_SKIP() << "this machine has no IPv6 loopback";
  const WeirNode node = StartWeir({"echo", "--listen", "giop:tcp:[::1]:0"});
  ASSERT_TRUE(node);
  const Outcome decoded = RunProgram("catior", {node.ior});
  EXPECT_THAT(decoded.out, HasSubstr("IIOP 1.2 ::1 "));
  for (const std::string& reference :
       {node.ior, "corbaloc::1.2@[::1]:" + std::to_string(node.port) + "/echo"}) {
    const Outcome outcome = RunProgram(kClient, {reference});
    EXPECT_TRUE(outcome.ok()) << outcome;
    const Outcome ours = RunWeir({"ping", reference, "-n", "1"});
    EXPECT_TRUE(ours.ok()) << ours;
  }
}

TEST_F(WeirEcho, CatiorReadsItsReference) {
  const Outcome outcome = RunProgram("catior", {node_->ior});
  ASSERT_TRUE(outcome.ok()) << outcome;
  EXPECT_THAT(outcome.out, HasSubstr("IDL:weir/Echo:1.0"));
  EXPECT_THAT(outcome.out,
              HasSubstr("IIOP 1.2 127.0.0.1 " + std::to_string(node_->port) + " \"echo\""));
  EXPECT_THAT(outcome.out, HasSubstr(Socket()));
}

TEST_F(WeirEcho, ItsOwnDecoderAgreesWithCatior) {
  const Outcome outcome = RunWeir({"ior", node_->ior});
  ASSERT_TRUE(outcome.ok()) << outcome;
  for (const std::string& fact : {std::string("IDL:weir/Echo:1.0"), std::string("127.0.0.1"),
                                  std::to_string(node_->port), std::string("echo"), Socket()}) {
    EXPECT_THAT(outcome.out, HasSubstr(fact));
  }
}

TEST_F(WeirEcho, AnOmniOrbClientWithAnotherKeyIsToldThatThereIsNoObject) {
  const Outcome outcome = RunProgram(kClient, {Corbaloc(node_->port, "no_such_key"), "ping"});
  EXPECT_THAT(outcome.out, HasSubstr("FAIL ping: OBJECT_NOT_EXIST"));
}

TEST_F(WeirEcho, ALargeMessageLimitOfThePeerIsNotOurs) {
  const Outcome outcome = RunProgram(
      kClient, {Corbaloc(node_->port, "echo"), "bounce_1m", "-ORBgiopMaxMsgSize", "8192"});
  // omniORB refuses to send it, with MARSHAL_MessageSizeExceedLimitOnClient; we see nothing of it.
  EXPECT_THAT(outcome.out, HasSubstr("FAIL bounce_1m: MARSHAL"));
}

}  // namespace
}  // namespace weir::testing
