// Many connections, many calls in flight, many object keys: what one process spends on them.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/faults/faults.h"
#include "tests/support/environment.h"

namespace weir::testing {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A server that answers every request with the long 4711, `delay` after it came, on one thread for
// all connections, and looks at no more of a request than its id (GIOP 1.2).
class QuickUpstream {
 public:
  explicit QuickUpstream(SteadyClock::duration delay) : delay_(delay) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener_, 64) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      perror("an upstream's socket");
      abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~QuickUpstream() {
    stopping_ = true;
    thread_.join();
    close(listener_);
  }

  int port() const { return port_; }
  size_t requests() const { return requests_; }

 private:
  struct Connection {
    int fd;
    std::string in;
    std::deque<std::pair<SteadyClock::time_point, uint32_t>> due;
  };

  void Serve() {
    std::vector<Connection> open;
    while (!stopping_) {
      std::vector<pollfd> fds = {{listener_, POLLIN, 0}};
      for (const Connection& c : open) fds.push_back({c.fd, POLLIN, 0});
      poll(fds.data(), fds.size(), 10);
      for (size_t i = 0; i < open.size(); ++i) {
        if (fds[i + 1].revents != 0) Read(&open[i]);
        Answer(&open[i]);
      }
      if (fds[0].revents != 0) open.push_back({accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)});
      std::erase_if(open, [](const Connection& c) { return c.fd < 0; });
    }
    for (const Connection& c : open) close(c.fd);
  }

  void Read(Connection* c) {
    char buffer[65536];
    const ssize_t n = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n <= 0) {
      close(std::exchange(c->fd, -1));
      return;
    }
    c->in.append(buffer, n);
    size_t at = 0;
    const auto due = SteadyClock::now() + delay_;
    while (c->in.size() - at >= 16) {
      const char* const message = c->in.data() + at;
      const bool little = (message[6] & 1) != 0;
      const uint32_t size = Number(message + 8, little), id = Number(message + 12, little);
      if (c->in.size() - at - 12 < size) break;
      if (c->in[at + 7] == kRequest) c->due.push_back({due, id});
      at += 12 + size;
    }
    c->in.erase(0, at);
  }

  static uint32_t Number(const char* at, bool little) {
    uint32_t value;
    std::memcpy(&value, at, 4);
    return little ? value : __builtin_bswap32(value);
  }

  void Answer(Connection* c) {
    std::string out;
    const auto now = SteadyClock::now();
    for (; !c->due.empty() && c->due.front().first <= now; c->due.pop_front()) {
      // id, NO_EXCEPTION, no contexts, which ends at 24; then the long.
      const uint32_t words[] = {16, c->due.front().second, 0, 0, 4711};
      out.append("GIOP\1\2\1\1", 8).append(reinterpret_cast<const char*>(words), sizeof words);
      ++requests_;
    }
    for (std::string_view left = out; !left.empty() && c->fd >= 0;) {
      const ssize_t n = send(c->fd, left.data(), left.size(), MSG_NOSIGNAL);
      if (n <= 0) break;
      left.remove_prefix(n);
    }
  }

  const SteadyClock::duration delay_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<size_t> requests_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

std::unique_ptr<RawConnection> Connect(int port) {
  auto connection = RawConnection::Tcp(port);
  EXPECT_TRUE(connection.ok()) << connection.status();
  return connection.ok() ? *std::move(connection) : nullptr;
}

int64_t Cores() { return std::max<int64_t>(2, std::thread::hardware_concurrency()); }

// All idle threads of the pool, the main thread, the supervisor, and the one that logs or stores.
int64_t NormalThreads() { return Cores() + 3; }

TEST(Scale, TenThousandIdleConnectionsCostNoThreadAndLittleMemoryAndActiveOnesAreServed) {
  const int kIdle = kSanitized ? 2000 : 10000;
  constexpr int kActive = 200, kCallers = 4, kRounds = 10;
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < static_cast<rlim_t>(kIdle + kActive + 100)) {
    GTEST_SKIP() << "this machine allows " << limit.rlim_cur << " descriptors";
  }
  const Weir echo = StartEcho();
  ASSERT_NE(echo.process, nullptr);
  const pid_t pid = echo.process->pid();
  std::vector<std::unique_ptr<RawConnection>> active;
  for (int i = 0; i < kActive; ++i) {
    active.push_back(Connect(echo.port));
    ASSERT_TRUE(PingWorks(active.back().get(), 1));
  }
  const int64_t threads = ProcStatus(pid, "Threads");
  const int64_t memory = ProcStatus(pid, "VmRSS");

  // Half of them have been used once.
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (int i = 0; i < kIdle; ++i) {
    idle.push_back(Connect(echo.port));
    ASSERT_NE(idle.back(), nullptr) << i;
    if (i % 2 == 1) {
      ASSERT_TRUE(PingWorks(idle.back().get(), 1)) << i;
    }
  }
  std::atomic<int> answered = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < kCallers; ++t) {
    callers.emplace_back([&, t] {
      for (uint32_t round = 2; round < kRounds + 2; ++round) {
        for (int i = t; i < kActive; i += kCallers) {
          if (PingWorks(active[i].get(), round)) ++answered;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(answered, kActive * kRounds);
  EXPECT_EQ(ProcStatus(pid, "Threads"), threads);
  const double each = 1024.0 * static_cast<double>(ProcStatus(pid, "VmRSS") - memory) / kIdle;
  printf("%d idle connections: %.0f bytes each, %d threads\n", kIdle, each,
         static_cast<int>(threads));
  if (!kSanitized) {
    EXPECT_LE(each, 4096);
  }
  // Those that rested serve as well.
  for (int i = 0; i < kIdle; i += 100) ASSERT_TRUE(PingWorks(idle[i].get(), 9)) << i;
}

// A thousand calls over `connections`, to an upstream that answers after one second.
void CallAThousandTimes(int connections) {
  constexpr int kCalls = 1000, kUpstreamConnections = 5;
  QuickUpstream upstream(seconds(1));
  const Weir gateway = StartGateway(upstream.port());
  ASSERT_NE(gateway.process, nullptr);
  const pid_t pid = gateway.process->pid();
  std::vector<std::unique_ptr<RawConnection>> clients;
  for (int i = 0; i < connections; ++i) clients.push_back(Connect(gateway.port));
  // Opens the connections to the upstream: the pool may grow while threads wait for that.
  for (const auto& client : clients) ASSERT_TRUE(client->Send(Encode(Ping(1, 1))));
  for (const auto& client : clients) ASSERT_TRUE(client->Receive().ok());
  const size_t warm = upstream.requests();
  const int64_t threads = ProcStatus(pid, "Threads");
  const int64_t memory = ProcStatus(pid, "VmRSS");
  const auto began = SteadyClock::now();
  const int each = kCalls / connections;
  for (const auto& client : clients) {
    std::string all;
    for (int id = 1; id <= each; ++id) all += Encode(Ping(id, id));
    ASSERT_TRUE(client->Send(all));
  }
  std::this_thread::sleep_for(milliseconds(700));
  const int64_t waiting_threads = ProcStatus(pid, "Threads");
  const int64_t waiting_memory = ProcStatus(pid, "VmRSS");
  EXPECT_EQ(upstream.requests(), warm) << "all of them are in flight";
  for (const auto& client : clients) {
    std::vector<bool> answered(each + 1);
    for (int i = 0; i < each; ++i) {
      auto message = client->Receive();
      ASSERT_TRUE(message.ok()) << message.status();
      auto reply = DecodeReply(*message);
      ASSERT_TRUE(reply.ok()) << reply.status();
      ASSERT_EQ(reply->status, 0u);
      ASSERT_FALSE(answered.at(reply->id)) << "twice";
      answered[reply->id] = true;
      EXPECT_EQ(reply->body.Long(), 4711u);
    }
  }
  const auto took = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - began);
  EXPECT_LT(took, seconds(5));
  EXPECT_EQ(upstream.requests(), warm + kCalls);
  EXPECT_LE(waiting_threads, threads);
  EXPECT_LE(waiting_threads, NormalThreads() + kUpstreamConnections + (kSanitized ? 1 : 0));
  printf("%d calls in flight on %d connections: %d threads, %d KiB, answered in %d ms\n", kCalls,
         connections, static_cast<int>(waiting_threads), static_cast<int>(waiting_memory - memory),
         static_cast<int>(took.count()));
}

TEST(Scale, AThousandCallsInFlightOnOneConnectionHoldNoThreads) { CallAThousandTimes(1); }
TEST(Scale, AThousandCallsInFlightOnTwoHundredConnectionsHoldNoThreads) { CallAThousandTimes(200); }

// Sends `count` calls with a key of its own each, `kBatch` at a time, from number `first` on.
void CallKeys(int port, int first, int count) {
  constexpr int kBatch = 500;
  constexpr size_t kReplySize = 28;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  RawConnection client(fd);
  RawRequest request = Ping(0, 0, "object-00000000");
  request.order = Order::kLittle;
  const std::string one = Encode(request);
  const size_t key_at = one.find("00000000");
  std::string batch;
  for (int i = 0; i < kBatch; ++i) batch += one;
  std::string replies(kReplySize * kBatch, '\0');
  for (int sent = 0; sent < count; sent += kBatch) {
    for (int i = 0; i < kBatch; ++i) {
      char* const message = batch.data() + i * one.size();
      const uint32_t id = i + 1;
      std::memcpy(message + 12, &id, 4);
      char digits[16];
      snprintf(digits, sizeof digits, "%08d", first + sent + i);
      std::memcpy(message + key_at, digits, 8);
    }
    ASSERT_TRUE(client.Send(batch));
    ASSERT_EQ(recv(fd, replies.data(), replies.size(), MSG_WAITALL),
              static_cast<ssize_t>(replies.size()));
    for (int i = 0; i < kBatch; ++i) {
      const std::string_view reply(replies.data() + i * kReplySize, kReplySize);
      ASSERT_EQ(reply.substr(0, 12), std::string_view("GIOP\1\2\1\1\x10\0\0\0", 12));
      ASSERT_EQ(reply.substr(16, 4), std::string_view("\0\0\0\0", 4)) << "an exception";
    }
  }
}

TEST(Scale, AMillionObjectKeysThroughTheGatewayAndItsFiltersCostBoundedMemory) {
  const int kKeys = kSanitized ? 100'000 : 1'000'000;
  constexpr int kClients = 2;
  const TempDir folder;
  const std::string control = "unix:" + folder.File("c.sock");
  QuickUpstream upstream{SteadyClock::duration::zero()};
  const Weir gateway = StartGateway(upstream.port(), {"--control", control});
  ASSERT_NE(gateway.process, nullptr);
  // A plan for each key is looked up and found, for every second one a plan with filters.
  const std::vector<Args> beta_messages = {
      {"plug", "all", "--filter", "count", "--on", "all"},
      {"map", "all", "*", "--up", "count", "--enable"},
      {"plug", "some", "--filter", "count", "--on", "key:object-0000*"},
      {"map", "some", "*", "--up", "count", "--enable"},
  };
  for (Args arguments : beta_messages) {
    arguments.insert(arguments.begin(), RunfilePath("tools/weir/weir"));
    arguments.insert(arguments.end(), {"--control", control});
    auto process = Process::Run({.argv = arguments}, seconds(30));
    ASSERT_TRUE(process.ok()) << process.status();
    ASSERT_EQ((*process)->Wait(seconds(1)).value_or(-1), 0) << (*process)->err();
  }
  const auto call = [&](int from, int to) {
    std::vector<std::thread> threads;
    for (int c = 0; c < kClients; ++c) {
      const int share = (to - from) / kClients;
      threads.emplace_back([&, c, share] { CallKeys(gateway.port, from + c * share, share); });
    }
    for (std::thread& thread : threads) thread.join();
  };
  const pid_t pid = gateway.process->pid();
  call(0, 20'000);  // fills whatever there is to fill
  const int64_t before = ProcStatus(pid, "VmRSS");
  call(20'000, kKeys);
  const int64_t growth = ProcStatus(pid, "VmRSS") - before;
  printf("%d keys: memory grew by %d KiB\n", kKeys, static_cast<int>(growth));
  EXPECT_EQ(upstream.requests(), static_cast<size_t>(kKeys)) << gateway.process->err();
  EXPECT_LE(growth, kSanitized ? 32 * 1024 : 4 * 1024) << "KiB";
}

}  // namespace
}  // namespace weir::testing
