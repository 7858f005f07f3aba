#include "control/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/support/environment.h"

namespace weir::control {
namespace {

using ::testing::HasSubstr;
using weir::testing::TempDir;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Binds a Unix socket at `path`; listens only if `live`. The caller closes it.
int Bind(const std::string& path, bool live) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un sun = {};
  sun.sun_family = AF_UNIX;
  strcpy(sun.sun_path, path.c_str());
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&sun), sizeof(sun)), 0);
  if (live) {
    EXPECT_EQ(listen(fd, 1), 0);
  }
  return fd;
}

TEST(ParseListenAddressTest, AllSpellingsAreUnderstood) {
  EXPECT_EQ(ParseListenAddress("unix:/run/weir.sock", false)->ToString(), "unix:/run/weir.sock");
  EXPECT_EQ(ParseListenAddress("127.0.0.1:0", false)->ToString(), "127.0.0.1:0");
  EXPECT_EQ(ParseListenAddress("127.9.9.9:7", false)->ToString(), "127.9.9.9:7");
  EXPECT_EQ(ParseListenAddress("[::1]:65535", false)->ToString(), "[::1]:65535");
  EXPECT_EQ(ParseListenAddress("localhost:1", false)->ToString(), "127.0.0.1:1");
  EXPECT_EQ(ParseListenAddress("0.0.0.0:1", true)->ToString(), "0.0.0.0:1");
}

TEST(ParseListenAddressTest, WrongSpellingsAreInvalidAndNamed) {
  for (const char* text : {"", "unix:", "localhost", ":1", "127.0.0.1:", "127.0.0.1:x", "::1:5",
                           "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:1x"}) {
    auto address = ParseListenAddress(text, false);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(Message(address.status()), HasSubstr(absl::StrCat("'", text, "'")));
  }
}

TEST(ParseListenAddressTest, AddressesThatOthersReachAreRefusedBecauseThereIsNoTls) {
  for (const char* text : {"0.0.0.0:1", "[::]:1", "192.0.2.1:1"}) {
    auto address = ParseListenAddress(text, false);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kPermissionDenied) << text;
    EXPECT_THAT(Message(address.status()), HasSubstr("no TLS"));
  }
}

TEST(ParseListenAddressTest, APathTooLongForASocketIsInvalid) {
  EXPECT_TRUE(ParseListenAddress("unix:/" + std::string(106, 'x'), false).ok());
  auto address = ParseListenAddress("unix:/" + std::string(107, 'x'), false);
  EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(address.status()), HasSubstr("at most 107"));
}

TEST(GrpcTargetTest, OnlyPathsAreEscaped) {
  EXPECT_EQ(GrpcTarget("unix:/run/weir-1.sock"), "unix:/run/weir-1.sock");
  EXPECT_EQ(GrpcTarget("unix:/a b%20?#"), "unix:/a%20b%2520%3F%23");
  EXPECT_EQ(GrpcTarget("[::1]:7"), "[::1]:7");
}

class CheckFreeTest : public ::testing::Test {
 protected:
  absl::Status Check() { return CheckFree(*ParseListenAddress("unix:" + path, false)); }
  TempDir dir;
  std::string path = dir.File("s");
};

TEST_F(CheckFreeTest, AFreePathIsFine) { EXPECT_TRUE(Check().ok()); }

TEST_F(CheckFreeTest, TheSocketOfADeadProcessIsRemoved) {
  close(Bind(path, true));
  EXPECT_TRUE(Check().ok());
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST_F(CheckFreeTest, ALiveSocketIsRefusedAndKept) {
  const int fd = Bind(path, true);
  EXPECT_EQ(Check().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  close(fd);
}

TEST_F(CheckFreeTest, AFileThatIsNoSocketIsRefusedAndKept) {
  std::ofstream(path) << "precious";
  EXPECT_EQ(Check().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
}

TEST_F(CheckFreeTest, AMissingFolderIsNamed) {
  auto lock = BindLock::Take(*ParseListenAddress("unix:" + dir.File("nosuch/s"), false));
  EXPECT_EQ(lock.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(lock.status()), HasSubstr(dir.File("nosuch")));
}

TEST_F(CheckFreeTest, ATcpAddressOfAnotherMachineIsUnavailable) {
  // TEST-NET-1 of RFC 5737: nobody has it.
  EXPECT_EQ(CheckFree(*ParseListenAddress("192.0.2.1:0", true)).code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace weir::control
