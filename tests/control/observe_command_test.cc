// weir list, top, calls and explain against a real `weir echo` that real calls go through.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "tests/control/harness.h"
#include "tests/support/environment.h"
#include "tests/support/weir_command.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Milliseconds kPatience = std::chrono::seconds(30);

class ObserveCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    control = "unix:" + dir.File("s");
    node = StartWeir({"echo", "--listen", "giop:tcp:127.0.0.1:0", "--control", control});
    ASSERT_TRUE(node);
  }
  Ran Run(const std::vector<std::string>& arguments) { return Weir(control, arguments); }
  std::string Ok(const std::vector<std::string>& arguments) {
    const Ran ran = Run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.out;
  }
  void Fails(int exit_code, const std::vector<std::string>& arguments, const std::string& text) {
    const Ran ran = Run(arguments);
    EXPECT_EQ(ran.exit_code, exit_code) << ran.err;
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, HasSubstr(text));
  }
  void PlugAudit() {
    Ok({"plug", "audit", "--filter", "log", "--on", "all"});
    Ok({"map", "audit", "*", "--up", "request", "--down", "reply", "--enable"});
  }
  // `calls` calls of the operation _non_existent; the exit code says whether they were answered.
  int Call(int calls = 1) {
    return Run({"ping", "-n", std::to_string(calls), "-i", "0", node.ior}).exit_code;
  }
  // The id in a line of `weir calls`.
  static std::string IdIn(const std::string& line) {
    std::smatch match;
    return std::regex_search(line, match, std::regex("call=([0-9]+)")) ? match[1].str() : "";
  }

  TempDir dir;
  std::string control;
  WeirNode node;
};

TEST_F(ObserveCommandTest, ListShowsWhatEachPlugDecided) {
  PlugAudit();
  Ok({"plug", "guard", "--filter", "deny", "--on", "all"});
  EXPECT_THAT(Ok({"list"}), Not(HasSubstr("CALLED"))) << "nothing has been called yet";
  EXPECT_EQ(Call(3), 0);
  Ok({"map", "guard", "_non_existent", "--up", "deny", "--enable"});
  EXPECT_NE(Call(2), 0);
  EXPECT_THAT(Ok({"list"}), AllOf(HasSubstr("  OPERATION  PHASE  CALLED  PASSED  NOT PASSED\n"
                                            "  *          up     5       5       -\n"
                                            "  *          down   5       5       -\n"),
                                  HasSubstr("  OPERATION      PHASE  CALLED  PASSED  NOT PASSED\n"
                                            "  _non_existent  up     2       0       bounced 2\n"),
                                  Not(HasSubstr("COUNTER")), Not(HasSubstr("took us"))));
  const std::string json = Ok({"list", "guard", "-o", "json"});
  EXPECT_THAT(json, AllOf(HasSubstr("\"called\": \"2\""), HasSubstr("\"bounced\": \"2\""),
                          HasSubstr("\"timed_out\": \"0\""), HasSubstr("\"policy_taken\": \"0\""),
                          HasSubstr("\"latencies\": []")));
}

TEST_F(ObserveCommandTest, WhatAFilterThatIsAwayGetsIsCountedAndExplained) {
  Ok({"plug", "far", "--filter", "grpc", "--set", "at=unix:" + dir.File("nobody"), "--on", "all",
      "--on-failure", "open"});
  Ok({"map", "far", "*", "--up", "check", "--enable"});
  Ok({"calls", "--record", "1m"});
  EXPECT_EQ(Call(2), 0);
  EXPECT_THAT(Ok({"list", "far"}),
              HasSubstr("  OPERATION  PHASE  CALLED  PASSED  NOT PASSED\n"
                        "  *          up     0       0       refused 2, policy_taken 2\n"));
  const std::string line = Ok({"calls", "-n", "1"});
  EXPECT_THAT(line, HasSubstr(" refused_by=far status=NO_EXCEPTION"));
  EXPECT_THAT(Ok({"explain", IdIn(line)}),
              ContainsRegex("far   up     check   refused  [0-9.]+\n"));
}

TEST_F(ObserveCommandTest, TellHasACacheForget) {
  Ok({"plug", "results", "--filter", "cache", "--on", "all"});
  Ok({"map", "results", "echo", "--up", "lookup", "--down", "store", "--enable"});
  EXPECT_EQ(Ok({"tell", "results", "forget"}), "forgot 0 results\n");
  EXPECT_EQ(Ok({"tell", "results", "forget", "--set", "key=echo", "-o", "json"}),
            "{\n \"text\": \"forgot 0 results\"\n}\n");
  Fails(3, {"tell", "results", "remember"}, "it has: forget");
  Fails(3, {"tell", "nosuch", "forget"}, "no plug is named 'nosuch'");
  Fails(2, {"tell", "results", "forget", "--set", "colour=red"}, "no parameter 'colour'");
  Fails(2, {"tell", "results", "forget", "--set", "colour"}, "is not KEY=VALUE");
  EXPECT_THAT(Ok({"filter", "describe", "cache"}),
              HasSubstr("\ncommands (weir tell):\n  forget\n"));
}

TEST_F(ObserveCommandTest, TopShowsOneIntervalAndExits) {
  PlugAudit();
  EXPECT_EQ(Call(), 0);
  auto top = Process::Start({.argv = {WeirPath(), "top", "--once", "--interval", "1s"},
                             .env = {{"WEIR_CONTROL", control}}});
  ASSERT_TRUE(top.ok()) << top.status();
  // Calls all the time, so that some are within the interval, whenever that is.
  while (!(*top)->Wait(Milliseconds(0)).ok()) ASSERT_EQ(Call(50), 0);
  EXPECT_EQ((*top)->Wait(kPatience).value_or(-1), 0) << (*top)->err();
  const std::string out = (*top)->out();
  EXPECT_THAT(out, HasSubstr("PLUG   PHASE  CALLS/S"));
  EXPECT_THAT(out, ContainsRegex("\naudit  up     [1-9][0-9.]* +[1-9][0-9.]* +0\\.0 .* [0-9.]+\n"));
  EXPECT_THAT(out, ContainsRegex("\naudit  down   [1-9]"));
  EXPECT_THAT(out, Not(HasSubstr("\x1b"))) << "no terminal, no clearing";
  EXPECT_THAT(out, Not(ContainsRegex("audit  up .* -\n"))) << "the calls were timed";
  EXPECT_THAT(Ok({"list"}), HasSubstr("up took us: mean "));
}

TEST_F(ObserveCommandTest, TopGoesOnInJsonAndTimingEndsSoonAfterIt) {
  PlugAudit();
  auto top = Process::Start({.argv = {WeirPath(), "top", "-i", "100ms", "-o", "json"},
                             .env = {{"WEIR_CONTROL", control}}});
  ASSERT_TRUE(top.ok()) << top.status();
  ASSERT_TRUE((*top)->WaitForLine("\"plugs\":", kPatience).ok());
  EXPECT_EQ(Call(5), 0);
  auto line = (*top)->WaitForLine("\"phase\":\"up\".*\"timed\":[1-9]", kPatience);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(*line,
              ContainsRegex("^\\{\"revision\":2,\"seconds\":0\\.[0-9]+,\"plugs\":\\[.*\\]\\}$"));
  (*top)->Kill();
  // The lease was for 2.3 s. Once it is over, calls are no longer timed.
  std::string before;
  for (int i = 0; i < 100; ++i) {
    before = Ok({"list", "audit"});
    EXPECT_EQ(Call(), 0);
    const std::string after = Ok({"list", "audit"});
    const std::regex timed("up took us.* of ([0-9]+) timed");
    std::smatch a, b;
    ASSERT_TRUE(std::regex_search(before, a, timed)) << before;
    ASSERT_TRUE(std::regex_search(after, b, timed)) << after;
    if (a[1] == b[1]) return;
    std::this_thread::sleep_for(Milliseconds(200));
  }
  FAIL() << "timing still goes on\n" << before;
}

TEST_F(ObserveCommandTest, CallsAreRecordedOnlyWhenAskedFor) {
  PlugAudit();
  EXPECT_EQ(Call(), 0);
  const Ran off = Run({"calls"});
  EXPECT_EQ(off.exit_code, 0);
  EXPECT_THAT(off.out, IsEmpty());
  EXPECT_THAT(off.err, AllOf(HasSubstr("recording is off"), HasSubstr("weir calls --record 10m")));
  EXPECT_EQ(Ok({"calls", "--record", "10m"}), "recording goes on for 600.0 s\n");
  EXPECT_EQ(Call(3), 0);
  const std::string calls = Ok({"calls"});
  EXPECT_EQ(std::count(calls.begin(), calls.end(), '\n'), 3) << calls;
  EXPECT_THAT(calls,
              ContainsRegex("^[0-9T:.-]+Z call=[0-9]+ peer=tcp:127\\.0\\.0\\.1:[0-9]+ key=echo "
                            "operation=_non_existent us=[0-9.]+ steps=2 status=NO_EXCEPTION\n"));
  const std::string last = Ok({"calls", "-n", "1"});
  EXPECT_EQ(std::count(last.begin(), last.end(), '\n'), 1);
  EXPECT_TRUE(calls.ends_with(last));
  EXPECT_EQ(Ok({"calls", "--stop"}).substr(0, 16), "recording is off");
  EXPECT_EQ(Call(), 0);
  EXPECT_EQ(Ok({"calls"}), calls) << "what was recorded stays";
}

TEST_F(ObserveCommandTest, ExplainTellsWhatBecameOfACall) {
  PlugAudit();
  Ok({"plug", "guard", "--filter", "deny", "--on", "all", "--priority", "5"});
  Ok({"map", "guard", "*", "--up", "deny", "--enable"});
  Ok({"calls", "--record", "1m"});
  EXPECT_NE(Call(), 0);
  const std::string line = Ok({"calls"});
  EXPECT_THAT(line, HasSubstr(" bounced_by=guard status=SYSTEM_EXCEPTION NO_PERMISSION"));
  const std::string id = IdIn(line);
  const std::string text = Ok({"explain", id});
  EXPECT_THAT(text, AllOf(HasSubstr("call " + id + "\n"), HasSubstr("key        echo\n"),
                          HasSubstr("operation  _non_existent\n"), HasSubstr("revision   4\n"),
                          HasSubstr("SYSTEM_EXCEPTION NO_PERMISSION minor 0x57454010\n")));
  EXPECT_THAT(text, ContainsRegex("  audit  up     request  passed   [0-9.]+\n"
                                  "  guard  up     deny     bounced  [0-9.]+\n"
                                  "  audit  down   reply    passed   [0-9.]+\n"));
  EXPECT_THAT(Ok({"explain", id, "-o", "json"}),
              AllOf(HasSubstr("\"call\": \"" + id + "\""), HasSubstr("\"verdict\": \"bounced\"")));
  // The id is that of the log, where a person meets it first.
  EXPECT_THAT(node.process->err(), HasSubstr("call=" + id + " "));
}

TEST_F(ObserveCommandTest, ExplainOfAnUnknownCallSaysWhyAndExitsWithThree) {
  Fails(3, {"explain", "17"},
        "call 17 is not recorded, and recording is off; switch it on with "
        "'weir calls --record 10m'");
  Ok({"calls", "--record", "1m"});
  Fails(3, {"explain", "17"}, "too old");
}

TEST_F(ObserveCommandTest, FollowShowsCallsAsTheyEnd) {
  PlugAudit();
  auto follow = Process::Start(
      {.argv = {WeirPath(), "calls", "--follow"}, .env = {{"WEIR_CONTROL", control}}});
  ASSERT_TRUE(follow.ok()) << follow.status();
  ASSERT_TRUE((*follow)->WaitForLine("recording", kPatience).ok());
  std::string previous;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Call(), 0);
    auto line = (*follow)->WaitForLine("operation=_non_existent", kPatience, Process::Stream::kOut);
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_NE(IdIn(*line), previous);
    previous = IdIn(*line);
  }
  EXPECT_THAT(Ok({"explain", previous}), HasSubstr("_non_existent"));
  // The node's end is the follower's: exit 5.
  node.process->Stop();
  EXPECT_EQ((*follow)->Wait(kPatience).value_or(-1), 5) << (*follow)->err();
}

TEST_F(ObserveCommandTest, WrongUseExitsWithTwo) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"explain"},
           {"explain", "notanumber"},
           {"explain", "-1"},
           {"calls", "--record", "2h"},
           {"calls", "--record", "soon"},
           {"calls", "--stop", "--follow"},
           {"calls", "-n", "0"},
           {"top", "--interval", "1ms"},
           {"top", "--interval", "11m"},
       }) {
    const Ran ran = Run(arguments);
    EXPECT_EQ(ran.exit_code, 2) << ::testing::PrintToString(arguments) << ran.err;
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, Not(IsEmpty()));
  }
  Fails(3, {"top", "nosuch", "--once"}, "nosuch");
}

TEST_F(ObserveCommandTest, ANodeThatIsAwayExitsWithFive) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"top", "--once"}, {"calls"}, {"explain", "1"}}) {
    const Ran ran = Weir("unix:" + dir.File("nobody"), arguments);
    EXPECT_EQ(ran.exit_code, 5) << ran.err;
  }
}

TEST_F(ObserveCommandTest, HelpIsOnStdoutWithExamplesAndExitCodes) {
  for (const char* command : {"top", "calls", "explain"}) {
    EXPECT_THAT(Ok({command, "--help"}), AllOf(HasSubstr("Usage: weir"), HasSubstr("Examples:"),
                                               HasSubstr("WEIR_CONTROL"), HasSubstr("Exit codes:")))
        << command;
  }
}

}  // namespace
}  // namespace weir::testing
