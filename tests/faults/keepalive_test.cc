// A filter whose host is gone without a word is noticed while nothing is asked of it.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <string>

#include "tests/faults/filter_server.h"
#include "tests/faults/numbered_calls.h"
#include "tests/faults/remote_filter_checks.h"
#include "tests/support/environment.h"
#include "tests/support/process.h"

namespace weir::testing {
namespace {

using filters::Phase;

// Passes bytes on to `port` and back, until it is told to swallow them.
class SilentRelay : public RawListener {
 public:
  SilentRelay(int port, std::atomic<bool>* silent)
      : RawListener([port, silent](int fd, int) { Relay(fd, ConnectTo(port), silent); }) {}

 private:
  static void Relay(int fd, int to, const std::atomic<bool>* silent) {
    pollfd fds[] = {{fd, POLLIN, 0}, {to, POLLIN, 0}};
    char buffer[16384];
    while (to >= 0 && poll(fds, 2, -1) > 0) {
      const bool back = fds[1].revents != 0;
      const ssize_t n = recv(back ? to : fd, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      if (!*silent && send(back ? fd : to, buffer, n, MSG_NOSIGNAL) < 0) break;
    }
    Close(to);
  }
};

TEST(Keepalive, AHostThatHasGoneWithoutAWordIsNoticed) {
  FilterServer server("127.0.0.1:0");
  std::atomic<bool> silent{false};
  SilentRelay relay(std::stoi(server.address().substr(server.address().rfind(':') + 1)), &silent);
  RemoteNode node(/*gateway=*/false);
  node.Plug("127.0.0.1:" + std::to_string(relay.port()), Phase::kUp,
            {{"keepalive", "1s"}, {"keepalive-timeout", "1s"}});
  ASSERT_TRUE(node.WaitForCounter("connected", 1));
  silent = true;
  ASSERT_TRUE(node.WaitFor([&] { return node.Counter("connected") == 0; }));
  EXPECT_EQ(node.Counter("asked"), 0u);
  silent = false;
  EXPECT_TRUE(node.WaitFor([&] { return node.Counter("connected") == 1; }));
}

// gRPC servers end connections that ask too often, unless they are told not to.
TEST(Keepalive, AFilterHostPermitsItAndOthersMayNot) {
  const TempDir dir;
  auto host = Process::Start({.argv = {RunfilePath("tools/weir/weir"), "filter-host", "--filter",
                                       "deny", "--grpc", "unix:" + dir.File("f")}});
  ASSERT_TRUE(host.ok()) << host.status();
  ASSERT_TRUE((*host)->WaitForLine("^ready", std::chrono::seconds(30)).ok());
  FilterServer strict("127.0.0.1:0");
  RemoteNode permitted(/*gateway=*/false), refused(/*gateway=*/false);
  permitted.Plug("unix:" + dir.File("f"), Phase::kUp, {{"keepalive", "1s"}}, "deny");
  ASSERT_TRUE(permitted.WaitForCounter("connected", 1));
  refused.Plug(strict.address(), Phase::kUp, {{"keepalive", "1s"}});
  // By then the other one has been asked as often.
  ASSERT_TRUE(refused.WaitForCounter("connects", 2));
  EXPECT_EQ(permitted.Counter("connects"), 1u);
  EXPECT_EQ(permitted.Counter("connected"), 1u);
}

}  // namespace
}  // namespace weir::testing
