// Plugs change hundreds of times a second while calls go through real sockets: every call is
// executed once and answered once, with its own answer, unless a filter bounces it, which then says
// so itself; and each filter sees the replies of exactly the calls that it has passed up.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/logger.h"
#include "filters/registry.h"
#include "orb/cdr/decoder.h"
#include "orb/core/forwarder.h"
#include "orb/core/orb.h"
#include "orb/giop/giop.h"
#include "orb/transport/tcp.h"
#include "tests/faults/resumer.h"
#include "tests/interop/raw_giop.h"

namespace weir::testing {
namespace {

constexpr uint64_t kMostCalls = 2'000'000;
constexpr uint64_t kEnoughCalls = 20'000;
constexpr uint64_t kEnoughChanges = 2'000;

// What an answer says about who gave it: the number of the call, times 8, plus one of these.
enum Origin : uint64_t { kBounced = 1, kServantA = 2, kServantB = 3 };

uint64_t NumberOf(const orb::Call& call) { return call.request().body.decoder().ReadULongLong(); }

void SetAnswer(orb::Call* call, uint64_t number, Origin origin) {
  call->NewBody().WriteULongLong(number * 8 + origin);
  call->SetResult();
}

// How often each call was executed.
class Executions {
 public:
  void Count(uint64_t number) { executed_[number].fetch_add(1); }
  int of(uint64_t number) const { return executed_[number].load(); }

 private:
  std::vector<std::atomic<uint8_t>> executed_ = std::vector<std::atomic<uint8_t>>(kMostCalls);
};

// Answers operation `late` on a thread of its own, all others at once.
class Servant : public orb::Servant {
 public:
  Servant(Executions* executions, Origin origin) : executions_(executions), origin_(origin) {
    late_thread_ = std::thread([this] { AnswerLate(); });
  }
  ~Servant() override {
    {
      MutexLock lock(&mu_);
      stopping_ = true;
      changed_.Signal();
    }
    late_thread_.join();
  }

  std::string_view repository_id() const override { return "IDL:weir/UnderLoad:1.0"; }
  void Dispatch(orb::CallRef call) override {
    const uint64_t number = NumberOf(*call);
    executions_->Count(number);
    if (call->request().operation == "late") {
      MutexLock lock(&mu_);
      late_.push_back(std::move(call));
      changed_.Signal();
      return;
    }
    SetAnswer(&*call, number, origin_);
    call.Send();
  }

 private:
  void AnswerLate() {
    for (;;) {
      orb::CallRef call;
      {
        MutexLock lock(&mu_);
        while (late_.empty() && !stopping_) changed_.Wait(&mu_);
        if (late_.empty()) return;
        call = std::move(late_.front());
        late_.pop_front();
      }
      SetAnswer(&*call, NumberOf(*call), origin_);
      call.Send();
    }
  }

  Executions* const executions_;
  const Origin origin_;
  Mutex mu_;
  CondVar changed_;
  std::deque<orb::CallRef> late_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread late_thread_;
};

// What all filters of the kind have seen, in their lives.
struct Seen {
  std::atomic<uint64_t> made = 0, destroyed = 0, up = 0, down = 0, bounced = 0;
  std::atomic<uint64_t> unequal = 0;    // filters that saw more go up than come down, or fewer
  std::atomic<uint64_t> misrouted = 0;  // calls of other targets than the plug's
};

// Up methods `pass` and `bounce`; down method `pass`. Parameter `key`: what its target must be.
// With a resumer, verdicts come late, but for some that come at once.
class WatchKind : public filters::FilterKind {
 public:
  WatchKind(Seen* seen, Resumer* resumer) : seen_(seen), resumer_(resumer) {}
  std::string_view name() const override { return "watch"; }
  std::string_view help() const override { return "For this test."; }
  absl::Span<const filters::MethodInfo> methods() const override { return methods_; }
  absl::StatusOr<std::unique_ptr<filters::Filter>> New(
      const filters::FilterParameters& parameters, const filters::FilterContext&) const override {
    const auto key = parameters.find("key");
    return std::make_unique<Watch>(seen_, resumer_, key == parameters.end() ? "" : key->second);
  }

 private:
  class Watch : public filters::Filter {
   public:
    Watch(Seen* seen, Resumer* resumer, std::string key)
        : seen_(seen), resumer_(resumer), key_(std::move(key)) {
      ++seen_->made;
    }
    ~Watch() override {
      ++seen_->destroyed;
      seen_->up += up_;
      seen_->down += down_;
      if (up_ != down_) ++seen_->unequal;
    }
    filters::Verdict Up(int method, orb::Call& call) override {
      if (!key_.empty() && call.request().object_key != key_) ++seen_->misrouted;
      if (method == 1) {
        ++seen_->bounced;
        SetAnswer(&call, NumberOf(call), kBounced);
        return filters::Verdict::kBounce;
      }
      ++up_;
      return filters::Verdict::kPass;
    }
    filters::Verdict Down(int, orb::Call&) override {
      ++down_;
      return filters::Verdict::kPass;
    }

    bool asynchronous() const override { return resumer_ != nullptr; }
    void StartUp(int method, filters::Suspension call) override {
      const filters::Verdict verdict = Up(method, *call);
      Resume(std::move(call), verdict);
    }
    void StartDown(int method, filters::Suspension call) override {
      const filters::Verdict verdict = Down(method, *call);
      Resume(std::move(call), verdict);
    }

   private:
    void Resume(filters::Suspension call, filters::Verdict verdict) {
      if (call->id() % 4 == 0) return call.Resume(verdict);
      resumer_->Later(std::move(call), verdict);
    }

    Seen* const seen_;
    Resumer* const resumer_;
    const std::string key_;
    std::atomic<uint64_t> up_ = 0, down_ = 0;
  };

  Seen* const seen_;
  Resumer* const resumer_;
  const std::vector<filters::MethodInfo> methods_ = {
      {.name = "pass", .phase = filters::Phase::kUp},
      {.name = "bounce", .phase = filters::Phase::kUp},
      {.name = "pass", .phase = filters::Phase::kDown},
  };
};

// An ORB that listens on a port of its own.
struct Node {
  Node(const Clock* clock, Logger* logger, orb::Gate* gate)
      : orb(orb::OrbOptions{.hostname = "localhost"}, clock, logger, gate) {
    orb.AddMessaging(std::make_unique<giop::Giop>());
    orb.AddTransport(
        std::make_unique<orb::TcpTransport>(clock, orb::TransportOptions::Supervised()));
    EXPECT_TRUE(orb.Start().ok());
    const auto endpoint = orb.Listen("giop:tcp:127.0.0.1:0");
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
    port = std::stoi(endpoint->address.substr(endpoint->address.rfind(':') + 1));
  }
  std::string Reference(std::string_view key) const {
    return "corbaloc::1.2@127.0.0.1:" + std::to_string(port) + "/" + std::string(key);
  }
  orb::Orb orb;
  int port = 0;
};

class BlockingCall : public orb::Invocation {
  void Done() override {}
};

// "Server": the filters are in the server. "Gateway": they are in a gateway before it. "Late": they
// suspend the calls.
class ChangeUnderLoad : public ::testing::TestWithParam<const char*> {
 protected:
  ChangeUnderLoad() {
    const std::string where = GetParam();
    if (where.starts_with("Late")) resumer_ = std::make_unique<Resumer>();
    kinds_.Add(std::make_unique<WatchKind>(&seen_, resumer_.get()));
    registry_ = std::make_unique<filters::Registry>(&kinds_, &clock_, &logger_);
    const bool gateway = where.ends_with("Gateway");
    server_ = std::make_unique<Node>(&clock_, &logger_, gateway ? nullptr : registry_->gate());
    EXPECT_TRUE(server_->orb.adapter()
                    .Activate("a", std::make_shared<Servant>(&executions_, kServantA))
                    .ok());
    EXPECT_TRUE(server_->orb.adapter()
                    .Activate("b", std::make_shared<Servant>(&executions_, kServantB))
                    .ok());
    if (gateway) {
      gateway_ = std::make_unique<Node>(&clock_, &logger_, registry_->gate());
      auto upstream = gateway_->orb.Resolve(server_->Reference(""));
      EXPECT_TRUE(upstream.ok()) << upstream.status();
      gateway_->orb.adapter().SetDefaultServant(std::make_shared<orb::Forwarder>(
          &gateway_->orb.invoker(), *upstream, &gateway_->orb.reactor(), &clock_, &logger_));
    }
    entry_ = gateway ? gateway_.get() : server_.get();
    client_ = std::make_unique<Node>(&clock_, &logger_, nullptr);
  }
  ~ChangeUnderLoad() override {
    for (auto* node : {client_.get(), gateway_.get(), server_.get()}) {
      if (node != nullptr) {
        EXPECT_TRUE(node->orb.Shutdown(clock_.Now() + 20 * kSecond).ok());
      }
    }
  }

  bool GoOn() const { return !stop_ && !HasFatalFailure(); }
  uint64_t NextNumber() { return next_number_.fetch_add(1); }

  // The answer to call `number` of `key`.
  void Check(uint64_t number, std::string_view key, uint64_t answer) {
    ASSERT_EQ(answer / 8, number) << "another call's answer";
    const uint64_t origin = answer % 8;
    if (origin == kBounced) {
      ASSERT_EQ(executions_.of(number), 0);
      ++bounced_;
    } else {
      ASSERT_EQ(origin, key == "a" ? kServantA : kServantB);
      ASSERT_EQ(executions_.of(number), 1);
    }
    ++answered_;
  }

  // `window` calls at a time on one connection of hand-made GIOP.
  void CallRaw(uint32_t seed, int window, Order order) {
    std::mt19937 random(seed);
    auto connection = RawConnection::Tcp(entry_->port);
    ASSERT_TRUE(connection.ok()) << connection.status();
    uint32_t id = 0;
    while (GoOn()) {
      struct Sent {
        uint64_t number;
        std::string key;
        bool answered = false;
      };
      std::vector<Sent> sent;
      std::string bytes;
      const uint32_t first = id;
      for (int i = 0; i < window; ++i) {
        sent.push_back({NextNumber(), random() % 2 == 0 ? "a" : "b"});
        RawRequest request;
        request.id = id++;
        request.order = order;
        request.key = sent.back().key;
        request.operation = random() % 3 == 0 ? "late" : "call";
        request.arguments = [&](RawWriter* out) { out->LongLong(sent.back().number); };
        bytes += Encode(request);
      }
      ASSERT_TRUE((*connection)->Send(bytes));
      for (int i = 0; i < window; ++i) {
        auto message = (*connection)->Receive();
        ASSERT_TRUE(message.ok()) << message.status();
        auto reply = DecodeReply(*message);
        ASSERT_TRUE(reply.ok()) << reply.status();
        ASSERT_EQ(reply->status, 0u);
        Sent& call = sent.at(reply->id - first);
        ASSERT_FALSE(call.answered) << "answered twice";
        call.answered = true;
        Check(call.number, call.key, reply->body.LongLong());
        if (HasFatalFailure()) return;
      }
    }
  }

  // By Weir's own client, one call at a time.
  void CallByOrb(std::string key) {
    auto target = client_->orb.Resolve(entry_->Reference(key));
    ASSERT_TRUE(target.ok()) << target.status();
    while (GoOn()) {
      const uint64_t number = NextNumber();
      cdr::ByteBuffer arguments;
      cdr::Encoder(&arguments).WriteULongLong(number);
      orb::Request request;
      request.operation = "call";
      request.body.bytes = arguments.view();
      BlockingCall call;
      call.request = &request;
      const absl::Status status = client_->orb.invoker().Invoke(*target, &call);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(call.reply.status, orb::ReplyStatus::kNoException);
      Check(number, key, call.reply.body.decoder().ReadULongLong());
      if (HasFatalFailure()) return;
    }
  }

  // One beta message after the other, until enough has happened.
  void Change() {
    using filters::Phase;
    std::mt19937 random(42);
    struct Plugged {
      std::string name, key, selector, method;
      bool plugged = false;
    };
    std::array<Plugged, 5> plugs = {{{"A", "a", "key:a", "pass"},
                                     {"B", "b", "key:b*", "pass"},
                                     {"C", "", "all", "pass"},
                                     {"D", "b", "key:b", "bounce"},
                                     {"E", "a", "key:a*", "bounce"}}};
    uint64_t changes = 0;
    while (answered_ < kEnoughCalls || changes < kEnoughChanges || bounced_ == 0) {
      if (next_number_ > kMostCalls - 10'000 || HasFatalFailure()) break;
      Plugged& p = plugs[random() % plugs.size()];
      filters::ChangeSet set;
      const bool both = p.method == "pass";  // in one set, so that what goes up comes down
      if (!p.plugged) {
        filters::PlugChange plug{p.name, "watch", {}, p.selector, static_cast<int>(random() % 3)};
        if (!p.key.empty()) plug.parameters["key"] = p.key;
        set.push_back(plug);
        set.push_back(filters::MapChange{p.name, "*", p.method, Phase::kUp, true});
        if (both) set.push_back(filters::MapChange{p.name, "*", "pass", Phase::kDown, true});
        p.plugged = true;
      } else {
        const bool enable = random() % 2 == 0;
        switch (random() % 3) {
          case 0:
            set.push_back(filters::UnplugChange{p.name});
            p.plugged = false;
            break;
          case 1:
            set.push_back(filters::EnableChange{p.name, "", "", Phase::kUp, enable});
            if (both) set.push_back(filters::EnableChange{p.name, "", "", Phase::kDown, enable});
            break;
          case 2:
            for (const char* operation : {"call", "late"}) {
              set.push_back(filters::MapChange{p.name, operation, p.method, Phase::kUp, enable});
              if (both) {
                set.push_back(filters::MapChange{p.name, operation, "pass", Phase::kDown, enable});
              }
            }
            break;
        }
      }
      Commit(set);
      ++changes;
      // Neither side is to starve the other.
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 1000));
    }
    printf("%d calls, %d of them bounced, %d changes\n", static_cast<int>(answered_),
           static_cast<int>(bounced_), static_cast<int>(changes));
    stop_ = true;
  }

  void Commit(const filters::ChangeSet& set) {
    auto prepared = registry_->Prepare(set, std::nullopt);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    registry_->Publish(*std::move(prepared));
  }

  SystemClock clock_;
  NullLogger logger_;
  Seen seen_;
  Executions executions_;
  filters::FilterKinds kinds_;
  std::unique_ptr<filters::Registry> registry_;
  std::unique_ptr<Resumer> resumer_;  // gone before the rest
  std::unique_ptr<Node> server_, gateway_, client_;
  Node* entry_ = nullptr;
  std::atomic<uint64_t> next_number_ = 0, answered_ = 0, bounced_ = 0;
  std::atomic<bool> stop_ = false;
};

TEST_P(ChangeUnderLoad, NoCallIsLostDoubledOrMisroutedAndCountsOfUpAndDownAgree) {
  std::vector<std::thread> clients;
  clients.emplace_back([this] { CallRaw(1, 1, Order::kLittle); });
  clients.emplace_back([this] { CallRaw(2, 16, Order::kBig); });
  clients.emplace_back([this] { CallRaw(3, 50, Order::kLittle); });
  clients.emplace_back([this] { CallByOrb("a"); });
  clients.emplace_back([this] { CallByOrb("b"); });
  Change();
  for (std::thread& client : clients) client.join();

  EXPECT_EQ(answered_, next_number_) << "every call was answered";
  uint64_t executed = 0;
  for (uint64_t n = 0; n < next_number_; ++n) {
    ASSERT_LE(executions_.of(n), 1) << n;
    executed += executions_.of(n);
  }
  EXPECT_EQ(executed + bounced_, answered_) << "every call was executed or bounced";
  EXPECT_GT(executed, 0u);

  filters::ChangeSet unplug_all;
  for (const filters::Plug& plug : registry_->state().plugs) {
    unplug_all.push_back(filters::UnplugChange{plug.name});
  }
  Commit(unplug_all);
  EXPECT_TRUE(registry_->Drain(clock_.Now() + 10 * kSecond).ok());
  EXPECT_EQ(seen_.made, seen_.destroyed);
  EXPECT_EQ(seen_.unequal, 0u);
  EXPECT_EQ(seen_.up, seen_.down);
  EXPECT_GT(seen_.up, 0u);
  EXPECT_EQ(seen_.bounced, bounced_) << "as the clients have counted them";
  EXPECT_EQ(seen_.misrouted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Filters, ChangeUnderLoad,
                         ::testing::Values("Server", "Gateway", "LateServer", "LateGateway"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace weir::testing
