#include "tests/support/process.h"

#include <signal.h>
#include <sys/stat.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/environment.h"

namespace weir::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

std::unique_ptr<Process> Shell(const std::string& script) {
  auto process = Process::Start({.argv = {"sh", "-c", script}});
  EXPECT_TRUE(process.ok()) << process.status();
  return *std::move(process);
}

TEST(Process, WaitsForALineAndConsumesTheLinesBeforeIt) {
  auto p = Shell("echo one; echo two; echo three; exec sleep 100");
  EXPECT_EQ(p->WaitForLine("^t", seconds(10)).value(), "two");
  EXPECT_EQ(p->WaitForLine("t", seconds(10)).value(), "three");
  EXPECT_EQ(p->WaitForLine("one", Milliseconds(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(Process, TellsTheStreamsApart) {
  auto p = Shell("echo same >&2; echo same; echo last");
  EXPECT_TRUE(p->WaitForLine("last", seconds(10), Process::Stream::kOut).ok());
  EXPECT_EQ(p->Wait(seconds(10)).value(), 0);
  EXPECT_EQ(p->out(), "same\nlast\n");
  EXPECT_EQ(p->err(), "same\n");
}

TEST(Process, AnEndedChildIsNotWaitedForAndItsOutputIsInTheError) {
  auto p = Shell("echo went wrong; exit 3");
  const auto line = p->WaitForLine("ready", seconds(100));
  EXPECT_EQ(line.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(line.status().message()), HasSubstr("went wrong"));
  EXPECT_EQ(p->Wait(seconds(10)).value(), 3);
}

TEST(Process, ALastLineWithoutNewlineIsALine) {
  auto p = Shell("printf unfinished");
  EXPECT_EQ(p->WaitForLine("un", seconds(10)).value(), "unfinished");
}

TEST(Process, ReadsWhatIsWrittenToIt) {
  auto p = Shell("while read line; do echo got $line; done; echo end");
  ASSERT_TRUE(p->WriteLine("a").ok());
  EXPECT_EQ(p->WaitForLine("got", seconds(10)).value(), "got a");
  p->CloseInput();
  EXPECT_TRUE(p->WaitForLine("end", seconds(10)).ok());
}

TEST(Process, AMissingProgramIsAnError) {
  const auto p = Process::Start({.argv = {"/nonexistent/program"}});
  EXPECT_EQ(p.status().code(), absl::StatusCode::kUnavailable);
}

TEST(Process, StopKillsAChildThatIgnoresTerm) {
  auto p = Shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(p->WaitForLine("ready", seconds(10)).ok());
  EXPECT_EQ(p->Stop(Milliseconds(50)), 128 + SIGKILL);
}

TEST(Process, TheDestructorKillsAndReaps) {
  pid_t pid = 0;
  {
    auto p = Shell("echo ready; exec sleep 100");
    ASSERT_TRUE(p->WaitForLine("ready", seconds(10)).ok());
    pid = p->pid();
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(Process, AGrandchildThatHoldsThePipesDoesNotBlockTheEnd) {
  auto p = Shell("sleep 3 & echo ready");
  EXPECT_EQ(p->Wait(seconds(10)).value(), 0);
  EXPECT_THAT(p->out(), HasSubstr("ready"));
}

TEST(Process, EnvironmentAndWorkingDirectoryAreTheChildsOwn) {
  auto p = Process::Run({.argv = {"sh", "-c", "echo $WEIR_X-$HOME; pwd"},
                         .env = {{"WEIR_X", "1"}, {"HOME", ""}},
                         .working_directory = "/"},
                        seconds(10));
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ((*p)->out(), "1-\n/\n");
}

TEST(Environment, ATempDirIsShortAndRemovedWithItsContent) {
  std::string path;
  {
    TempDir dir;
    path = dir.path();
    EXPECT_LT(path.size(), 30u);
    std::ofstream(dir.File("x")) << "y";
  }
  struct stat info;
  EXPECT_NE(stat(path.c_str(), &info), 0);
}

}  // namespace
}  // namespace weir::testing
