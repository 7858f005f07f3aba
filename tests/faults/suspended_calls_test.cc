// Calls that a filter has suspended, and what meets them: cancels while the filter holds them, as
// the verdict comes and while the servant runs, of which the upstream hears if it has heard of the
// call; and an upstream that cannot be connected to, for which the thread with the verdicts does
// not wait.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/logger.h"
#include "base/mutex.h"
#include "filters/registry.h"
#include "orb/core/forwarder.h"
#include "orb/core/orb.h"
#include "orb/giop/giop.h"
#include "orb/transport/tcp.h"
#include "tests/interop/raw_giop.h"

namespace weir::testing {
namespace {

// Does what it is given on another thread.
template <typename Item>
class Handed {
 public:
  // `work` returns false for an item to be given again, a little later.
  explicit Handed(std::function<bool(Item&)> work) : work_(std::move(work)) {
    thread_ = std::thread([this] { Run(); });
  }
  ~Handed() {
    stopping_ = true;
    thread_.join();
  }
  void Add(Item item) {
    MutexLock lock(&mu_);
    items_.push_back(std::move(item));
  }

 private:
  void Run() {
    for (;;) {
      std::deque<Item> items;
      {
        MutexLock lock(&mu_);
        items.swap(items_);
      }
      if (items.empty() && stopping_) return;
      for (Item& item : items) {
        if (!work_(item)) Add(std::move(item));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  const std::function<bool(Item&)> work_;
  std::atomic<bool> stopping_{false};
  Mutex mu_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

// Passes every call, on a thread of its own.
class LateKind : public filters::FilterKind {
 public:
  std::string_view name() const override { return "late"; }
  std::string_view help() const override { return "For this test."; }
  absl::Span<const filters::MethodInfo> methods() const override { return methods_; }
  absl::StatusOr<std::unique_ptr<filters::Filter>> New(
      const filters::FilterParameters&, const filters::FilterContext&) const override {
    return std::make_unique<Late>();
  }

 private:
  class Late : public filters::Filter {
   public:
    bool asynchronous() const override { return true; }
    filters::Verdict Up(int, orb::Call&) override { return filters::Verdict::kPass; }
    filters::Verdict Down(int, orb::Call&) override { return filters::Verdict::kPass; }
    void StartUp(int, filters::Suspension call) override { calls_.Add(std::move(call)); }

   private:
    Handed<filters::Suspension> calls_{[](filters::Suspension& call) {
      call.Resume(filters::Verdict::kPass);
      return true;
    }};
  };
  const std::vector<filters::MethodInfo> methods_ = {
      {.name = "pass", .phase = filters::Phase::kUp}};
};

// Answers a call when it has been cancelled, and `free` at once.
class Patient : public orb::Servant {
 public:
  std::string_view repository_id() const override { return "IDL:weir/Patient:1.0"; }
  void Dispatch(orb::CallRef call) override {
    ++executed_;
    call->NewBody();
    call->SetResult();
    call->request().operation == "free" ? call.Send() : calls_.Add(std::move(call));
  }
  int executed() const { return executed_; }

 private:
  std::atomic<int> executed_{0};
  Handed<orb::CallRef> calls_{[](orb::CallRef& call) {
    if (!call->abandoned()) return false;
    call.Send();
    return true;
  }};
};

struct Node {
  Node(const Clock* clock, Logger* logger, orb::Gate* gate) : orb(Options(), clock, logger, gate) {
    orb.AddMessaging(std::make_unique<giop::Giop>());
    orb.AddTransport(
        std::make_unique<orb::TcpTransport>(clock, orb::TransportOptions::Supervised()));
    EXPECT_TRUE(orb.Start().ok());
    const auto endpoint = orb.Listen("giop:tcp:127.0.0.1:0");
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
    port = std::stoi(endpoint->address.substr(endpoint->address.rfind(':') + 1));
  }
  static orb::OrbOptions Options() {
    orb::OrbOptions options;
    options.hostname = "localhost";
    options.client.connect_timeout = 3 * kSecond;
    return options;
  }
  uint64_t in_progress() const { return orb.stats().server.calls_in_progress; }
  orb::Orb orb;
  int port = 0;
};

class SuspendedCalls : public ::testing::Test {
 protected:
  SuspendedCalls() {
    kinds_.Add(std::make_unique<LateKind>());
    registry_ = std::make_unique<filters::Registry>(&kinds_, &clock_, &logger_);
    auto prepared =
        registry_->Prepare({filters::PlugChange{"p", "late", {}, "all", 0},
                            filters::MapChange{"p", "*", "pass", filters::Phase::kUp, true}},
                           std::nullopt);
    EXPECT_TRUE(prepared.ok()) << prepared.status();
    registry_->Publish(*std::move(prepared));
    server_ = std::make_unique<Node>(&clock_, &logger_, nullptr);
    EXPECT_TRUE(server_->orb.adapter().Activate("p", servant_).ok());
    gateway_ = std::make_unique<Node>(&clock_, &logger_, registry_->gate());
    gateway_->orb.adapter().SetDefaultServant(ForwarderTo(server_->port));
  }
  ~SuspendedCalls() override {
    EXPECT_TRUE(gateway_->orb.Shutdown(clock_.Now() + 20 * kSecond).ok());
    EXPECT_TRUE(server_->orb.Shutdown(clock_.Now() + 20 * kSecond).ok());
  }

  std::shared_ptr<orb::Servant> ForwarderTo(int port) {
    orb::Orb& orb = gateway_->orb;
    auto upstream = orb.Resolve("corbaloc::1.2@127.0.0.1:" + std::to_string(port) + "/");
    EXPECT_TRUE(upstream.ok()) << upstream.status();
    return std::make_shared<orb::Forwarder>(&orb.invoker(), *upstream, &orb.reactor(), &clock_,
                                            &logger_, orb::ForwarderOptions{kNoDeadline});
  }

  SystemClock clock_;
  NullLogger logger_;
  filters::FilterKinds kinds_;
  std::unique_ptr<filters::Registry> registry_;
  const std::shared_ptr<Patient> servant_ = std::make_shared<Patient>();
  std::unique_ptr<Node> server_, gateway_;
};

TEST_F(SuspendedCalls, TheUpstreamHearsOfEveryCancelledCall) {
  auto connection = RawConnection::Tcp(gateway_->port);
  ASSERT_TRUE(connection.ok()) << connection.status();
  RawRequest request;
  request.order = Order::kLittle;
  request.key = "p";
  for (request.id = 1; request.id <= 2000; ++request.id) {
    request.operation = "wait";
    RawWriter cancel(request.order);
    cancel.Long(request.id);
    ASSERT_TRUE((*connection)->Send(Encode(request)));
    // At any moment of the call's life.
    std::this_thread::sleep_for(std::chrono::microseconds(request.id * 7 % 400));
    ASSERT_TRUE(
        (*connection)->Send(EncodeMessage(2, request.order, kCancelRequest, cancel.bytes())));
  }
  const Nanos latest = clock_.Now() + 20 * kSecond;
  while (gateway_->in_progress() + server_->in_progress() > 0 && clock_.Now() < latest) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(gateway_->in_progress(), 0u);
  EXPECT_EQ(server_->in_progress(), 0u);
  EXPECT_GT(servant_->executed(), 0);
  // The connection is as good as before.
  request.id = 5000;
  request.operation = "free";
  auto reply = (*connection)->Invoke(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->id, 5000u);
}

// A port that swallows what wants to connect: nobody accepts, and its queue is full.
class DeafPort {
 public:
  DeafPort() {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    auto* const address = reinterpret_cast<sockaddr*>(&address_);
    fds_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(fds_[0], address, size), 0);
    EXPECT_EQ(listen(fds_[0], 0), 0);
    EXPECT_EQ(getsockname(fds_[0], address, &size), 0);
    for (int i = 0; i < 4; ++i) {
      fds_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      (void)!connect(fds_.back(), address, size);
    }
  }
  ~DeafPort() {
    for (const int fd : fds_) close(fd);
  }
  int port() const { return ntohs(address_.sin_port); }

 private:
  sockaddr_in address_{};
  std::vector<int> fds_;
};

TEST_F(SuspendedCalls, AConnectionThatDoesNotComeKeepsNobodyElse) {
  DeafPort deaf;
  ASSERT_TRUE(gateway_->orb.adapter().Activate("deaf", ForwarderTo(deaf.port())).ok());
  auto connection = RawConnection::Tcp(gateway_->port);
  ASSERT_TRUE(connection.ok()) << connection.status();
  RawRequest request;
  request.operation = "free";
  request.key = "deaf";
  request.id = 1;
  ASSERT_TRUE((*connection)->Send(Encode(request)));
  // One thread brings the verdicts of both: this one only after it has let go of the other.
  request.key = "p";
  request.id = 2;
  ASSERT_TRUE((*connection)->Send(Encode(request)));
  for (const uint32_t id : {2u, 1u}) {
    auto message = (*connection)->Receive();
    ASSERT_TRUE(message.ok()) << message.status();
    auto reply = DecodeReply(*message);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->id, id) << "in this order";
    EXPECT_EQ(reply->status, id == 2 ? 0u : 2u);
  }
}

}  // namespace
}  // namespace weir::testing
