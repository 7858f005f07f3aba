#include "tests/faults/remote_filter_checks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "tests/faults/faults.h"

namespace weir::testing {
namespace {

constexpr uint32_t kFilterFailed = 0x57570000 | 17;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void CutAfter(int fd, int target_port, size_t octets, std::atomic<int>* cuts) {
  const int to = RawListener::ConnectTo(target_port);
  if (to >= 0) {
    size_t left = octets;
    char buffer[16384];
    pollfd fds[] = {{fd, POLLIN, 0}, {to, POLLIN, 0}};
    while (left > 0 && poll(fds, 2, -1) > 0) {
      const bool back = fds[1].revents != 0;
      const ssize_t n = recv(back ? to : fd, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      const size_t pass = back ? std::min<size_t>(left, n) : n;
      if (back) left -= pass;
      if (send(back ? fd : to, buffer, pass, MSG_NOSIGNAL) < 0) break;
    }
    if (left == 0) ++*cuts;
  }
  shutdown(fd, SHUT_RDWR);
  RawListener::Close(to);
}

}  // namespace

std::string PolicyName(const ::testing::TestParamInfo<PolicyCase>& info) {
  const std::string policy = std::get<1>(info.param);
  return std::string(std::get<0>(info.param) == filters::Phase::kUp ? "Up" : "Down") +
         (policy == "open"     ? "Open"
          : policy == "closed" ? "Closed"
                               : "Answer");
}

void RemoteFilterTest::Plug(const std::string& address, filters::FilterParameters more) {
  more.emplace("on-failure", policy());
  more.emplace("timeout", "10s");
  more.emplace("breaker", "0");
  node_.Plug(address, phase(), more);
}

void RemoteFilterTest::StartCalls() {
  const auto check = [this](uint64_t number, const NumberedReply& reply) { Check(number, reply); };
  calls_ = std::make_unique<NumberedCalls>(&node_, 4, 4, check);
}

void RemoteFilterTest::StopCalls() {
  calls_->Stop();
  EXPECT_EQ(calls_->sent(), calls_->answered()) << "every call was answered";
  EXPECT_EQ(node_.executions().total(calls_->sent()), calls_->sent() - unexecuted_);
  EXPECT_EQ(node_.Counter("waiting"), 0u);
  // No call waits in the registry either.
  node_.Commit({filters::MapChange{"r", "unused", up() ? "check" : "look", phase(), false}});
  const absl::Status drained = node_.registry().Drain(node_.clock().Now() + 20 * kSecond);
  EXPECT_TRUE(drained.ok()) << drained;
  printf("%d calls: %d judged, %d surely by policy, %d passed or open\n",
         static_cast<int>(calls_->sent()), static_cast<int>(filters_), static_cast<int>(policy_),
         static_cast<int>(servants_));
}

void RemoteFilterTest::WaitForSome(const std::atomic<uint64_t>* count, uint64_t least) {
  ASSERT_TRUE(node_.WaitFor([&] { return *count >= least || calls_->failed(); }));
  ASSERT_FALSE(calls_->failed());
}

void RemoteFilterTest::Check(uint64_t number, const NumberedReply& reply) {
  const bool judged = number % 4 == 0;
  int executed = 1;
  switch (reply.kind) {
    case NumberedReply::kServants:
      ASSERT_EQ(reply.number, number) << "another call's answer";
      ++servants_;
      // The filter would not have passed it.
      if (judged) {
        ASSERT_EQ(policy(), "open");
        ++policy_;
      }
      break;
    case NumberedReply::kFilters:
      ASSERT_EQ(reply.number, number) << "another call's answer";
      ASSERT_TRUE(judged && up());
      ++filters_;
      executed = 0;
      break;
    case NumberedReply::kSystem:
      if (reply.minor == kFiltersMinor) {
        ASSERT_EQ(reply.name, "NO_RESOURCES");
        ASSERT_TRUE(judged && !up());
        ++filters_;
        break;
      }
      ASSERT_EQ(reply.name, policy() == "closed" ? "NO_PERMISSION" : "TRANSIENT");
      ASSERT_NE(policy(), "open");
      ASSERT_EQ(reply.minor & 0xfff, kFilterFailed & 0xfff);
      ASSERT_EQ(reply.completed, up() ? kNo : kYes);
      ++policy_;
      if (up()) executed = 0;
      break;
    default:
      FAIL() << "a strange reply, of kind " << reply.kind;
  }
  ASSERT_EQ(node_.executions().of(number), executed);
  if (executed == 0) ++unexecuted_;
}

RawListener::RawListener(Serve serve) : serve_(std::move(serve)) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(fd_, 64), 0);
  EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

int RawListener::ConnectTo(int port) {
  const int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  if (connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return to;
  close(to);
  return -1;
}

void RawListener::Close(int fd) {
  if (fd >= 0) close(fd);
}

RawListener::~RawListener() {
  stopping_ = true;
  shutdown(fd_, SHUT_RDWR);
  acceptor_.join();
  {
    MutexLock lock(&mu_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& t : threads_) t.join();
  close(fd_);
}

void RawListener::Accept() {
  while (!stopping_) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int number = connections_++;
    MutexLock lock(&mu_);
    open_.push_back(fd);
    threads_.emplace_back([this, fd, number] {
      serve_(fd, number);
      shutdown(fd, SHUT_RDWR);
      MutexLock lock_again(&mu_);
      std::erase(open_, fd);
      close(fd);
    });
  }
}

NonsenseListener::NonsenseListener()
    : RawListener([](int fd, int number) {
        const std::string nonsense = number % 2 == 0
                                         ? "HTTP/1.1 418 I'm a teapot\r\n\r\n"
                                         : std::string("\0\0\x06\x04\0\0\0\0\0 nonsense \xff", 21);
        send(fd, nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
        char buffer[256];
        if (number % 3 != 0) recv(fd, buffer, sizeof buffer, 0);
      }) {}

CuttingRelay::CuttingRelay(const std::string& address)
    : CuttingRelay(address, std::make_shared<std::atomic<int>>(0)) {}

CuttingRelay::CuttingRelay(const std::string& address, std::shared_ptr<std::atomic<int>> cuts)
    : RawListener([cuts, port = std::stoi(address.substr(address.rfind(':') + 1))](
                      int fd, int number) { CutAfter(fd, port, 500 + 333 * number, cuts.get()); }),
      cuts_(cuts) {}

}  // namespace weir::testing
