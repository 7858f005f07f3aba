#include "tests/faults/numbered_calls.h"

#include <chrono>
#include <utility>

#include "filters/remote/grpc_kind.h"
#include "filters/remote/ref_kind.h"
#include "gtest/gtest.h"
#include "orb/cdr/decoder.h"
#include "orb/core/forwarder.h"
#include "orb/giop/giop.h"
#include "orb/transport/tcp.h"
#include "tests/faults/faults.h"
#include "tests/faults/filter_server.h"

namespace weir::testing {
namespace {

constexpr char kKey[] = "n";

class Servant : public orb::Servant {
 public:
  Servant(Executions* executions, const std::function<void(const orb::Call&)>* hook)
      : executions_(executions), hook_(hook) {}
  std::string_view repository_id() const override { return "IDL:weir/Numbered:1.0"; }
  void Dispatch(orb::CallRef call) override {
    const uint64_t number = call->request().body.decoder().ReadULongLong();
    const std::string operation(call->request().operation);
    executions_->Count(number);
    (*hook_)(*call);
    if (operation == "user") {
      cdr::Encoder out = call->NewBody();
      out.WriteString(kOops);
      out.WriteULongLong(number * 8 + kServantsResult);
      call->SetUserException();
    } else if (operation == "system") {
      call->SetSystemException({orb::ExceptionId::kBadParam, 5, orb::Completion::kMaybe});
    } else if (operation == "void") {
      call->NewBody();
      call->SetResult();
    } else {
      call->NewBody().WriteULongLong(number * 8 + kServantsResult);
      call->SetResult();
    }
    call->reply().contexts.push_back({0x1234, "servant's"});
    call.Send();
  }

 private:
  Executions* const executions_;
  const std::function<void(const orb::Call&)>* const hook_;
};

}  // namespace

NumberedReply ReadNumberedReply(RawReply reply) {
  NumberedReply result;
  result.contexts = reply.contexts;
  if (reply.status == 2) {
    const RawException e = ExceptionOf(std::move(reply));
    result.kind = NumberedReply::kSystem;
    result.name = e.id;
    result.minor = e.minor;
    result.completed = e.completed;
    return result;
  }
  if (reply.status > 1) return result;
  if (reply.status == 1 && reply.body.String() != kOops) return result;
  const uint64_t value = reply.body.LongLong();
  if (!reply.body.ok() || reply.body.left() != 0) return result;
  result.number = value / 8;
  if (reply.status == 1) {
    result.kind = NumberedReply::kUser;
  } else if (value % 8 == kServantsResult) {
    result.kind = NumberedReply::kServants;
  } else if (value % 8 == kFiltersResult) {
    result.kind = NumberedReply::kFilters;
  }
  return result;
}

struct RemoteNode::Side {
  Side(const Clock* clock, Logger* logger, orb::Gate* gate)
      : orb(orb::OrbOptions{.hostname = "localhost"}, clock, logger, gate) {
    orb.AddMessaging(std::make_unique<giop::Giop>());
    orb.AddTransport(
        std::make_unique<orb::TcpTransport>(clock, orb::TransportOptions::Supervised()));
    EXPECT_TRUE(orb.Start().ok());
    const auto endpoint = orb.Listen("giop:tcp:127.0.0.1:0");
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
    port = std::stoi(endpoint->address.substr(endpoint->address.rfind(':') + 1));
  }
  orb::Orb orb;
  int port = 0;
};

RemoteNode::RemoteNode(bool gateway) {
  kinds_.Add(filters::NewGrpcKind());
  kinds_.Add(filters::NewRefKind(&handle_));
  registry_ = std::make_unique<filters::Registry>(&kinds_, &clock_, &logger_);
  server_ = std::make_unique<Side>(&clock_, &logger_, gateway ? nullptr : registry_->gate());
  EXPECT_TRUE(server_->orb.adapter()
                  .Activate(kKey, std::make_shared<Servant>(&executions_, &on_call_))
                  .ok());
  port_ = server_->port;
  handle_.set(&server_->orb);
  if (!gateway) return;
  gateway_ = std::make_unique<Side>(&clock_, &logger_, registry_->gate());
  auto upstream =
      gateway_->orb.Resolve("corbaloc::1.2@127.0.0.1:" + std::to_string(server_->port) + "/");
  EXPECT_TRUE(upstream.ok()) << upstream.status();
  gateway_->orb.adapter().SetDefaultServant(std::make_shared<orb::Forwarder>(
      &gateway_->orb.invoker(), *upstream, &gateway_->orb.reactor(), &clock_, &logger_));
  port_ = gateway_->port;
  handle_.set(&gateway_->orb);
}

RemoteNode::~RemoteNode() {
  const absl::Status status = Shutdown(20 * kSecond);
  EXPECT_TRUE(status.ok()) << status;
}

absl::Status RemoteNode::Shutdown(Nanos patience) {
  absl::Status status;
  handle_.set(nullptr);
  for (auto* side : {&gateway_, &server_}) {
    if (*side == nullptr) continue;
    status.Update((*side)->orb.Shutdown(clock_.Now() + patience));
    side->reset();
  }
  return status;
}

orb::Orb& RemoteNode::orb() { return gateway_ != nullptr ? gateway_->orb : server_->orb; }

void RemoteNode::Commit(const filters::ChangeSet& changes) {
  auto prepared = registry_->Prepare(changes, std::nullopt);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  registry_->Publish(*std::move(prepared));
}

void RemoteNode::Plug(const std::string& address, filters::Phase phase,
                      filters::FilterParameters more, const std::string& method) {
  more.emplace("at", address);
  const std::string usual = phase == filters::Phase::kUp ? "check" : "look";
  Commit({filters::PlugChange{"r", "grpc", std::move(more), "all", 0},
          filters::MapChange{"r", "*", method.empty() ? usual : method, phase, true}});
}

uint64_t RemoteNode::Counter(const std::string& name) const {
  for (const filters::FilterCounter& c : registry_->Counters("r")) {
    if (c.name == name) return c.value;
  }
  return 0;
}

bool RemoteNode::WaitFor(const std::function<bool()>& condition) const {
  const Nanos latest = clock_.Now() + kHangsMs * kMillisecond;
  while (!condition()) {
    if (clock_.Now() > latest) {
      std::string counters;
      for (const auto& c : registry_->Counters("r")) {
        counters += c.name + "=" + std::to_string(c.value) + " ";
      }
      ADD_FAILURE() << "what was waited for did not come; " << counters;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

RawRequest NumberedRequest(uint32_t id, uint64_t number, Order order,
                           const std::string& operation) {
  RawRequest request;
  request.id = id;
  request.order = order;
  request.key = kKey;
  request.operation = operation;
  request.arguments = [number](RawWriter* out) { out->LongLong(number); };
  return request;
}

NumberedCalls::NumberedCalls(RemoteNode* node, int clients, int window, Check check)
    : node_(node), check_(std::move(check)) {
  for (int i = 0; i < clients; ++i) {
    clients_.emplace_back([this, i, window] {
      Call(i % 2 == 0 ? Order::kLittle : Order::kBig, window);
      if (::testing::Test::HasFatalFailure()) failed_ = true;
    });
  }
}

void NumberedCalls::Stop() {
  stop_ = true;
  for (std::thread& client : clients_) client.join();
  clients_.clear();
}

void NumberedCalls::Call(Order order, int window) {
  auto connection = RawConnection::Tcp(node_->port());
  ASSERT_TRUE(connection.ok()) << connection.status();
  uint32_t id = 0;
  while (!stop_ && !failed_) {
    const uint32_t first = id;
    std::vector<uint64_t> numbers;
    std::vector<bool> answered(window, false);
    std::string bytes;
    for (int i = 0; i < window; ++i) {
      numbers.push_back(next_number_.fetch_add(1));
      bytes += Encode(NumberedRequest(id++, numbers.back(), order));
    }
    ASSERT_TRUE((*connection)->Send(bytes));
    for (int i = 0; i < window; ++i) {
      auto message = (*connection)->Receive(kHangsMs);
      ASSERT_TRUE(message.ok()) << "a call hangs: " << message.status();
      auto reply = DecodeReply(*message);
      ASSERT_TRUE(reply.ok()) << reply.status();
      const size_t which = reply->id - first;
      ASSERT_LT(which, numbers.size()) << "a reply to no call";
      ASSERT_FALSE(answered[which]) << "answered twice";
      answered[which] = true;
      check_(numbers[which], ReadNumberedReply(*std::move(reply)));
      ++answered_;
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  // Nothing more comes.
  auto message = (*connection)->Receive(50);
  ASSERT_FALSE(message.ok()) << "a reply too many";
}

}  // namespace weir::testing
