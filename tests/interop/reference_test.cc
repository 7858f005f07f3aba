// Our references in the hands of omniORB's programs, and theirs in ours.

#include "orb/reference/reference.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/environment.h"
#include "tests/support/peers.h"

namespace weir::testing {
namespace {

using orb::BuildIor;
using orb::Endpoint;
using orb::IorOptions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

// An omniORB echo server on TCP and on a Unix socket, for which the tests make references.
class ReferenceInterop : public ::testing::Test {
 protected:
  ReferenceInterop()
      : socket_(dir_.File("s")),
        server_(StartOmniServer(
            "tests/peers/omni_echo_server",
            {"-ORBendPoint", "giop:tcp:127.0.0.1:0", "-ORBendPoint", "giop:unix:" + socket_})),
        tcp_("127.0.0.1:" + std::to_string(PortOf(server_.ior))) {}

  std::string Ours(const std::vector<Endpoint>& endpoints, uint8_t minor = 2) {
    const auto ior = BuildIor("IDL:weir/Echo:1.0", "echo", endpoints,
                              IorOptions{.minor = minor, .hostname = HostName()});
    EXPECT_TRUE(ior.ok()) << ior.status();
    return ior.ok() ? ToString(*ior) : "";
  }

  Outcome Call(const std::string& reference) {
    return RunProgram("tests/peers/omni_echo_client",
                      {reference, "narrow", "ping", "-ORBtraceLevel", "25"});
  }

  TempDir dir_;
  std::string socket_;
  Server server_;
  std::string tcp_;
};

TEST_F(ReferenceInterop, AnOmniOrbClientUsesOursInEachVersion) {
  for (uint8_t minor : {0, 1, 2}) {
    const Outcome outcome = Call(Ours({{"tcp", tcp_}}, minor));
    EXPECT_TRUE(outcome.ok()) << "IIOP 1." << int{minor} << ": " << outcome;
  }
}

TEST_F(ReferenceInterop, AnOmniOrbClientPrefersOurUnixSocket) {
  const Outcome outcome = Call(Ours({{"tcp", tcp_}, {"unix", socket_}}));
  EXPECT_TRUE(outcome.ok()) << outcome;
  EXPECT_THAT(outcome.err, HasSubstr("giop:unix:" + socket_));
  EXPECT_THAT(outcome.err, Not(HasSubstr("Client opened connection to giop:tcp:")));
}

TEST_F(ReferenceInterop, AnOmniOrbClientNeedsNoTcpAddressInOurs) {
  const Outcome outcome = Call(Ours({{"unix", socket_}}));
  EXPECT_TRUE(outcome.ok()) << outcome;
}

TEST_F(ReferenceInterop, AnOmniOrbClientTriesOurAlternateAddress) {
  const std::string closed = "127.0.0.1:" + std::to_string(FreePort());
  const Outcome outcome = Call(Ours({{"tcp", closed}, {"tcp", tcp_}}));
  EXPECT_TRUE(outcome.ok()) << outcome;
}

TEST_F(ReferenceInterop, CatiorReadsOurs) {
  const Outcome outcome = RunProgram("catior", {Ours({{"tcp", "orb.example:2810"},
                                                      {"tcp", "[2001:db8::7]:2811"},
                                                      {"unix", "/run/weir.sock"}})});
  ASSERT_TRUE(outcome.ok()) << outcome;
  EXPECT_THAT(outcome.out, HasSubstr("IDL:weir/Echo:1.0"));
  EXPECT_THAT(outcome.out, HasSubstr("IIOP 1.2 orb.example 2810 \"echo\""));
  EXPECT_THAT(outcome.out, HasSubstr("2001:db8::7 2811"));
  EXPECT_THAT(outcome.out, HasSubstr("/run/weir.sock"));
  EXPECT_THAT(outcome.out, HasSubstr("UTF-8"));
  EXPECT_THAT(outcome.out, HasSubstr("UTF-16"));
}

TEST_F(ReferenceInterop, WeReadOmniOrbs) {
  const auto reference = orb::ParseReference(server_.ior, {.hostname = HostName()});
  ASSERT_TRUE(reference.ok()) << reference.status();
  EXPECT_EQ(reference->type_id, "IDL:weir/Echo:1.0");
  EXPECT_EQ(reference->object_key, "echo");
  EXPECT_EQ(reference->giop_minor, 2);
  EXPECT_THAT(reference->endpoints, ElementsAre(Endpoint{"unix", socket_}, Endpoint{"tcp", tcp_}));
}

TEST_F(ReferenceInterop, AnotherHostsUnixSocketIsNotUsed) {
  const auto reference = orb::ParseReference(server_.ior, {.hostname = HostName() + "x"});
  ASSERT_TRUE(reference.ok()) << reference.status();
  EXPECT_THAT(reference->endpoints, ElementsAre(Endpoint{"tcp", tcp_}));
}

TEST_F(ReferenceInterop, OmniOrbsPassThroughUsUnchanged) {
  const auto ior = orb::ParseIor(server_.ior);
  ASSERT_TRUE(ior.ok()) << ior.status();
  EXPECT_EQ(orb::ToString(*ior), server_.ior);
}

TEST_F(ReferenceInterop, WeReadWhatGeniorMakes) {
  const Outcome made = RunProgram("genior", {"IDL:weir/Echo:1.0", "orb.example", "2810", "echo"});
  ASSERT_TRUE(made.ok()) << made;
  const auto reference = orb::ParseReference(made.out, {.hostname = HostName()});
  ASSERT_TRUE(reference.ok()) << reference.status() << made;
  EXPECT_EQ(reference->object_key, "echo");
  EXPECT_THAT(reference->endpoints, ElementsAre(Endpoint{"tcp", "orb.example:2810"}));
}

}  // namespace
}  // namespace weir::testing
