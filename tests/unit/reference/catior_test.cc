// What we say of references against what omniORB's catior says, and real omniORB clients that
// follow references that we made.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <regex>
#include <sstream>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orb/reference/reference.h"
#include "tests/support/environment.h"
#include "tests/support/peers.h"
#include "tests/support/process.h"
#include "tools/weir/ior_command.h"

namespace weir::orb {
namespace {

using ::testing::HasSubstr;
using weir::testing::Process;
using weir::testing::RunProgram;
using weir::testing::TempDir;

std::string Hostname() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// The facts that both tools print, in catior's words and order. It shows no ORB type it does not
// know.
std::vector<std::string> CatiorFacts(const std::string& ior) {
  const weir::testing::Outcome outcome = RunProgram("catior", {ior});
  EXPECT_TRUE(outcome.ok()) << outcome;
  std::vector<std::string> facts;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(outcome.out, '\n'))) {
    std::smatch match;
    static const std::regex kFact(
        R"(Type ID: ".*"|IIOP 1\.\d .*|TAG_ALTERNATE_IIOP_ADDRESS .*|TAG_OMNIORB_UNIX_TRANS .*|TAG_ORB_TYPE omniORB)");
    if (std::regex_search(line, match, kFact)) facts.push_back(match.str());
  }
  return facts;
}

std::string WeirIor(const std::string& text, bool json = false) {
  std::ostringstream out, err;
  tools::CommandContext context{out, err};
  CLI::App app;
  tools::AddIorCommand(&app, &context);
  std::vector<std::string> arguments = {text, "ior"};
  if (json) arguments = {"json", "-o", text, "ior"};  // CLI11 takes them last to first
  app.parse(std::move(arguments));
  EXPECT_TRUE(context.status.ok()) << context.status;
  EXPECT_EQ(err.str(), "");
  return out.str();
}

// The same facts out of `weir ior`.
std::vector<std::string> WeirFacts(const std::string& ior) {
  std::vector<std::string> facts;
  std::string version, host, port;
  const std::string text = WeirIor(ior);
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    std::smatch m;
    if (std::regex_match(line, m, std::regex(R"(type id: +(.*))"))) {
      facts.push_back(StrCat("Type ID: \"", m.str(1) == "(none)" ? "" : m.str(1), "\""));
    } else if (std::regex_match(line, m, std::regex(R"(profile \d+: (IIOP 1\.\d))"))) {
      version = m.str(1);
    } else if (std::regex_match(
                   line, m, std::regex(R"(  address: \[?(.*?)\]?:(\d+)( \(no plain TCP\))?)"))) {
      host = m.str(1);
      port = m.str(2);
    } else if (std::regex_match(line, m, std::regex(R"(  key: +(".*") \(.*\))"))) {
      facts.push_back(StrCat(version, " ", host, " ", port, " ", m.str(1)));
    } else if (std::regex_match(line, m,
                                std::regex(R"(  ALTERNATE_IIOP_ADDRESS: \[?(.*?)\]?:(\d+))"))) {
      facts.push_back(StrCat("TAG_ALTERNATE_IIOP_ADDRESS ", m.str(1), " ", m.str(2)));
    } else if (std::regex_match(line, m,
                                std::regex(R"(  OMNIORB_UNIX_TRANS: (.*) on host (.*))"))) {
      facts.push_back(StrCat("TAG_OMNIORB_UNIX_TRANS ", m.str(2), " ", m.str(1)));
    } else if (std::regex_match(line, m, std::regex(R"(  ORB_TYPE: (omniORB))"))) {
      facts.push_back(StrCat("TAG_ORB_TYPE ", m.str(1)));
    }
  }
  return facts;
}

void ExpectAgreement(const std::string& ior, size_t facts) {
  EXPECT_EQ(WeirFacts(ior), CatiorFacts(ior)) << ior;
  EXPECT_EQ(CatiorFacts(ior).size(), facts) << absl::StrJoin(CatiorFacts(ior), "\n");
}

std::string Built(const std::vector<Endpoint>& published, uint8_t minor = 2,
                  const std::string& key = "echo") {
  IorOptions options;
  options.minor = minor;
  options.hostname = Hostname();
  const absl::StatusOr<Ior> ior = BuildIor("IDL:weir/Echo:1.0", key, published, options);
  EXPECT_TRUE(ior.ok()) << ior.status();
  return ior.ok() ? ToString(*ior) : "";
}

// omniNames with the end points given.
struct Names {
  explicit Names(const std::vector<std::string>& endpoints) {
    Process::Options options;
    options.argv = {"omniNames", "-start", "-always", "-ignoreport", "-datadir", data.path()};
    for (const std::string& endpoint : endpoints) {
      options.argv.insert(options.argv.end(), {"-ORBendPoint", endpoint});
    }
    auto started = Process::Start(options);
    if (!started.ok()) {
      ADD_FAILURE() << started.status();
      return;
    }
    process = *std::move(started);
    const auto line = process->WaitForLine("Root context is IOR:", std::chrono::seconds(20));
    EXPECT_TRUE(line.ok()) << line.status();
    if (line.ok()) ior = line->substr(line->find("IOR:"));
    while (!ior.empty() && !isalnum(ior.back())) ior.pop_back();
  }

  TempDir data;
  std::unique_ptr<Process> process;
  std::string ior;
};

void ExpectNamecltLists(const std::string& reference) {
  const auto outcome = RunProgram("nameclt", {"-ior", reference, "list"});
  EXPECT_TRUE(outcome.ok()) << reference << "\n" << outcome;
}

TEST(CatiorTest, AgreesOnReferencesOfGenior) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"IDL:a/B:1.0", "orb.example", "2810", "key"},
                                             {"IDL:a/B:1.0", "127.0.0.1", "1"},
                                             {"-x", "IDL:a/B:1.0", "::1", "65535", "0x00ff41"}}) {
    const auto outcome = RunProgram("genior", arguments);
    ASSERT_TRUE(outcome.ok()) << outcome;
    ExpectAgreement(std::string(StripWhitespace(outcome.out)), 3);
  }
}

TEST(CatiorTest, AgreesOnTheReferenceOfARealServer) {
  TempDir folder;
  const Names names(
      {"giop:tcp:127.0.0.1:0", "giop:unix:" + folder.File("s"), "giop:tcp:127.0.0.1:0"});
  ExpectAgreement(names.ior, 5);
  const absl::StatusOr<Reference> reference = ParseReference(names.ior, {Hostname(), {}});
  ASSERT_TRUE(reference.ok()) << reference.status();
  ASSERT_EQ(reference->endpoints.size(), 3);
  EXPECT_EQ(reference->endpoints[0], (Endpoint{"unix", folder.File("s")}));
  EXPECT_EQ(reference->object_key, "NameService");
}

TEST(CatiorTest, AgreesOnOurReferences) {
  ExpectAgreement(Built({{"tcp", "orb.example:2809"}}), 2);
  ExpectAgreement(Built({{"unix", "/run/x.sock"}}), 3);
  ExpectAgreement(
      Built({{"tcp", "127.0.0.1:1"}, {"tcp", "[2001:db8::1]:2"}, {"unix", "/run/x.sock"}}), 4);
  ExpectAgreement(Built({{"tcp", "a:1"}, {"tcp", "b:2"}}, 1), 3);
  ExpectAgreement(Built({{"tcp", "a:1"}}, 0), 2);
  ExpectAgreement(Built({{"tcp", "a:1"}}, 2, std::string("\0\x01 k~", 5)), 2);
  ExpectAgreement(ToString(ParseReference("corbaloc::a,:1.2@b:3,omniunix:/x:/K", {"h", {}})->ior),
                  5);
}

TEST(CatiorTest, AnOmniOrbClientFollowsOurReferenceToAUnixSocket) {
  TempDir folder;
  const Names names({"giop:unix:" + folder.File("s")});
  // Nothing listens on TCP, so that it gets there at all proves the component.
  ExpectNamecltLists(Built({{"unix", folder.File("s")}}, 2, "NameService"));
  const absl::StatusOr<Reference> reference = ParseReference(names.ior, {Hostname(), {}});
  ASSERT_TRUE(reference.ok()) << reference.status();
  ExpectNamecltLists(ToCorbaloc(*reference));
  ExpectNamecltLists(ToString(ParseReference(ToCorbaloc(*reference), {Hostname(), {}})->ior));
}

TEST(CatiorTest, AnOmniOrbClientFollowsOurReferenceToTcp) {
  const Names names({"giop:tcp:127.0.0.1:0"});
  const absl::StatusOr<Reference> reference = ParseReference(names.ior, {"", {}});
  ASSERT_TRUE(reference.ok()) << reference.status();
  for (const uint8_t minor : {0, 1, 2}) {
    ExpectNamecltLists(Built(reference->endpoints, minor, "NameService"));
  }
  // The first address is dead: the client goes on to the alternate one.
  ExpectNamecltLists(
      Built({{"tcp", StrCat("127.0.0.1:", weir::testing::FreePort())}, reference->endpoints[0]}, 2,
            "NameService"));
  ExpectNamecltLists(ToCorbaloc(*reference));
}

TEST(IorCommandTest, ShowsBothSpellings) {
  EXPECT_THAT(WeirIor("corbaloc::1.2@a:1/k"), HasSubstr("\nior:       IOR:01000000"));
  EXPECT_THAT(WeirIor(Built({{"tcp", "a:1"}})), HasSubstr("\ncorbaloc:  corbaloc::1.2@a:1/echo\n"));
  EXPECT_THAT(WeirIor("corbaloc::1.2@a:1/k", true), HasSubstr("\"ior\":\"IOR:01000000"));
  EXPECT_THAT(WeirIor(Built({{"tcp", "a:1"}}), true),
              HasSubstr("\"corbaloc\":\"corbaloc::1.2@a:1/echo\"}\n"));
  EXPECT_THAT(WeirIor("IOR:01000000010000000000000000000000"), HasSubstr("nil:"));
  EXPECT_EQ(WeirIor("corbaloc:rir:/RootPOA", true), "{\"initial_reference\":\"RootPOA\"}\n");
}

TEST(IorCommandTest, AMalformedReferenceIsAUsageError) {
  std::ostringstream out, err;
  tools::CommandContext context{out, err};
  CLI::App app;
  tools::AddIorCommand(&app, &context);
  app.parse(std::vector<std::string>{"corbaloc:foo:a/b", "ior"});
  EXPECT_EQ(tools::ExitCodeFor(context.status), tools::kExitUsage);
  EXPECT_THAT(std::string(context.status.message()), HasSubstr("'foo'"));
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace weir::orb
