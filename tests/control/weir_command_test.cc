// The beta messages of the weir command, by the real binary against a real control plane: output,
// errors and exit codes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/control/harness.h"
#include "tests/support/environment.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class WeirCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    node = StartControlNode("unix:" + dir.File("s"), "memory");
    ASSERT_NE(node.process, nullptr);
  }
  Ran Run(const std::vector<std::string>& arguments) { return Weir(node.address, arguments); }
  // Runs a command that must succeed; its output.
  std::string Ok(const std::vector<std::string>& arguments) {
    const Ran ran = Run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.err, IsEmpty());
    return ran.out;
  }
  // Runs a command that must fail with `exit_code` and one line that says `text`.
  void Fails(int exit_code, const std::vector<std::string>& arguments, const std::string& text) {
    const Ran ran = Run(arguments);
    EXPECT_EQ(ran.exit_code, exit_code) << ran.err;
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, AllOf(ContainsRegex("^weir: [^\n]*\n$"), HasSubstr(text)));
  }
  std::string Revision() {
    const std::string list = Ok({"list"});
    return list.substr(0, list.find(','));
  }

  TempDir dir;
  ControlNode node;
};

TEST_F(WeirCommandTest, ThePathOfAPlugFromPlugToUnplug) {
  EXPECT_EQ(Ok({"plug", "audit", "--filter", "log", "--on", "key:NameService", "--priority", "-5"}),
            "revision 1\n");
  EXPECT_EQ(Ok({"map", "audit", "*", "--up", "request", "--down", "reply"}), "revision 2\n");
  EXPECT_EQ(Ok({"enable", "audit", "*", "--up"}), "revision 3\n");
  EXPECT_EQ(Ok({"list"}),
            "revision 3, 1 plug\n"
            "\n"
            "audit: filter log on key:NameService, priority -5\n"
            "  OPERATION  PHASE  METHOD   STATE\n"
            "  *          up     request  enabled\n"
            "  *          down   reply    disabled\n");
  EXPECT_EQ(Ok({"enable", "audit", "--down", "reply"}), "revision 4\n");
  EXPECT_EQ(Ok({"disable", "audit"}), "revision 5\n");
  EXPECT_THAT(Ok({"list", "audit"}), Not(HasSubstr("enabled")));
  EXPECT_EQ(Ok({"unmap", "audit", "*", "--down", "reply"}), "revision 6\n");
  EXPECT_EQ(Ok({"unplug", "audit", "--drain"}), "revision 7, drained\n");
  EXPECT_EQ(Ok({"list"}), "revision 7, 0 plugs\n");
}

TEST_F(WeirCommandTest, APlugsPlaceIsShownAndACircleRefused) {
  Ok({"plug", "a", "--filter", "count", "--on", "all", "--priority", "2", "--down-priority", "-1",
      "--before", "b", "--before", "c", "--after", "d"});
  EXPECT_THAT(Ok({"list", "a"}),
              HasSubstr("a: filter count on all, priority 2, down priority -1, before b, before c, "
                        "after d\n"));
  EXPECT_THAT(Ok({"list", "-o", "json"}), HasSubstr("\"down_priority\": -1"));
  Fails(4, {"plug", "b", "--filter", "count", "--on", "all", "--before", "a"}, "a -> b -> a");
  Fails(4, {"plug", "a", "--filter", "count", "--on", "all", "--priority", "2"},
        "another down priority");
}

TEST_F(WeirCommandTest, ConditionsAreShownAndBadOnesRefused) {
  Ok({"plug", "a", "--filter", "count", "--on", "all", "--if", "peer=10.0.0.7/32", "--if",
      "operation!=get_*"});
  EXPECT_THAT(Ok({"list", "a"}),
              HasSubstr("a: filter count on all, priority 0, if operation!=get_*, if "
                        "peer=10.0.0.7\n"));
  EXPECT_EQ(Ok({"plug", "a", "--filter", "count", "--on", "all", "--if", "operation!=get_*", "--if",
                "peer=10.0.0.7"}),
            "revision 1, it was so already\n");
  Fails(2, {"plug", "b", "--filter", "count", "--on", "all", "--if", "colour=red"},
        "bad condition 'colour=red': there are peer=10.0.0.0/8,");
}

TEST_F(WeirCommandTest, AReplyOrderIsSetShownWatchedAndForgotten) {
  EXPECT_EQ(Ok({"reply-order", "key:%61*", "plug-order"}), "revision 1\n");
  EXPECT_EQ(Ok({"reply-order", "key:a*", "plug-order"}), "revision 1, it was so already\n");
  EXPECT_EQ(Ok({"list"}), "revision 1, 0 plugs\nreply order of key:a* plug-order\n");
  EXPECT_THAT(Ok({"list", "-o", "json"}), HasSubstr("REPLY_ORDER_PLUG_ORDER"));
  auto watch = Process::Start({.argv = {WeirPath(), "watch", "--control", node.address}});
  ASSERT_TRUE(watch.ok()) << watch.status();
  const Milliseconds patience = std::chrono::seconds(30);
  EXPECT_TRUE((*watch)->WaitForLine("^reply order of key:a\\* plug-order$", patience).ok());
  EXPECT_EQ(Ok({"reply-order", "key:a*", "inherited"}), "revision 2\n");
  EXPECT_TRUE(
      (*watch)->WaitForLine("^revision 2: reply order of key:a\\* inherited$", patience).ok());
  EXPECT_EQ(Ok({"list"}), "revision 2, 0 plugs\n");
  EXPECT_EQ(Run({"reply-order", "all", "sideways"}).exit_code, 2);
  Fails(2, {"reply-order", "nonsense", "reversed"}, "bad selector");
}

TEST_F(WeirCommandTest, DoingItAgainIsNoErrorAndSaysSo) {
  Ok({"plug", "a", "--filter", "count", "--on", "all"});
  EXPECT_EQ(Ok({"plug", "a", "--filter", "count", "--on", "all"}),
            "revision 1, it was so already\n");
  EXPECT_EQ(Ok({"unplug", "nosuch"}), "revision 1, it was so already\n");
}

TEST_F(WeirCommandTest, MapCanEnableAtOnceAndDisableTakesOnlyThePhaseThatIsMapped) {
  Ok({"plug", "a", "--filter", "deny", "--on", "all", "--set", "exception=TRANSIENT"});
  Ok({"map", "a", "op", "--up", "deny", "--enable"});
  EXPECT_THAT(Ok({"list"}), AllOf(HasSubstr("exception=TRANSIENT"), HasSubstr("enabled")));
  EXPECT_EQ(Ok({"disable", "a", "op"}), "revision 3\n");
  Fails(3, {"disable", "a", "nosuch"}, "nosuch");
}

TEST_F(WeirCommandTest, JsonCarriesTheSame) {
  EXPECT_THAT(Ok({"plug", "a", "--filter", "count", "--on", "all", "-o", "json"}),
              AllOf(HasSubstr("\"revision\": \"1\""), HasSubstr("\"changed\": true")));
  Ok({"map", "a", "op", "--up", "count", "--enable"});
  EXPECT_THAT(Ok({"list", "--output", "json"}),
              AllOf(HasSubstr("\"name\": \"a\""), HasSubstr("\"phase\": \"PHASE_UP\""),
                    HasSubstr("\"enabled\": true")));
  EXPECT_THAT(Ok({"status", "-o", "json"}), HasSubstr("\"uptime_ms\": "));
}

TEST_F(WeirCommandTest, StatusShowsTheNode) {
  EXPECT_THAT(Ok({"status"}),
              AllOf(HasSubstr("giop:tcp:127.0.0.1:4711"), HasSubstr(node.address),
                    ContainsRegex("store +memory"), ContainsRegex("calls_total +42"),
                    ContainsRegex("revision +0")));
}

TEST_F(WeirCommandTest, WatchShowsTheStateThenEachChange) {
  Ok({"plug", "a", "--filter", "count", "--on", "all"});
  auto watch = Process::Start({.argv = {WeirPath(), "watch", "--control", node.address}});
  ASSERT_TRUE(watch.ok()) << watch.status();
  const Milliseconds patience = std::chrono::seconds(30);
  EXPECT_TRUE((*watch)->WaitForLine("^revision 1, 1 plug$", patience).ok());
  Ok({"map", "a", "op", "--up", "count", "--enable"});
  EXPECT_TRUE((*watch)->WaitForLine("^revision 2: map a 'op' up count enabled$", patience).ok());
  // The node's end is not the watch's success.
  EXPECT_EQ(node.process->Stop(), 0);
  EXPECT_EQ((*watch)->Wait(patience).value_or(-1), 5);
  EXPECT_THAT((*watch)->err(), HasSubstr("shutting down"));
}

TEST_F(WeirCommandTest, WatchFromARevisionGoesOnFromThere) {
  Ok({"plug", "a", "--filter", "count", "--on", "all"});
  Ok({"unplug", "a"});
  auto watch = Process::Start(
      {.argv = {WeirPath(), "watch", "--from", "1", "-o", "json", "--control", node.address}});
  ASSERT_TRUE(watch.ok()) << watch.status();
  auto line = (*watch)->WaitForLine(".", std::chrono::seconds(30));
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line, R"({"revision":"2","change_set":{"changes":[{"unplug":{"name":"a"}}]}})");
  Fails(1, {"watch", "--from", "99"}, "revision 99 is not reached");
}

TEST_F(WeirCommandTest, WrongCommandLinesExitWithTwo) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"nosuch"},
      {"plug"},
      {"plug", "a", "--filter", "count"},
      {"plug", "a", "--filter", "count", "--on", "all", "--priority", "high"},
      {"plug", "a", "--filter", "count", "--on", "all", "--set", "novalue"},
      {"plug", "a", "--filter", "count", "--on", "all", "--set", "k=1", "--set", "k=2"},
      {"map", "a", "op"},
      {"map", "a", "--up", "count"},
      {"enable", "a"},
      {"list", "-o", "yaml"},
      {"list", "--timeout", "0"},
      {"list", "--control", "nowhere"},
      {"list", "--control", "127.0.0.1:0"},
      {"list", "--control", "unix:"},
  };
  for (const auto& arguments : wrong) {
    const Ran ran = Run(arguments);
    EXPECT_EQ(ran.exit_code, 2) << ::testing::PrintToString(arguments) << ran.err;
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, Not(IsEmpty()));
  }
  EXPECT_EQ(Weir("", {"list"}).exit_code, 2) << "no address at all";
  EXPECT_EQ(Revision(), "revision 0");
}

TEST_F(WeirCommandTest, WhatTheServiceFindsWrongExitsAsDocumentedAndChangesNothing) {
  Ok({"plug", "a", "--filter", "count", "--on", "all"});
  Fails(2, {"plug", "b", "--filter", "count", "--on", "nonsense"}, "nonsense");
  Fails(2, {"plug", "b", "--filter", "deny", "--on", "all", "--set", "exception=OOPS"}, "OOPS");
  Fails(3, {"plug", "b", "--filter", "nosuch", "--on", "all"}, "nosuch");
  Fails(3, {"map", "a", "op", "--up", "nosuch"}, "nosuch");
  Fails(3, {"map", "nosuch", "op", "--up", "count"}, "nosuch");
  Fails(3, {"list", "nosuch"}, "nosuch");
  Fails(4, {"plug", "a", "--filter", "deny", "--on", "all"}, "already exists");
  Fails(4, {"plug", "b", "--filter", "count", "--on", "all", "--expect-revision", "7"},
        "expected revision 7");
  EXPECT_EQ(Revision(), "revision 1");
}

TEST_F(WeirCommandTest, AControlPlaneThatIsAwayExitsWithFiveAndSaysWhatToDo) {
  const std::string path = dir.File("nobody");
  const Ran gone = Weir("unix:" + path, {"plug", "a", "--filter", "count", "--on", "all"});
  EXPECT_EQ(gone.exit_code, 5);
  EXPECT_THAT(gone.err,
              AllOf(HasSubstr("plug a"), HasSubstr(path), HasSubstr("No such file or directory"),
                    HasSubstr("--control"), HasSubstr("Nothing was changed")));
  node.process->Kill();
  const Ran dead = Weir(node.address, {"list"});
  EXPECT_EQ(dead.exit_code, 5);
  EXPECT_THAT(dead.err, HasSubstr("Connection refused"));
}

TEST_F(WeirCommandTest, AMuteControlPlaneExitsWithFiveAfterTheTimeout) {
  // A stopped process accepts connections by its kernel's backlog and says nothing.
  node.process->Signal(SIGSTOP);
  const Ran ran = Run({"list", "--timeout", "0.3"});
  node.process->Signal(SIGCONT);
  EXPECT_EQ(ran.exit_code, 5);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("list"), HasSubstr(node.address), HasSubstr("0.3 s")));
}

TEST_F(WeirCommandTest, ASocketOfAnotherUserExitsWithSix) {
  ASSERT_EQ(chmod(dir.File("s").c_str(), 0), 0);
  // Root is stopped by a mode only if it has no capabilities.
  const std::vector<std::string> prefix =
      geteuid() == 0 ? std::vector<std::string>{"setpriv", "--inh-caps=-all", "--bounding-set=-all"}
                     : std::vector<std::string>();
  const Ran ran = WeirUnder(prefix, node.address, {"list"});
  EXPECT_EQ(ran.exit_code, 6) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("Permission denied"));
}

TEST_F(WeirCommandTest, OutputThatCannotBeWrittenExitsWithOne) {
  const Ran ran = WeirUnder({"sh", "-c", "exec \"$@\" > /dev/full", "sh"}, node.address, {"list"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("standard output"));
}

TEST_F(WeirCommandTest, HelpIsOnStdoutWithExamplesAndExitCodes) {
  for (const char* command :
       {"plug", "unplug", "map", "unmap", "enable", "disable", "list", "watch", "status"}) {
    EXPECT_THAT(Ok({command, "--help"}), AllOf(HasSubstr("Usage: weir"), HasSubstr("Examples:"),
                                               HasSubstr("WEIR_CONTROL"), HasSubstr("Exit codes:")))
        << command;
  }
  EXPECT_THAT(Ok({"--help"}), AllOf(HasSubstr("Examples:"), HasSubstr("unplug")));
  EXPECT_THAT(Ok({"--version"}), ContainsRegex("^weir [0-9]+\\.[0-9]+\\.[0-9]+\n$"));
}

// How nodes start, and refuse to.

TEST(ControlNodeTest, TheSocketIsForItsUserAlone) {
  TempDir dir;
  ControlNode node = StartControlNode("unix:" + dir.File("s"), "memory");
  ASSERT_NE(node.process, nullptr);
  struct stat info;
  ASSERT_EQ(stat(dir.File("s").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(node.process->Stop(), 0);
  EXPECT_NE(access(dir.File("s").c_str(), F_OK), 0) << "the socket is left behind";
}

TEST(ControlNodeTest, APathMayHoldCharactersThatUrisEscape) {
  TempDir dir;
  const std::string path = dir.File("a b%20?#\xc3\xa4");
  ControlNode node = StartControlNode("unix:" + path, "memory");
  ASSERT_NE(node.process, nullptr);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  EXPECT_EQ(Weir(node.address, {"list"}).exit_code, 0);
}

TEST(ControlNodeTest, ASecondNodeOnTheSameAddressIsRefusedAndTheFirstGoesOn) {
  TempDir dir;
  for (const std::string& control : {"unix:" + dir.File("s"), std::string("127.0.0.1:0")}) {
    ControlNode node = StartControlNode(control, "memory");
    ASSERT_NE(node.process, nullptr);
    auto second = RunControlNode(node.address, "memory");
    EXPECT_EQ(second->Wait(Milliseconds(0)).value_or(-1), 1);
    EXPECT_THAT(second->err(), AllOf(HasSubstr(node.address), HasSubstr("in use")));
    EXPECT_EQ(Weir(node.address, {"list"}).exit_code, 0);
  }
}

TEST(ControlNodeTest, ASecondNodeOnTheSameStoreIsRefusedAndTheFirstGoesOn) {
  TempDir dir;
  const std::string store = "sqlite:" + dir.File("db");
  ControlNode node = StartControlNode("127.0.0.1:0", store);
  ASSERT_NE(node.process, nullptr);
  auto second = RunControlNode("127.0.0.1:0", store);
  EXPECT_EQ(second->Wait(Milliseconds(0)).value_or(-1), 1);
  EXPECT_THAT(second->err(), AllOf(HasSubstr(dir.File("db")), HasSubstr("locked")));
  EXPECT_EQ(Weir(node.address, {"plug", "a", "--filter", "count", "--on", "all"}).exit_code, 0);
}

TEST(ControlNodeTest, TheSocketOfAKilledNodeIsNoObstacle) {
  TempDir dir;
  ControlNode first = StartControlNode("unix:" + dir.File("s"), "sqlite:" + dir.File("db"));
  ASSERT_NE(first.process, nullptr);
  first.process->Kill();
  ControlNode second = StartControlNode("unix:" + dir.File("s"), "sqlite:" + dir.File("db"));
  ASSERT_NE(second.process, nullptr);
  EXPECT_EQ(Weir(second.address, {"list"}).exit_code, 0);
}

TEST(ControlNodeTest, AnAddressThatOthersReachIsRefusedForWantOfTls) {
  auto node = RunControlNode("0.0.0.0:0", "memory");
  EXPECT_EQ(node->Wait(Milliseconds(0)).value_or(-1), 1);
  EXPECT_THAT(node->err(), HasSubstr("no TLS"));
}

TEST(ControlNodeTest, AStoredPlugThatCannotBeMadeAnyMoreStopsTheStart) {
  TempDir dir;
  const std::string store = "sqlite:" + dir.File("db");
  {
    ControlNode node = StartControlNode("127.0.0.1:0", store);
    ASSERT_NE(node.process, nullptr);
    ASSERT_EQ(Weir(node.address, {"plug", "a", "--filter", "count", "--on", "all"}).exit_code, 0);
    ASSERT_EQ(node.process->Stop(), 0);
  }
  auto edit = Process::Run({.argv = {"/usr/bin/python3", "-c",
                                     "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]);"
                                     "d.execute(\"UPDATE plug SET filter = 'retired'\");"
                                     "d.commit()",
                                     dir.File("db")}},
                           std::chrono::seconds(30));
  ASSERT_TRUE(edit.ok()) << edit.status();
  ASSERT_EQ((*edit)->Wait(Milliseconds(0)).value_or(-1), 0) << (*edit)->err();
  auto node = RunControlNode("127.0.0.1:0", store);
  EXPECT_EQ(node->Wait(Milliseconds(0)).value_or(-1), 1);
  EXPECT_THAT(node->err(), AllOf(HasSubstr(dir.File("db")), HasSubstr("retired")));
}

}  // namespace
}  // namespace weir::testing
