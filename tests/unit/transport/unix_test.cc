#include "orb/transport/unix.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "tests/support/environment.h"

namespace weir::orb {
namespace {

class UnixTest : public ::testing::Test {
 protected:
  Nanos Soon() { return clock_.Now() + 5 * kSecond; }
  // As a process leaves it that is killed.
  void LeaveDeadSocket() {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    std::strcpy(a.sun_path, path_.c_str());
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
    close(fd);
  }
  bool Exists(const std::string& path) {
    struct stat s;
    return lstat(path.c_str(), &s) == 0;
  }
  SystemClock clock_;
  testing::TempDir dir_;
  const std::string path_ = dir_.File("s");
  UnixTransport unix_{&clock_};
};

TEST_F(UnixTest, BytesPassAndThePeerIsKnown) {
  const auto acceptor = unix_.Listen(path_);
  ASSERT_TRUE(acceptor.ok()) << acceptor.status();
  EXPECT_EQ((*acceptor)->address(), path_);
  const auto client = unix_.Connect(path_, Soon());
  ASSERT_TRUE(client.ok()) << client.status();
  const auto server = (*acceptor)->Accept();
  ASSERT_TRUE(server.ok() && *server != nullptr);
  EXPECT_EQ((*server)->peer_address(), StrCat("unix:pid=", getpid(), ",uid=", getuid()));
  EXPECT_EQ((*client)->Send("hello").bytes, 5u);
  char buffer[10];
  EXPECT_EQ((*server)->Receive(buffer, 10, Wait::kNo).bytes, 5u);
}

TEST_F(UnixTest, ItsFilesAreRemovedWhenItCloses) {
  { const auto acceptor = unix_.Listen(path_); }
  EXPECT_FALSE(Exists(path_));
  EXPECT_FALSE(Exists(path_ + ".lock"));
}

TEST_F(UnixTest, TheSocketOfADeadProcessIsReplaced) {
  LeaveDeadSocket();
  EXPECT_EQ(unix_.Connect(path_, Soon()).status().message(), StrCat(path_, ": Connection refused"));
  const auto acceptor = unix_.Listen(path_);
  ASSERT_TRUE(acceptor.ok()) << acceptor.status();
  EXPECT_TRUE(unix_.Connect(path_, Soon()).ok());
}

TEST_F(UnixTest, ALivePathIsNotTaken) {
  const auto acceptor = unix_.Listen(path_);
  const absl::Status second = unix_.Listen(path_).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(second.message().find("another process serves it already"), absl::string_view::npos);
  EXPECT_TRUE(unix_.Connect(path_, Soon()).ok());
}

TEST_F(UnixTest, OfManyThatWantAPathExactlyOneGetsIt) {
  for (int round = 0; round < 50; ++round) {
    LeaveDeadSocket();
    std::atomic<int> got{0};
    std::vector<std::unique_ptr<Acceptor>> kept(4);
    std::vector<std::thread> threads;
    for (auto& mine : kept) {
      threads.emplace_back([&] {
        auto acceptor = unix_.Listen(path_);
        if (acceptor.ok()) {
          ++got;
          mine = *std::move(acceptor);
        }
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(got, 1);
    EXPECT_TRUE(unix_.Connect(path_, Soon()).ok());
  }
}

TEST_F(UnixTest, AFileThatIsNoSocketIsLeftAlone) {
  std::ofstream(path_) << "precious";
  EXPECT_EQ(unix_.Listen(path_).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Exists(path_));
}

TEST_F(UnixTest, PathsThatCannotBeAreRefused) {
  for (const std::string& bad :
       {std::string(), std::string("relative"), "/" + std::string(200, 'x'),
        std::string("/a\0b", 4), "/" + std::string(107, 'x')}) {
    EXPECT_EQ(unix_.Listen(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_EQ(unix_.Connect(bad, Soon()).status().code(), absl::StatusCode::kInvalidArgument);
  }
  const std::string longest = dir_.path() + "/" + std::string(107 - dir_.path().size() - 1, 'x');
  const auto acceptor = unix_.Listen(longest);
  ASSERT_TRUE(acceptor.ok()) << acceptor.status();
  EXPECT_TRUE(unix_.Connect(longest, Soon()).ok());
  EXPECT_EQ(unix_.Connect(dir_.File("nobody"), Soon()).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(UnixTest, AFullQueueIsWaitedForUntilTheDeadline) {
  TransportOptions options;
  options.backlog = 1;
  UnixTransport narrow(&clock_, options);
  const auto acceptor = narrow.Listen(path_);
  std::vector<std::unique_ptr<Stream>> queued;
  absl::Status full;
  while (full.ok() && queued.size() < 10) {
    auto stream = unix_.Connect(path_, clock_.Now() + 50 * kMillisecond);
    full = stream.status();
    if (stream.ok()) queued.push_back(*std::move(stream));
  }
  EXPECT_EQ(full.code(), absl::StatusCode::kDeadlineExceeded) << full;
  EXPECT_NE(full.message().find("queue"), absl::string_view::npos) << full;
  std::thread server([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    while (*(*acceptor)->Accept() != nullptr) {
    }
  });
  EXPECT_TRUE(unix_.Connect(path_, Soon()).ok());
  server.join();
}

}  // namespace
}  // namespace weir::orb
