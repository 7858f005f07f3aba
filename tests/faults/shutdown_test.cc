// SIGTERM: what runs is finished, clients are told, and what could not be finished is said.

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/faults.h"

namespace weir::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::unique_ptr<RawConnection> Connect(int port) {
  auto connection = RawConnection::Tcp(port);
  EXPECT_TRUE(connection.ok()) << connection.status();
  return connection.ok() ? *std::move(connection) : nullptr;
}

void ExpectCloseConnection(RawConnection* connection) {
  auto message = connection->Receive();
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(message->type, kCloseConnection);
  EXPECT_TRUE(absl::IsOutOfRange(connection->Receive().status()));
}

// The exit code of a process that ends by itself; -1 if it does not.
int ExitCode(Process* process) { return process->Wait(seconds(20)).value_or(-1); }

// Echo that answers the operation `hold` only once `release` is set.
RecordingUpstream::Handler EchoOrHold(const std::atomic<bool>* release) {
  return [release, echo = RecordingUpstream::Echo()](const RawMessage& message,
                                                     const RecordingUpstream::Peer& peer) {
    auto call = DecodeRequest(message);
    if (!call.ok() || call->operation != "hold") return echo(message, peer);
    while (!*release) std::this_thread::sleep_for(milliseconds(5));
    return peer.Send(EncodeReply(message.minor, Order::kBig, call->id, 0,
                                 [](RawWriter* out) { out->Long(4711); }));
  };
}

RawRequest Hold(uint32_t id) {
  RawRequest request = Ping(id, 0);
  request.operation = "hold";
  return request;
}

TEST(Shutdown, IdleConnectionsAreToldAndTheProcessEndsWell) {
  const Weir echo = StartEcho();
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (uint32_t i = 0; i < 20; ++i) {
    idle.push_back(Connect(echo.port));
    if (i % 2 == 0) {
      EXPECT_TRUE(PingWorks(idle.back().get(), i + 1));
    }
  }
  ASSERT_TRUE(PingWorksAt(echo.port)) << "all of them have been accepted by now";
  echo.process->Signal(SIGTERM);
  for (auto& connection : idle) ExpectCloseConnection(connection.get());
  idle.clear();
  EXPECT_EQ(ExitCode(echo.process.get()), 0) << echo.process->err();
}

TEST(Shutdown, ACallInProgressIsFinishedBeforeItsClientIsTold) {
  std::atomic<bool> release = false;
  RecordingUpstream upstream(EchoOrHold(&release));
  const Weir gateway = StartGateway(upstream.port());
  const auto busy = Connect(gateway.port);
  const auto idle = Connect(gateway.port);
  ASSERT_TRUE(PingWorks(idle.get(), 1));
  ASSERT_TRUE(busy->Send(Encode(Hold(7))));
  for (int i = 0; i < 1000 && upstream.count("echo hold") == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  gateway.process->Signal(SIGTERM);
  ExpectCloseConnection(idle.get());
  EXPECT_FALSE(RawConnection::Tcp(gateway.port).ok()) << "nothing is accepted any more";
  EXPECT_TRUE(absl::IsDeadlineExceeded(busy->Receive(300).status())) << "its call runs";
  release = true;
  auto message = busy->Receive();
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(DecodeReply(*message)->body.Long(), 4711u);
  ExpectCloseConnection(busy.get());
  EXPECT_EQ(ExitCode(gateway.process.get()), 0) << gateway.process->err();
  EXPECT_EQ(upstream.violations(), std::vector<std::string>());
}

TEST(Shutdown, CallsBeyondTheShutdownTimeoutAreCutOffAndCounted) {
  std::atomic<bool> release = false;
  RecordingUpstream upstream(EchoOrHold(&release));
  const Weir gateway = StartGateway(upstream.port(), {"--shutdown-timeout", "500ms"});
  const auto busy = Connect(gateway.port);
  ASSERT_TRUE(busy->Send(Encode(Hold(7)) + Encode(Hold(8)) + Encode(Hold(9))));
  for (int i = 0; i < 1000 && upstream.count("echo hold") == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  gateway.process->Signal(SIGTERM);
  const int code = ExitCode(gateway.process.get());
  EXPECT_GT(code, 0);
  EXPECT_LT(code, 128) << "not by a signal";
  EXPECT_NE(gateway.process->err().find("3 calls"), std::string::npos) << gateway.process->err();
  const auto end = busy->Receive();
  EXPECT_TRUE(absl::IsOutOfRange(end.status())) << "no CloseConnection: the calls were sent on";
  release = true;
}

TEST(Shutdown, RepliesThatWaitForTheirReaderAreDelivered) {
  const Weir echo = StartEcho();
  const auto slow = Connect(echo.port);
  constexpr size_t kSize = 3'000'000;
  constexpr uint32_t kCalls = 2;
  std::string all;
  for (uint32_t id = 1; id <= kCalls; ++id) {
    RawRequest request = Ping(id, 0);
    request.operation = "bounce";
    request.arguments = [](RawWriter* out) { out->Octets(std::string(kSize, 'b')); };
    all += Encode(request);
  }
  ASSERT_TRUE(slow->Send(all));
  ASSERT_TRUE(PingWorksAt(echo.port));
  std::this_thread::sleep_for(milliseconds(300));  // both have been answered, as far as may be
  echo.process->Signal(SIGTERM);
  std::this_thread::sleep_for(milliseconds(300));
  for (uint32_t id = 1; id <= kCalls; ++id) {
    auto message = slow->Receive();
    ASSERT_TRUE(message.ok()) << message.status();
    // The second call may not have been read when the end came: then it was not executed.
    if (id > 1 && message->type == kCloseConnection) {
      EXPECT_EQ(ExitCode(echo.process.get()), 0);
      return;
    }
    auto reply = DecodeReply(*message);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->id, id);
    EXPECT_EQ(reply->body.Octets().size(), kSize);
  }
  ExpectCloseConnection(slow.get());
  EXPECT_EQ(ExitCode(echo.process.get()), 0) << echo.process->err();
}

TEST(Shutdown, UnderLoadEveryCallIsAnsweredOrNotExecuted) {
  RecordingUpstream upstream(RecordingUpstream::Echo());
  const Weir gateway = StartGateway(upstream.port());
  std::atomic<uint64_t> answered = 0;
  std::atomic<int> told = 0;
  std::vector<std::thread> clients;
  constexpr int kClients = 8;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&] {
      const auto connection = Connect(gateway.port);
      for (uint32_t id = 1;; ++id) {
        connection->Send(Encode(Ping(id, id)));
        auto message = connection->Receive();
        ASSERT_TRUE(message.ok()) << message.status();
        if (message->type == kCloseConnection) {
          ++told;
          return;
        }
        auto reply = DecodeReply(*message);
        ASSERT_TRUE(reply.ok()) << reply.status();
        ASSERT_EQ(reply->status, 0u);
        ASSERT_EQ(reply->body.Long(), id + 1);
        ++answered;
      }
    });
  }
  for (int i = 0; i < 2000 && answered < 2000; ++i) std::this_thread::sleep_for(milliseconds(5));
  gateway.process->Signal(SIGTERM);
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(told, kClients);
  EXPECT_EQ(ExitCode(gateway.process.get()), 0) << gateway.process->err();
  EXPECT_GE(answered, 2000u);
  EXPECT_EQ(upstream.requests().size(), answered);
  EXPECT_EQ(upstream.violations(), std::vector<std::string>());
}

}  // namespace
}  // namespace weir::testing
