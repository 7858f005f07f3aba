#include "orb/transport/tcp.h"

#include <gtest/gtest.h>

#include <string>

#include "base/host_port.h"
#include "base/strings.h"
#include "tests/support/environment.h"

namespace weir::orb {
namespace {

class TcpTest : public ::testing::TestWithParam<const char*> {
 protected:
  SystemClock clock_;
  TcpTransport tcp_{&clock_};
  Nanos Soon() { return clock_.Now() + 5 * kSecond; }
};
INSTANTIATE_TEST_SUITE_P(Hosts, TcpTest, ::testing::Values("127.0.0.1", "[::1]", "localhost", ""));

TEST_P(TcpTest, BytesPassAndThePortOfZeroBecomesARealOne) {
  const auto acceptor = tcp_.Listen(StrCat(GetParam(), ":0"));
  if (!acceptor.ok() && std::string_view(GetParam()) == "[::1]") GTEST_SKIP() << "no IPv6 here";
  ASSERT_TRUE(acceptor.ok()) << acceptor.status();
  const uint16_t port = ParseHostPort((*acceptor)->address())->port;
  EXPECT_NE(port, 0);
  EXPECT_EQ(ParseHostPort((*acceptor)->published_addresses()[0])->port, port);
  const auto client = tcp_.Connect(StrCat(GetParam(), ":", port), Soon());
  ASSERT_TRUE(client.ok()) << client.status();
  const auto server = (*acceptor)->Accept();
  ASSERT_TRUE(server.ok() && *server != nullptr);
  EXPECT_EQ(*(*acceptor)->Accept(), nullptr);

  char buffer[10];
  EXPECT_FALSE((*server)->HasInput());
  EXPECT_EQ((*server)->Receive(buffer, 10, Wait::kNo).kind, IoResult::kWouldBlock);
  EXPECT_EQ((*server)->Receive(buffer, 10, Wait::kStay).kind, IoResult::kWouldBlock);
  EXPECT_FALSE((*server)->WaitReadable(kMillisecond));
  EXPECT_EQ((*client)->Send("hello").bytes, 5u);
  EXPECT_TRUE((*server)->WaitReadable(5 * kSecond));
  EXPECT_TRUE((*server)->HasInput());
  EXPECT_EQ((*server)->Receive(buffer, 10, Wait::kNo).bytes, 5u);
  (*client)->ShutdownSend();
  EXPECT_TRUE((*server)->WaitReadable(5 * kSecond));
  EXPECT_EQ((*server)->Receive(buffer, 10, Wait::kNo).kind, IoResult::kEnd);
  EXPECT_EQ((*server)->Send("x").bytes, 1u);  // the other direction is still open
  (*server)->Shutdown();
  EXPECT_EQ((*server)->Send("x").kind, IoResult::kError);
}

TEST_F(TcpTest, ErrorsNameTheAddressAndTheReason) {
  const std::string dead = StrCat("127.0.0.1:", testing::FreePort());
  const absl::Status refused = tcp_.Connect(dead, Soon()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(refused.message(), StrCat(dead, ": Connection refused"));
  const absl::Status name = tcp_.Connect("no-such-host.invalid:1", Soon()).status();
  EXPECT_EQ(name.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(name.message().find("no-such-host.invalid"), absl::string_view::npos);
  for (const char* bad : {"127.0.0.1:0", "127.0.0.1", "127.0.0.1:99999", "[::1:5", ""}) {
    EXPECT_EQ(tcp_.Connect(bad, Soon()).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  const auto taken = tcp_.Listen("127.0.0.1:0");
  const absl::Status again = tcp_.Listen((*taken)->address()).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(again.message().find((*taken)->address()), absl::string_view::npos) << again;
  EXPECT_FALSE(tcp_.Listen("192.0.2.1:0").ok());  // no interface of ours
}

TEST_F(TcpTest, AConnectionToNobodyIsNeverOneToItself) {
  // The kernel may choose the very port that is asked for, in its range of ephemeral ones.
  const std::string dead = StrCat("127.0.0.1:", testing::FreePort());
  for (int i = 0; i < 2000; ++i) ASSERT_FALSE(tcp_.Connect(dead, Soon()).ok());
}

TEST_F(TcpTest, AnAttemptEndsAtItsDeadline) {
  // A listener whose queue is full: the kernel drops what comes.
  TransportOptions options;
  options.backlog = 0;
  TcpTransport narrow(&clock_, options);
  const auto acceptor = narrow.Listen("127.0.0.1:0");
  std::vector<std::unique_ptr<Stream>> queued;
  absl::Status status;
  while (queued.size() < 20) {
    auto stream = tcp_.Connect((*acceptor)->address(), clock_.Now() + 100 * kMillisecond);
    status = stream.status();
    if (!stream.ok()) break;
    queued.push_back(*std::move(stream));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
}

}  // namespace
}  // namespace weir::orb
