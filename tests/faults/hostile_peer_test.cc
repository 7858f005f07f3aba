// Clients that misbehave in time rather than in octets: too slow, gone too early, deaf, too many.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/faults.h"

namespace weir::testing {
namespace {

using std::chrono::milliseconds;
using std::string_literals::operator""s;

RawRequest Bounce(uint32_t id, size_t size, std::string key = "echo") {
  RawRequest request = Ping(id, 0, std::move(key));
  request.operation = "bounce";
  request.arguments = [size](RawWriter* out) { out->Octets(std::string(size, 'b')); };
  return request;
}

std::unique_ptr<RawConnection> Connect(int port) {
  auto connection = RawConnection::Tcp(port);
  EXPECT_TRUE(connection.ok()) << connection.status();
  return connection.ok() ? *std::move(connection) : nullptr;
}

// The peer closes within a generous time.
bool Ends(RawConnection* connection, int timeout_ms = 15000) {
  return absl::IsOutOfRange(connection->Receive(timeout_ms).status());
}

size_t OpenDescriptors(pid_t pid) {
  const auto folder = std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd");
  return std::distance(begin(folder), end(folder));
}

// Waits until `condition` holds, for at most ten seconds.
template <typename Condition>
bool Eventually(const Condition& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

// Echo, except that operation `hold` is answered only when Release is called.
class HoldingUpstream {
 public:
  HoldingUpstream()
      : upstream_([this, echo = RecordingUpstream::Echo()](const RawMessage& message,
                                                           const RecordingUpstream::Peer& peer) {
          auto call = DecodeRequest(message);
          if (!call.ok() || call->operation != "hold") return echo(message, peer);
          MutexLock lock(&mu_);
          const std::string reply = EncodeReply(message.minor, Order::kBig, call->id, 0,
                                                [](RawWriter* out) { out->Long(1); });
          held_.push_back([peer, reply] { peer.Send(reply); });
          return true;
        }) {}

  RecordingUpstream& operator*() { return upstream_; }
  RecordingUpstream* operator->() { return &upstream_; }
  size_t held() const {
    MutexLock lock(&mu_);
    return held_.size();
  }
  void Release() {
    MutexLock lock(&mu_);
    for (const auto& send : held_) send();
    held_.clear();
  }

 private:
  mutable Mutex mu_;
  std::vector<std::function<void()>> held_ ABSL_GUARDED_BY(mu_);
  RecordingUpstream upstream_;
};

RawRequest Hold(uint32_t id) {
  RawRequest request = Ping(id, 0);
  request.operation = "hold";
  return request;
}

TEST(SlowPeers, AFirstFragmentAndNeverASecondIsCutOffAfterTheMessageTimeout) {
  const Weir echo = StartEcho({"--message-timeout", "1s"});
  const auto other = Connect(echo.port);
  std::vector<std::unique_ptr<RawConnection>> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(Connect(echo.port));
    // By turns: a first fragment, half a header, a header alone.
    const std::string whole = EncodeInPieces(Bounce(1, 1000), 64)[0];
    slow.back()->Send(std::string_view(whole).substr(0, i % 3 == 0   ? whole.size()
                                                        : i % 3 == 1 ? 6
                                                                     : 12));
  }
  for (uint32_t i = 1; i < 5; ++i) EXPECT_TRUE(PingWorks(other.get(), i));
  for (auto& connection : slow) EXPECT_TRUE(Ends(connection.get()));
  EXPECT_TRUE(echo.process->WaitForLine("message timeout", milliseconds(1000)).ok());
  EXPECT_TRUE(PingWorks(other.get(), 9));
}

TEST(SlowPeers, OneOctetNowAndThenDoesNotKeepAMessageOpenForEver) {
  const Weir echo = StartEcho({"--message-timeout", "1s"});
  const auto slow = Connect(echo.port);
  const std::string whole = Encode(Bounce(1, 1000));
  bool ended = false;
  for (size_t i = 0; i < whole.size() && !ended; ++i) {
    slow->Send(whole.substr(i, 1));
    ended = Ends(slow.get(), 100);
  }
  EXPECT_TRUE(ended);
  EXPECT_TRUE(PingWorksAt(echo.port));
}

TEST(SlowPeers, OneThatIsSlowButInTimeIsServed) {
  const Weir echo = StartEcho({"--message-timeout", "20s"});
  const auto slow = Connect(echo.port);
  const std::string whole = Encode(Ping(1, 41));
  for (const char octet : whole) {
    ASSERT_TRUE(slow->Send(std::string(1, octet)));
    std::this_thread::sleep_for(milliseconds(5));
  }
  auto message = slow->Receive();
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(DecodeReply(*message)->body.Long(), 42u);
}

TEST(PeersThatLeave, InTheMiddleOfMessagesAndRepliesLeaveNothingBehind) {
  HoldingUpstream upstream;
  for (const bool gateway : {false, true}) {
    const Weir weir = gateway ? StartGateway(upstream->port()) : StartEcho();
    const auto other = Connect(weir.port);
    const std::string bounce = Encode(Bounce(1, 500'000));
    // What it keeps open for its own purposes, connections to the upstream included.
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(PingWorksAt(weir.port));
    const size_t before = OpenDescriptors(weir.process->pid());
    for (int i = 0; i < 60; ++i) {
      const auto c = Connect(weir.port);
      switch (i % 4) {
        case 0:  // in the middle of a request
          c->Send(std::string_view(bounce).substr(0, bounce.size() / 2));
          break;
        case 1:  // in the middle of a reply
          c->Send(bounce + Encode(Bounce(2, 500'000)) + Encode(Bounce(3, 500'000)));
          if (i % 8 == 1) std::this_thread::sleep_for(milliseconds(10));
          break;
        case 2:  // before a reply
          c->Send(Encode(Ping(1, 1)) + Encode(Ping(2, 1)));
          break;
        case 3:  // in good order, with a call in progress
          c->Send(Encode(gateway ? Hold(1) : Ping(1, 1)) +
                  EncodeMessage(2, Order::kBig, kCloseConnection, "") + Encode(Ping(2, 2, "late")));
          EXPECT_TRUE(Ends(c.get()) || !gateway);
          break;
      }
      if (i % 10 == 0) {
        ASSERT_TRUE(PingWorks(other.get(), i + 1));
      }
    }
    upstream.Release();
    EXPECT_TRUE(PingWorks(other.get(), 1000));
    EXPECT_TRUE(Eventually([&] { return OpenDescriptors(weir.process->pid()) <= before + 5; }))
        << OpenDescriptors(weir.process->pid()) << " descriptors, before " << before;
  }
  EXPECT_EQ(upstream->count("late ping"), 0u) << "what follows CloseConnection is not executed";
  EXPECT_EQ(upstream->violations(), std::vector<std::string>());
}

TEST(DeafPeers, OneThatSendsRequestsAndReadsNoReplyCostsBoundedMemoryAndThenItsConnection) {
  HoldingUpstream upstream;
  for (const bool gateway : {false, true}) {
    const Args options = {"--write-timeout", "2s", "--max-message-size", "1048576"};
    const Weir weir =
        gateway ? StartGateway(upstream->port(), options) : StartWeir("echo", options);
    const auto other = Connect(weir.port);
    ASSERT_TRUE(PingWorks(other.get(), 1));
    const int64_t before = ProcStatus(weir.process->pid(), "VmRSS");
    // Blocks when the kernel's buffers are full and the server has stopped reading; fails when it
    // has closed the connection.
    const auto deaf = Connect(weir.port);
    std::atomic<size_t> sent = 0;
    std::thread sender([&] {
      while (sent < 10'000 && deaf->Send(Encode(Bounce(sent + 1, 200'000)))) ++sent;
    });
    int64_t most = 0;
    uint32_t id = 10;
    const bool closed = Eventually([&] {
      most = std::max(most, ProcStatus(weir.process->pid(), "VmRSS"));
      EXPECT_TRUE(PingWorks(other.get(), ++id));
      return weir.process->err().find("write timeout") != std::string::npos;
    });
    EXPECT_TRUE(closed) << weir.process->err();
    sender.join();
    EXPECT_LT(sent, 10'000u);
    EXPECT_LE(most - before, kSanitized ? 128 * 1024 : 24 * 1024) << "KiB";
    EXPECT_TRUE(PingWorks(other.get(), 9));
  }
}

TEST(DuplicateIds, ASecondCallWithTheIdOfOneInProgressEndsTheConnectionAndIsNotExecuted) {
  HoldingUpstream upstream;
  const Weir gateway = StartGateway(upstream->port());
  const auto c = Connect(gateway.port);
  ASSERT_TRUE(c->Send(Encode(Hold(5))));
  ASSERT_TRUE(Eventually([&] { return upstream.held() == 1; }));
  ASSERT_TRUE(c->Send(Encode(Ping(5, 5, "duplicate"))));
  EXPECT_TRUE(Ends(c.get()));
  upstream.Release();
  EXPECT_TRUE(PingWorksAt(gateway.port));
  EXPECT_EQ(upstream->count("duplicate ping"), 0u);
}

TEST(DuplicateIds, AnIdMayBeUsedAgainAsSoonAsItsReplyIsThere) {
  RecordingUpstream upstream(RecordingUpstream::Echo());
  const Weir gateway = StartGateway(upstream.port());
  const auto c = Connect(gateway.port);
  std::string batch;
  for (uint32_t id = 1; id <= 50; ++id) batch += Encode(Ping(id, id));
  for (int round = 0; round < 400; ++round) {
    ASSERT_TRUE(c->Send(batch));
    for (int i = 0; i < 50; ++i) {
      auto message = c->Receive();
      ASSERT_TRUE(message.ok()) << round << ": " << message.status() << gateway.process->err();
    }
  }
}

TEST(DuplicateIds, AnIdMayBeUsedAgainOnceItsReplyHasLeft) {
  const Weir echo = StartEcho();
  const auto c = Connect(echo.port);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(PingWorks(c.get(), 5));
}

TEST(CancelledCalls, AReplyThatComesAfterCancelRequestIsNotSentAndTheConnectionGoesOn) {
  HoldingUpstream upstream;
  const Weir gateway = StartGateway(upstream->port());
  const auto c = Connect(gateway.port);
  ASSERT_TRUE(c->Send(Encode(Hold(5))));
  ASSERT_TRUE(Eventually([&] { return upstream.held() == 1; }));
  RawWriter id(Order::kBig);
  ASSERT_TRUE(c->Send(EncodeMessage(2, Order::kBig, kCancelRequest, id.Long(5).bytes())));
  EXPECT_TRUE(PingWorks(c.get(), 6));
  upstream.Release();
  for (uint32_t i = 7; i < 20; ++i) EXPECT_TRUE(PingWorks(c.get(), i)) << "and not the reply to 5";
}

TEST(Limits, CallsInProgressBeyondTheLimitGetNoResourcesAndTheOthersTheirReplies) {
  HoldingUpstream upstream;
  const Weir gateway = StartGateway(upstream->port());
  const auto c = Connect(gateway.port);
  constexpr uint32_t kLimit = 16384, kMore = 100;
  std::thread sender([&] {
    std::string all;
    for (uint32_t id = 1; id <= kLimit + kMore; ++id) all += Encode(Hold(id));
    EXPECT_TRUE(c->Send(all));
  });
  for (uint32_t i = 0; i < kMore; ++i) {
    auto message = c->Receive();
    ASSERT_TRUE(message.ok()) << message.status();
    const RawException e = ExceptionOf(*DecodeReply(*message));
    EXPECT_EQ(e.id, "NO_RESOURCES");
    EXPECT_EQ(e.completed, kNo);
  }
  sender.join();
  EXPECT_TRUE(Eventually([&] { return upstream.held() == kLimit; }));
  std::thread release([&] { upstream.Release(); });
  for (uint32_t i = 0; i < kLimit; ++i) {
    auto message = c->Receive();
    ASSERT_TRUE(message.ok()) << i << ": " << message.status();
    ASSERT_EQ(DecodeReply(*message)->status, 0u) << i;
  }
  release.join();
  EXPECT_TRUE(PingWorks(c.get(), kLimit + kMore + 1));
}

TEST(Limits, BytesOfCallsInProgressBeyondTheLimitGetNoResourcesAndMemoryStaysBounded) {
  HoldingUpstream upstream;
  const Weir gateway = StartGateway(upstream->port());
  const auto c = Connect(gateway.port);
  ASSERT_TRUE(PingWorks(c.get(), 1));
  const int64_t before = ProcStatus(gateway.process->pid(), "VmRSS");
  constexpr uint32_t kCalls = 200;
  std::thread sender([&] {
    for (uint32_t id = 1; id <= kCalls; ++id) {
      RawRequest request = Hold(id);
      request.arguments = [](RawWriter* out) { out->Octets(std::string(1'000'000, 'b')); };
      ASSERT_TRUE(c->Send(Encode(request)));
    }
  });
  // 64 MiB are held, and one more message.
  for (uint32_t i = 0; i < kCalls - 68; ++i) {
    auto message = c->Receive();
    ASSERT_TRUE(message.ok()) << message.status();
    const RawException e = ExceptionOf(*DecodeReply(*message));
    EXPECT_EQ(e.id, "NO_RESOURCES");
    EXPECT_EQ(e.completed, kNo);
  }
  sender.join();
  EXPECT_LE(ProcStatus(gateway.process->pid(), "VmRSS") - before,
            kSanitized ? 400 * 1024 : 160 * 1024)
      << "KiB";
  EXPECT_TRUE(Eventually([&] { return upstream.held() == 68; })) << upstream.held();
  upstream.Release();
  for (uint32_t i = 0; i < 68; ++i) {
    auto message = c->Receive();
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_EQ(DecodeReply(*message)->status, 0u);
  }
  EXPECT_TRUE(PingWorks(c.get(), 1000));
}

TEST(Limits, ConnectionsBeyondTheLimitAreClosedAndTheOthersServed) {
  const Weir echo = StartEcho({"--max-connections", "5"});
  std::vector<std::unique_ptr<RawConnection>> open;
  for (uint32_t i = 1; i <= 5; ++i) {
    open.push_back(Connect(echo.port));
    EXPECT_TRUE(PingWorks(open.back().get(), i));
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Ends(Connect(echo.port).get()));
  for (auto& connection : open) EXPECT_TRUE(PingWorks(connection.get(), 7));
  open.pop_back();
  EXPECT_TRUE(Eventually([&] {
    const auto c = Connect(echo.port);
    return c->Send(Encode(Ping(1, 1))) && c->Receive().ok();
  }));
}

TEST(OutOfDescriptors, TheServerRestsServesWhomItHasAndRecovers) {
  if (kSanitized) GTEST_SKIP() << "UBSan opens a pipe to check a vptr, and aborts if it cannot";
  const Weir echo = StartWeir("echo", {}, /*descriptors=*/40);
  ASSERT_NE(echo.process, nullptr);
  std::vector<std::unique_ptr<RawConnection>> open;
  for (int i = 0; i < 60; ++i) open.push_back(Connect(echo.port));  // the backlog takes the rest
  EXPECT_TRUE(PingWorks(open[0].get(), 1));
  EXPECT_TRUE(echo.process->WaitForLine("event=accept_failed", milliseconds(5000)).ok());
  const auto waiting = std::move(open.back());
  open.pop_back();
  ASSERT_TRUE(waiting->Send(Encode(Ping(3, 3))));
  EXPECT_FALSE(waiting->Receive(1500).ok());
  for (uint32_t i = 2; i < 10; ++i) EXPECT_TRUE(PingWorks(open[i].get(), i));
  const std::string log = echo.process->err();
  size_t lines = 0;
  for (size_t at = 0; (at = log.find("accept_failed", at)) != std::string::npos; ++at) ++lines;
  EXPECT_LE(lines, 20u) << "it must not spin";
  open.clear();
  auto message = waiting->Receive();
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(DecodeReply(*message)->status, 0u);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(PingWorksAt(echo.port));
}

TEST(OutOfDescriptors, AGatewayThatCannotConnectAnswersTransientAndRecovers) {
  if (kSanitized) GTEST_SKIP() << "UBSan opens a pipe to check a vptr, and aborts if it cannot";
  HoldingUpstream upstream;
  const Weir gateway = StartWeir(
      "gateway", {"--upstream", "corbaloc::1.2@127.0.0.1:" + std::to_string(upstream->port())},
      /*descriptors=*/40);
  ASSERT_NE(gateway.process, nullptr);
  std::vector<std::unique_ptr<RawConnection>> open;
  for (int i = 0; i < 60; ++i) open.push_back(Connect(gateway.port));
  ASSERT_TRUE(gateway.process->WaitForLine("event=accept_failed", milliseconds(5000)).ok());
  auto reply = open[0]->Invoke(Ping(1, 1));
  ASSERT_TRUE(reply.ok()) << reply.status();
  const RawException e = ExceptionOf(*reply);
  EXPECT_EQ(e.id, "TRANSIENT");
  EXPECT_EQ(e.completed, kNo);
  open.clear();
  EXPECT_TRUE(Eventually([&] {
    const auto c = Connect(gateway.port);
    auto again = c->Invoke(Ping(2, 2));
    return again.ok() && again->status == 0;
  }));
}

}  // namespace
}  // namespace weir::testing
