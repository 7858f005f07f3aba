// weir filter, by the real binary; and what it prints, tried on a real control plane.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/control/harness.h"
#include "tests/support/environment.h"
#include "tools/weir/filter_kinds.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

// Runs a command that must succeed, without a node; its output.
std::string Ok(const std::vector<std::string>& arguments) {
  const Ran ran = Weir("", arguments);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, IsEmpty());
  return ran.out;
}

// What a Python expression makes of `d`, the JSON that the command prints.
std::string FromJson(const std::vector<std::string>& arguments, const std::string& expression) {
  const Ran ran = WeirUnder({"sh", "-c",
                             "\"$@\" | python3 -c 'import json, sys; d = "
                             "json.load(sys.stdin); print(" +
                                 expression + ")'",
                             "sh"},
                            "", arguments);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return ran.out;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> Kinds() {
  filters::OrbHandle no_orb;
  filters::FilterKinds kinds;
  tools::AddFilterKinds(&kinds, &no_orb);
  std::vector<std::string> names;
  for (const filters::FilterKind* kind : kinds.All()) names.emplace_back(kind->name());
  return names;
}

TEST(FilterCommandTest, ListNamesEachKindWithOneSentence) {
  const std::string list = Ok({"filter", "list"});
  EXPECT_THAT(Lines(list),
              AllOf(SizeIs(Kinds().size()), Each(MatchesRegex("[a-z-]+ +[A-Z].*\\."))));
  EXPECT_THAT(list, AllOf(HasSubstr("deny         Refuses calls with a system exception.\n"),
                          HasSubstr("access       Refuses calls by the peer's address.\n")));
  for (const std::string& kind : Kinds()) EXPECT_THAT("\n" + list, HasSubstr("\n" + kind + " "));
}

TEST(FilterCommandTest, DescribeShowsParametersMethodsAndAnExample) {
  EXPECT_EQ(Ok({"filter", "describe", "message-log"}),
            "message-log\n"
            "\n"
            "  Writes a line to the log for each request, for each reply, or both, with the\n"
            "  size and the first octets of its body. Otherwise as log. Bodies may hold what\n"
            "  is secret: keep the log accordingly.\n"
            "\n"
            "parameters (--set):\n"
            "  bytes=N, default 64\n"
            "      how many octets of each body are shown (0 to 1024)\n"
            "\n"
            "methods:\n"
            "  up request, reads body\n"
            "      logs call id, peer, key, operation, and the arguments' octets\n"
            "  down reply, reads body\n"
            "      logs call id, peer, key, operation, status, microseconds, and the result's\n"
            "      octets\n"
            "\n"
            "example, with each method on one operation:\n"
            "  weir plug p --filter message-log --on key:NameService\n"
            "  weir map p resolve --up request --enable\n"
            "  weir map p resolve --down reply --enable\n");
  EXPECT_THAT(Ok({"filter", "describe", "log"}), HasSubstr("parameters (--set):\n  none\n"));
  EXPECT_THAT(Ok({"filter", "describe", "rate-limit"}),
              AllOf(HasSubstr("\n  rate=N, required\n"),
                    HasSubstr("\n  per=all|peer|operation, default all\n"),
                    HasSubstr(" --set rate=100 --set per=peer\n")));
  EXPECT_THAT(
      Ok({"filter", "describe", "grpc"}),
      AllOf(HasSubstr("\n  at=ADDRESS, required\n"), HasSubstr("\nmethods:\n  the filter's own\n"),
            HasSubstr("\nexample:\n  weir plug p --filter grpc ")));
  EXPECT_THAT(Ok({"filter", "describe", "replace"}),
              AllOf(HasSubstr("\n  up replace, reads nothing\n"),
                    HasSubstr("\n  down replace_reply, reads nothing, changes what it passes\n")));
}

TEST(FilterCommandTest, NoLineIsLongerThanAScreenButThoseToCopy) {
  for (const std::string& kind : Kinds()) {
    for (const std::string& line : Lines(Ok({"filter", "describe", kind}))) {
      if (line.starts_with("  weir ")) continue;
      EXPECT_LE(line.size(), 80u) << line;
    }
  }
}

TEST(FilterCommandTest, JsonCarriesTheSame) {
  EXPECT_EQ(FromJson({"filter", "list", "-o", "json"},
                     "\",\".join(f[\"name\"] for f in d[\"filters\"]), "
                     "d[\"filters\"][5][\"summary\"]"),
            "access,balancer,cache,count,delay,deny,fault,grpc,log,message-log,rate-limit,ref,"
            "repeater,replace,router,transform Refuses calls with a system exception.\n");
  const std::vector<std::string> describe = {"filter", "describe", "rate-limit", "-o", "json"};
  EXPECT_EQ(FromJson(describe,
                     "d[\"name\"], *[(p[\"name\"], p[\"required\"], p[\"default\"]) "
                     "for p in d[\"parameters\"]]"),
            "rate-limit ('rate', True, None) ('burst', False, None) ('per', False, 'all') "
            "('buckets', False, '4096') ('exception', False, 'TRANSIENT')\n");
  EXPECT_EQ(FromJson(describe, "d[\"methods\"], d[\"examples\"][0]"),
            "[{'phase': 'up', 'name': 'limit', 'reads': 'header', 'changes': False, "
            "'help': 'refuses what is too fast'}] weir plug p --filter rate-limit --on "
            "key:NameService --set rate=100 --set per=peer\n");
  EXPECT_EQ(FromJson({"filter", "describe", "replace", "-o", "json"},
                     "[m[\"changes\"] for m in d[\"methods\"]]"),
            "[False, True]\n");
}

TEST(FilterCommandTest, AnUnknownKindExitsWithThreeAndListsThoseThereAre) {
  for (const char* kind : {"nosuch", "", "log\n"}) {
    const Ran ran = Weir("", {"filter", "describe", kind});
    EXPECT_EQ(ran.exit_code, 3) << ran.err;
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err,
                AllOf(ContainsRegex("^weir: filter describe: no filter is named [^\n]*\n$"),
                      HasSubstr("there are: access, balancer, cache, count")));
  }
}

TEST(FilterCommandTest, WrongCommandLinesExitWithTwo) {
  const std::vector<std::vector<std::string>> wrong = {{"filter"},
                                                       {"filter", "nosuch"},
                                                       {"filter", "describe"},
                                                       {"filter", "list", "log"},
                                                       {"filter", "list", "-o", "yaml"}};
  for (const auto& arguments : wrong) {
    const Ran ran = Weir("", arguments);
    EXPECT_EQ(ran.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, ::testing::Not(IsEmpty()));
  }
}

TEST(FilterCommandTest, HelpIsOnStdoutWithExamplesAndExitCodes) {
  const std::vector<std::vector<std::string>> helped = {
      {"filter", "--help"}, {"filter", "list", "--help"}, {"filter", "describe", "--help"}};
  for (const auto& arguments : helped) {
    EXPECT_THAT(Ok(arguments), AllOf(HasSubstr("Usage: weir filter"), HasSubstr("Examples:"),
                                     HasSubstr("Exit codes:")));
  }
}

// As a shell splits it, as far as examples go: at spaces that are not within single quotes.
std::vector<std::string> ShellWords(const std::string& line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

TEST(FilterCommandTest, TheExamplesWorkAsTheyAreShown) {
  TempDir dir;
  ControlNode node = StartControlNode("unix:" + dir.File("s"), "memory");
  ASSERT_NE(node.process, nullptr);
  for (const std::string& kind : Kinds()) {
    int examples = 0;
    for (const std::string& line : Lines(Ok({"filter", "describe", kind}))) {
      if (!line.starts_with("  weir ")) continue;
      ++examples;
      const std::vector<std::string> arguments = ShellWords(line.substr(7));
      EXPECT_EQ(Weir(node.address, arguments).exit_code, 0) << line;
    }
    EXPECT_GE(examples, kind == "grpc" || kind == "ref" ? 1 : 2) << kind;
    EXPECT_EQ(Weir(node.address, {"unplug", "p"}).exit_code, 0);
  }
}

TEST(FilterCommandTest, ANodeRefusesBadParametersInOneLine) {
  TempDir dir;
  ControlNode node = StartControlNode("unix:" + dir.File("s"), "memory");
  ASSERT_NE(node.process, nullptr);
  const Ran bad = Weir(
      node.address, {"plug", "p", "--filter", "rate-limit", "--on", "all", "--set", "rate=fast"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, AllOf(ContainsRegex("^weir: [^\n]*\n$"),
                             HasSubstr("parameter 'rate' is 'fast'; it must be a number from")));
  const Ran missing = Weir(node.address, {"plug", "p", "--filter", "fault", "--on", "all"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("needs parameter 'probability'"));
}

}  // namespace
}  // namespace weir::testing
