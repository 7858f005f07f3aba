// The omniORB peers against each other: what the interop tests later blame on Weir must be Weir's.

#include "tests/support/peers.h"

#include <string>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/environment.h"

namespace weir::testing {
namespace {

using ::testing::Combine;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Values;

// Client's and server's highest GIOP version, and the transport.
class Peers : public ::testing::TestWithParam<std::tuple<std::string, std::string, std::string>> {
 protected:
  Args ServerOptions() const {
    Args options = {"-ORBmaxGIOPVersion", std::get<1>(GetParam())};
    if (std::get<2>(GetParam()) == "unix") {
      options.insert(options.end(), {"-ORBendPoint", "giop:unix:" + dir_.File("s")});
    }
    return options;
  }
  Args ClientArguments(const Server& server, const Args& more = {}) const {
    Args arguments = {server.ior, "-ORBmaxGIOPVersion", std::get<0>(GetParam())};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  TempDir dir_;
};

TEST_P(Peers, AgreeOnEcho) {
  const Server server = StartOmniServer("tests/peers/omni_echo_server", ServerOptions());
  ASSERT_NE(server.process, nullptr);
  const Outcome outcome = RunProgram("tests/peers/omni_echo_client", ClientArguments(server));
  EXPECT_TRUE(outcome.ok()) << outcome;
  EXPECT_THAT(outcome.out, HasSubstr("ok bounce_1m\n"));
}

TEST_P(Peers, AgreeOnEveryCase) {
  const Server server = StartOmniServer("tests/peers/omni_interop_server", ServerOptions());
  ASSERT_NE(server.process, nullptr);
  const auto& [client_version, server_version, transport] = GetParam();
  const bool wide = client_version == "1.2" && server_version == "1.2";
  const Outcome outcome =
      RunProgram("tests/peers/omni_interop_client",
                 ClientArguments(server, wide ? Args{} : Args{"-wchar", "-wstring"}));
  EXPECT_TRUE(outcome.ok()) << outcome;
  EXPECT_THAT(outcome.out, HasSubstr("ok parallel\n"));
}

std::string NameOf(const ::testing::TestParamInfo<Peers::ParamType>& test) {
  std::string name = "Client" + std::get<0>(test.param) + "Server" + std::get<1>(test.param) +
                     std::get<2>(test.param);
  std::erase(name, '.');
  return name;
}

INSTANTIATE_TEST_SUITE_P(OverTcp, Peers,
                         Combine(Values("1.0", "1.1", "1.2"), Values("1.0", "1.1", "1.2"),
                                 Values("tcp")),
                         NameOf);
// omniORB publishes its socket's path only in a profile of IIOP 1.2.
INSTANTIATE_TEST_SUITE_P(OverUnix, Peers,
                         Combine(Values("1.0", "1.1", "1.2"), Values("1.2"), Values("unix")),
                         NameOf);

TEST(PeersTest, AFailingCaseShowsInTheExitCodeAndByName) {
  const Server server = StartOmniServer("tests/peers/omni_interop_server");
  ASSERT_NE(server.process, nullptr);
  const int port = PortOf(server.ior);
  const Outcome outcome = RunProgram("tests/peers/omni_interop_client",
                                     {Corbaloc(port, "no_such_key"), "nothing", "missing_object"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("FAIL nothing: OBJECT_NOT_EXIST"));
  EXPECT_THAT(outcome.out, HasSubstr("ok missing_object"));
}

TEST(PeersTest, TheKeysAreFixed) {
  const Server echo = StartOmniServer("tests/peers/omni_echo_server");
  const Server interop = StartOmniServer("tests/peers/omni_interop_server");
  ASSERT_TRUE(echo.process != nullptr && interop.process != nullptr);
  for (const char* version : {"1.0", "1.1", "1.2"}) {
    const Outcome on_echo =
        RunProgram("tests/peers/omni_echo_client", {Corbaloc(PortOf(echo.ior), "echo", version)});
    EXPECT_TRUE(on_echo.ok()) << on_echo;
    const Outcome on_interop =
        RunProgram("tests/peers/omni_interop_client",
                   {Corbaloc(PortOf(interop.ior), "interop", version), "is_a", "parallel"});
    EXPECT_TRUE(on_interop.ok()) << on_interop;
  }
}

TEST(PeersTest, AnInteractiveClientSeesAServerGoAndComeBack) {
  const int port = FreePort();
  Server server = StartOmniServer("tests/peers/omni_interop_server", ListenOn(port));
  ASSERT_NE(server.process, nullptr);
  const auto client =
      StartClient("tests/peers/omni_interop_client", {Corbaloc(port, "interop"), "--interactive"});
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
  EXPECT_EQ(server.process->Stop(), 0);
  EXPECT_THAT(RunCase(client.get(), "nothing"), HasSubstr("FAIL nothing: "));
  server = StartOmniServer("tests/peers/omni_interop_server", ListenOn(port));
  ASSERT_NE(server.process, nullptr);
  EXPECT_EQ(RunCase(client.get(), "nothing"), "ok nothing");
}

TEST(PeersTest, TheBenchClientTimesEachBatch) {
  const Server server = StartOmniServer("tests/peers/omni_echo_server");
  ASSERT_NE(server.process, nullptr);
  const auto client = StartClient("tests/peers/omni_bench_client", {server.ior});
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(client->WriteLine("10").ok());
    EXPECT_TRUE(client->WaitForLine("^[0-9]+$", std::chrono::seconds(30)).ok());
  }
  client->CloseInput();
  EXPECT_EQ(client->Wait(std::chrono::seconds(30)).value(), 0);
}

TEST(PeersTest, TheNameServerListsItsBindings) {
  const NameServer names;
  ASSERT_TRUE(names.running());
  const Outcome bound = RunProgram(
      "nameclt", {"-ORBInitRef", "NameService=" + names.reference(), "bind_new_context", "a.b"});
  EXPECT_TRUE(bound.ok()) << bound;
  const Outcome listed =
      RunProgram("nameclt", {"-ORBInitRef", "NameService=" + names.reference(), "list"});
  EXPECT_TRUE(listed.ok()) << listed;
  EXPECT_THAT(listed.out, HasSubstr("a.b/"));
}

}  // namespace
}  // namespace weir::testing
