// Filters that are plugged onto interfaces of objects of omniORB servers and of omniNames.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/interop/gateway.h"
#include "tests/support/environment.h"
#include "tests/support/peers.h"
#include "tests/support/weir_command.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A gateway that is told what to do.
struct ToldGateway : Gateway {
  using Gateway::Gateway;
  Outcome Tell(Args arguments) const {
    arguments.insert(arguments.end(), {"--control", "unix:" + dir.File("c")});
    return RunWeir(arguments);
  }
  // Counts the calls of all operations, up.
  void Count(const std::string& plug, const std::string& interface) const {
    Outcome outcome = Tell({"plug", plug, "--filter", "count", "--on", "interface:" + interface});
    EXPECT_TRUE(outcome.ok()) << outcome;
    outcome = Tell({"map", plug, "*", "--up", "count", "--enable"});
    EXPECT_TRUE(outcome.ok()) << outcome;
  }
  // Refuses one operation.
  void Deny(const std::string& plug, const std::string& interface,
            const std::string& operation) const {
    Outcome outcome = Tell({"plug", plug, "--filter", "deny", "--on", "interface:" + interface});
    EXPECT_TRUE(outcome.ok()) << outcome;
    outcome = Tell({"map", plug, operation, "--up", "deny", "--enable"});
    EXPECT_TRUE(outcome.ok()) << outcome;
  }
  std::string List(const std::string& plug) const { return Tell({"list", plug}).out; }
};

TEST(InterfacesOfOmniOrb, ADerivedInterfaceIsFilteredByItsBase) {
  const Server upstream = StartOmniServer(kServer);
  ASSERT_NE(upstream.process, nullptr);
  const ToldGateway gateway(upstream.ior);
  ASSERT_TRUE(gateway);
  gateway.Count("base", "IDL:weir/InteropTest:1.0");
  gateway.Count("derived", "IDL:weir/DerivedInteropTest:1.0");
  gateway.Count("other", "IDL:weir/Echo:1.0");
  gateway.Deny("guard", "IDL:weir/InteropTest:1.0", "nothing");
  const std::string at = gateway.Tcp("interop");
  const Outcome outcome = RunProgram(kClient, {at, "is_a", "integers", "nothing"});
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("ok is_a"), HasSubstr("ok integers"), HasSubstr("FAIL nothing")))
      << outcome;
  for (const char* plug : {"base", "derived"}) {
    EXPECT_THAT(gateway.List(plug), AllOf(HasSubstr("interface:IDL:weir/"), HasSubstr("CALLED")));
  }
  EXPECT_THAT(gateway.List("other"), Not(HasSubstr("CALLED")));
}

TEST(InterfacesOfOmniOrb, AnObjectOfAnotherInterfacePassesUntouched) {
  const Server upstream = StartOmniServer(kEchoServer);
  ASSERT_NE(upstream.process, nullptr);
  const ToldGateway gateway(upstream.ior);
  ASSERT_TRUE(gateway);
  gateway.Deny("guard", "IDL:weir/InteropTest:1.0", "*");
  Outcome outcome = RunProgram(kEchoClient, {gateway.Tcp("echo"), "is_a", "ping"});
  EXPECT_TRUE(outcome.ok()) << outcome;
  gateway.Deny("echo_guard", "IDL:weir/Echo:1.0", "ping");
  outcome = RunProgram(kEchoClient, {gateway.Tcp("echo"), "is_a", "ping"});
  EXPECT_FALSE(outcome.ok()) << outcome;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("ok is_a"), HasSubstr("FAIL ping")));
}

TEST(InterfacesOfOmniOrb, EveryGiopVersionIsAsked) {
  const Server upstream = StartOmniServer(kEchoServer);
  ASSERT_NE(upstream.process, nullptr);
  for (const char* version : {"1.0", "1.1", "1.2"}) {
    const ToldGateway gateway(Corbaloc(PortOf(upstream.ior), "echo", version));
    ASSERT_TRUE(gateway);
    gateway.Deny("guard", "IDL:weir/Echo:1.0", "ping");
    const Outcome outcome = RunProgram(kEchoClient, {gateway.Tcp("echo", version), "is_a", "ping"});
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("ok is_a"), HasSubstr("FAIL ping"))) << version;
  }
}

TEST(InterfacesOfOmniNames, ANamingContextIsCaughtByItsBase) {
  const NameServer names;
  ASSERT_TRUE(names.running());
  const ToldGateway gateway("corbaloc::1.2@127.0.0.1:" + std::to_string(names.port()));
  ASSERT_TRUE(gateway);
  const auto name_client = [&](Args command) {
    command.insert(command.begin(), {"-ORBInitRef", "NameService=" + gateway.Tcp("NameService")});
    return RunProgram("nameclt", command);
  };
  // omniNames has NamingContextExt, which is derived from that.
  gateway.Deny("guard", "IDL:omg.org/CosNaming/NamingContext:1.0", "unbind");
  Outcome outcome = name_client({"bind", "object.kept", names.ior()});
  EXPECT_TRUE(outcome.ok()) << outcome;
  outcome = name_client({"unbind", "object.kept"});
  EXPECT_FALSE(outcome.ok()) << outcome;
  EXPECT_THAT(name_client({"list"}).out, HasSubstr("object.kept"));
  EXPECT_THAT(
      gateway.List("guard"),
      AllOf(HasSubstr("interface:IDL:omg.org/CosNaming/NamingContext:1.0"), HasSubstr("unbind")));
  EXPECT_TRUE(gateway.Tell({"disable", "guard"}).ok());
  EXPECT_TRUE(name_client({"unbind", "object.kept"}).ok());
  EXPECT_THAT(name_client({"list"}).out, Not(HasSubstr("object.kept")));
}

TEST(InterfacesOfWeir, AServantIsAskedInItsOwnServer) {
  const TempDir dir;
  const std::string control = "unix:" + dir.File("c");
  const WeirNode echo = StartWeir(
      {"echo", "--listen", "giop:tcp:127.0.0.1:0", "--control", control, "--store", "memory"});
  ASSERT_TRUE(echo);
  EXPECT_TRUE(RunWeir({"plug", "guard", "--filter", "deny", "--on", "interface:IDL:weir/Echo:1.0",
                       "--control", control})
                  .ok());
  EXPECT_TRUE(
      RunWeir({"map", "guard", "ping", "--up", "deny", "--enable", "--control", control}).ok());
  const Outcome outcome = RunProgram(kEchoClient, {Corbaloc(echo.port, "echo"), "is_a", "ping"});
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("ok is_a"), HasSubstr("FAIL ping"))) << outcome;
  const Outcome bad =
      RunWeir({"plug", "bad", "--filter", "deny", "--on", "interface:Echo", "--control", control});
  EXPECT_FALSE(bad.ok());
  EXPECT_THAT(bad.err, HasSubstr("as in IDL:acme/Bank:1.0"));
}

}  // namespace
}  // namespace weir::testing
