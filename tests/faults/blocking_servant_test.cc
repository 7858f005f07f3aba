// A servant that blocks stalls nobody else; the pool grows for it, to its limit, and shrinks again.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/logger.h"
#include "base/mutex.h"
#include "orb/core/orb.h"
#include "orb/giop/giop.h"
#include "orb/transport/tcp.h"
#include "tests/interop/raw_giop.h"

namespace weir::testing {
namespace {

// Operation `block` waits until Open is called; all others are answered at once.
class Gatekeeper : public orb::Servant {
 public:
  std::string_view repository_id() const override { return "IDL:weir/Gatekeeper:1.0"; }
  void Dispatch(orb::CallRef call) override {
    if (call->request().operation == "block") {
      MutexLock lock(&mu_);
      ++inside_;
      while (!open_) changed_.Wait(&mu_);
      --inside_;
    }
    call->NewBody().WriteULong(4711);
    call->SetResult();
    call.Send();
  }
  void Open() {
    MutexLock lock(&mu_);
    open_ = true;
    changed_.SignalAll();
  }
  int inside() const {
    MutexLock lock(&mu_);
    return inside_;
  }

 private:
  mutable Mutex mu_;
  CondVar changed_;
  int inside_ ABSL_GUARDED_BY(mu_) = 0;
  bool open_ ABSL_GUARDED_BY(mu_) = false;
};

class BlockingServant : public ::testing::Test {
 protected:
  static constexpr int kLeast = 2, kMost = 8;

  BlockingServant() {
    orb::OrbOptions options;
    options.reactor.min_threads = kLeast;
    options.reactor.max_threads = kMost;
    options.reactor.linger = 200 * kMillisecond;
    orb_ = std::make_unique<orb::Orb>(options, &clock_, &logger_, nullptr);
    orb_->AddMessaging(std::make_unique<giop::Giop>());
    orb_->AddTransport(
        std::make_unique<orb::TcpTransport>(&clock_, orb::TransportOptions::Supervised()));
    EXPECT_TRUE(orb_->Start().ok());
    EXPECT_TRUE(orb_->adapter().Activate("gate", servant_).ok());
    const auto endpoint = orb_->Listen("giop:tcp:127.0.0.1:0");
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
    port_ = std::stoi(endpoint->address.substr(endpoint->address.rfind(':') + 1));
  }
  ~BlockingServant() override {
    servant_->Open();
    EXPECT_TRUE(orb_->Shutdown(clock_.Now() + 10 * kSecond).ok());
  }

  static RawRequest Call(const std::string& operation, uint32_t id) {
    RawRequest request;
    request.id = id;
    request.key = "gate";
    request.operation = operation;
    return request;
  }
  std::unique_ptr<RawConnection> Connect() {
    auto connection = RawConnection::Tcp(port_);
    EXPECT_TRUE(connection.ok()) << connection.status();
    return *std::move(connection);
  }
  // Connections with a blocked call each.
  std::vector<std::unique_ptr<RawConnection>> Block(int count) {
    std::vector<std::unique_ptr<RawConnection>> result;
    for (int i = 0; i < count; ++i) {
      result.push_back(Connect());
      EXPECT_TRUE(result.back()->Send(Encode(Call("block", 1))));
    }
    return result;
  }
  static void ExpectReply(RawConnection* connection, uint32_t id) {
    auto message = connection->Receive();
    ASSERT_TRUE(message.ok()) << message.status();
    auto reply = DecodeReply(*message);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->id, id);
    EXPECT_EQ(reply->body.Long(), 4711u);
  }
  static bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 1000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  SystemClock clock_;
  NullLogger logger_;
  std::shared_ptr<Gatekeeper> servant_ = std::make_shared<Gatekeeper>();
  std::unique_ptr<orb::Orb> orb_;
  int port_ = 0;
};

TEST_F(BlockingServant, OtherConnectionsAreServedWhileSomeBlock) {
  const auto other = Connect();
  const auto blocked = Block(kMost - 1);
  ASSERT_TRUE(Eventually([&] { return servant_->inside() == kMost - 1; }));
  for (uint32_t id = 1; id <= 200; ++id) {
    ASSERT_TRUE(other->Send(Encode(Call("go", id))));
    ExpectReply(other.get(), id);
  }
  for (int i = 0; i < 20; ++i) {
    const auto fresh = Connect();
    ASSERT_TRUE(fresh->Send(Encode(Call("go", 7))));
    ExpectReply(fresh.get(), 7);
  }
  EXPECT_EQ(servant_->inside(), kMost - 1) << "they block still";
  servant_->Open();
  for (const auto& connection : blocked) ExpectReply(connection.get(), 1);
}

TEST_F(BlockingServant, FurtherCallsOfItsOwnConnectionAreServed) {
  const auto connection = Connect();
  ASSERT_TRUE(connection->Send(Encode(Call("block", 1))));
  ASSERT_TRUE(Eventually([&] { return servant_->inside() == 1; }));
  for (uint32_t id = 2; id < 50; ++id) {
    ASSERT_TRUE(connection->Send(Encode(Call("go", id))));
    ExpectReply(connection.get(), id);
  }
  servant_->Open();
  ExpectReply(connection.get(), 1);
}

TEST_F(BlockingServant, ThePoolGrowsToItsLimitAndNoFurtherAndAllAreServedInTheEnd) {
  const auto blocked = Block(3 * kMost);
  ASSERT_TRUE(Eventually([&] { return servant_->inside() == kMost; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(servant_->inside(), kMost);
  EXPECT_EQ(orb_->stats().threads, kMost);
  servant_->Open();
  for (const auto& connection : blocked) ExpectReply(connection.get(), 1);
}

TEST_F(BlockingServant, ThePoolShrinksAgainWhenThereIsNothingToDo) {
  const auto blocked = Block(kMost);
  ASSERT_TRUE(Eventually([&] { return orb_->stats().threads == kMost; }));
  servant_->Open();
  for (const auto& connection : blocked) ExpectReply(connection.get(), 1);
  EXPECT_TRUE(Eventually([&] { return orb_->stats().threads == kLeast; })) << orb_->stats().threads;
  // And what is left serves.
  ASSERT_TRUE(blocked[0]->Send(Encode(Call("go", 2))));
  ExpectReply(blocked[0].get(), 2);
}

TEST_F(BlockingServant, IdleConnectionsAndQuickCallsNeverMakeThePoolGrow) {
  std::vector<std::unique_ptr<RawConnection>> connections;
  for (int i = 0; i < 200; ++i) connections.push_back(Connect());
  for (uint32_t round = 1; round <= 5; ++round) {
    for (const auto& c : connections) ASSERT_TRUE(c->Send(Encode(Call("go", round))));
    for (const auto& c : connections) ExpectReply(c.get(), round);
  }
  EXPECT_LE(orb_->stats().threads, kLeast + 1) << "one more, if the machine was busy elsewhere";
}

}  // namespace
}  // namespace weir::testing
