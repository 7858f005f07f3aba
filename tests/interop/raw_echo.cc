#include "tests/interop/raw_echo.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace weir::testing {
namespace {

constexpr uint32_t kOk = 0;
constexpr uint32_t kSystemException = 2;
constexpr uint32_t kUnknownObject = 0;
constexpr uint32_t kObjectHere = 1;

std::string Text(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 256);
  return text;
}

// The exception's name, or a word for what came instead.
std::string ExceptionIn(absl::StatusOr<RawReply> reply) {
  if (!reply.ok()) return reply.status().ToString();
  if (reply->status != kSystemException) return "status " + std::to_string(reply->status);
  std::string id = reply->body.String();
  reply->body.Long();
  const uint32_t completed = reply->body.Long();
  if (!reply->body.ok() || completed > 2) return "a malformed exception " + id;
  return id;
}

class Checker {
 public:
  Checker(RawConnection* connection, std::string key, int minor, Order order)
      : connection_(connection), key_(std::move(key)), minor_(minor), order_(order) {}

  RawRequest Request(const std::string& operation, std::function<void(RawWriter*)> arguments) {
    RawRequest r;
    r.minor = minor_;
    r.order = order_;
    r.id = next_id_ += 2;
    r.key = key_;
    r.operation = operation;
    r.arguments = std::move(arguments);
    return r;
  }
  RawRequest Ping(uint32_t value) {
    return Request("ping", [=](RawWriter* out) { out->Long(value); });
  }

  void ExpectLong(absl::StatusOr<RawReply> reply, uint32_t wanted) {
    ASSERT_TRUE(reply.ok()) << reply.status();
    ASSERT_EQ(reply->status, kOk);
    EXPECT_EQ(reply->body.Long(), wanted);
    EXPECT_TRUE(reply->body.ok());
    EXPECT_EQ(reply->body.left(), 0u);
  }
  void ExpectOctets(absl::StatusOr<RawReply> reply, const std::string& wanted) {
    ASSERT_TRUE(reply.ok()) << reply.status();
    ASSERT_EQ(reply->status, kOk);
    EXPECT_TRUE(reply->body.Octets() == wanted) << "of " << wanted.size();
    EXPECT_TRUE(reply->body.ok());
  }

  void CheckOperations() {
    for (uint32_t value : {0u, 1u, 0x01020304u, 0xffffffffu, 0x7fffffffu}) {
      ExpectLong(connection_->Invoke(Ping(value)), value + 1);
    }
    for (const std::string& text : {std::string(), std::string("hello"), std::string(5000, 'x')}) {
      absl::StatusOr<RawReply> reply =
          connection_->Invoke(Request("repeat", [&](RawWriter* out) { out->String(text); }));
      ASSERT_TRUE(reply.ok()) << reply.status();
      ASSERT_EQ(reply->status, kOk);
      EXPECT_TRUE(reply->body.String() == text && reply->body.ok()) << "of " << text.size();
    }
    for (size_t size : {0, 1, 8192, 1 << 20}) {
      const std::string data = Text(size);
      ExpectOctets(
          connection_->Invoke(Request("bounce", [&](RawWriter* out) { out->Octets(data); })), data);
    }
  }

  void CheckBuiltIns() {
    absl::StatusOr<RawReply> reply = connection_->Invoke(
        Request("_is_a", [](RawWriter* out) { out->String("IDL:weir/Echo:1.0"); }));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->status, kOk);
    EXPECT_EQ(reply->body.Octet(), 1);
    reply = connection_->Invoke(Request("_non_existent", nullptr));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->status, kOk);
    EXPECT_EQ(reply->body.Octet(), 0);
  }

  void CheckRefusals() {
    EXPECT_EQ(ExceptionIn(connection_->Invoke(Request("no_such_operation", nullptr))),
              "IDL:omg.org/CORBA/BAD_OPERATION:1.0");
    RawRequest elsewhere = Ping(1);
    elsewhere.key = "no_such_key";
    EXPECT_EQ(ExceptionIn(connection_->Invoke(elsewhere)),
              "IDL:omg.org/CORBA/OBJECT_NOT_EXIST:1.0");
    // Four octets too few.
    EXPECT_EQ(ExceptionIn(connection_->Invoke(Request("ping", nullptr))),
              "IDL:omg.org/CORBA/MARSHAL:1.0");
    ExpectLong(connection_->Invoke(Ping(7)), 8);
  }

  void CheckLocate() {
    for (const auto& [key, wanted] : std::vector<std::pair<std::string, uint32_t>>{
             {key_, kObjectHere}, {"no_such_key", kUnknownObject}}) {
      RawWriter out(order_, 12);
      out.Long(next_id_ += 2);
      if (minor_ >= 2) out.Short(kKeyAddr);
      out.Octets(key);
      ASSERT_TRUE(connection_->Send(EncodeMessage(minor_, order_, kLocateRequest, out.bytes())));
      const absl::StatusOr<RawMessage> reply = connection_->Receive();
      ASSERT_TRUE(reply.ok()) << reply.status();
      ASSERT_EQ(reply->type, kLocateReply);
      RawReader in(reply->body, reply->order, 12);
      EXPECT_EQ(in.Long(), next_id_);
      EXPECT_EQ(in.Long(), wanted) << key;
    }
  }

  // A request with contexts nobody knows, whose sizes move everything behind them.
  void CheckContexts() {
    for (size_t size = 0; size < 9; ++size) {
      RawRequest r = Ping(static_cast<uint32_t>(size));
      r.contexts = {{0x57e12345, std::string(size, 'c')}};
      ExpectLong(connection_->Invoke(r), static_cast<uint32_t>(size + 1));
    }
  }

  void CheckAddressing() {
    for (Addressing addressing : {kKeyAddr, kProfileAddr, kReferenceAddr}) {
      RawRequest r = Ping(addressing);
      r.addressing = addressing;
      ExpectLong(connection_->Invoke(r), addressing + 1);
    }
  }

  void CheckFragments() {
    const std::string data = Text(3001);
    for (size_t piece : {24, 32, 64, 1000, 2048}) {
      const RawRequest r = Request("bounce", [&](RawWriter* out) { out->Octets(data); });
      for (const std::string& message : EncodeInPieces(r, piece)) {
        ASSERT_TRUE(connection_->Send(message));
      }
      const absl::StatusOr<RawMessage> message = connection_->Receive();
      ASSERT_TRUE(message.ok()) << message.status();
      ExpectOctets(DecodeReply(*message), data);
    }
  }

  // Two fragmented requests whose pieces alternate.
  void CheckInterleaving() {
    const std::string data[2] = {Text(2000), std::string(2000, 'b')};
    const RawRequest requests[2] = {
        Request("bounce", [&](RawWriter* out) { out->Octets(data[0]); }),
        Request("bounce", [&](RawWriter* out) { out->Octets(data[1]); })};
    const std::vector<std::string> pieces[2] = {EncodeInPieces(requests[0], 256),
                                                EncodeInPieces(requests[1], 256)};
    ASSERT_EQ(pieces[0].size(), pieces[1].size());
    for (size_t i = 0; i < pieces[0].size(); ++i) {
      ASSERT_TRUE(connection_->Send(pieces[0][i]) && connection_->Send(pieces[1][i]));
    }
    for (int i = 0; i < 2; ++i) {
      const absl::StatusOr<RawMessage> message = connection_->Receive();
      ASSERT_TRUE(message.ok()) << message.status();
      const absl::StatusOr<RawReply> reply = DecodeReply(*message);
      ASSERT_TRUE(reply.ok()) << reply.status();
      ExpectOctets(reply, data[reply->id == requests[0].id ? 0 : 1]);
    }
  }

 private:
  RawConnection* const connection_;
  const std::string key_;
  const int minor_;
  const Order order_;
  uint32_t next_id_ = 0;
};

}  // namespace

void CheckEcho(RawConnection* connection, const std::string& key, int minor, Order order) {
  Checker checker(connection, key, minor, order);
  SCOPED_TRACE("GIOP 1." + std::to_string(minor) +
               (order == Order::kBig ? ", big-endian" : ", little-endian"));
  checker.CheckOperations();
  checker.CheckBuiltIns();
  checker.CheckRefusals();
  checker.CheckLocate();
  checker.CheckContexts();
  if (minor < 2) return;
  checker.CheckFragments();
  checker.CheckInterleaving();
}

void CheckPing(RawConnection* connection, const std::string& key, int minor, Order order) {
  Checker checker(connection, key, minor, order);
  checker.ExpectLong(connection->Invoke(checker.Ping(6)), 7);
}

void CheckAddressing(RawConnection* connection, const std::string& key, Order order) {
  Checker(connection, key, 2, order).CheckAddressing();
}

RawServer::Handler EchoHandler(Order order) {
  return [order](const RawMessage& message, int) -> std::string {
    const int minor = message.minor;
    if (message.type == kLocateRequest) {
      RawReader in(message.body, message.order, 12);
      RawWriter out(order, 12);
      out.Long(in.Long()).Long(kObjectHere);
      return EncodeMessage(minor, order, kLocateReply, out.bytes());
    }
    absl::StatusOr<RawCall> call = DecodeRequest(message);
    if (!call.ok()) return "";
    RawReader& in = call->arguments;
    const auto reply = [&](const std::function<void(RawWriter*)>& body, uint32_t status = kOk) {
      return EncodeReply(minor, order, call->id, status, body);
    };
    if (call->operation == "ping") {
      const uint32_t value = in.Long();
      return reply([&](RawWriter* out) { out->Long(value + 1); });
    }
    if (call->operation == "repeat") {
      const std::string text = in.String();
      return reply([&](RawWriter* out) { out->String(text); });
    }
    if (call->operation == "bounce") {
      const std::string data = in.Octets();
      return reply([&](RawWriter* out) { out->Octets(data); });
    }
    if (call->operation == "_is_a") {
      const std::string id = in.String();
      return reply([&](RawWriter* out) {
        out->Octet(id == "IDL:weir/Echo:1.0" || id == "IDL:omg.org/CORBA/Object:1.0");
      });
    }
    if (call->operation == "_non_existent") {
      return reply([](RawWriter* out) { out->Octet(0); });
    }
    return reply(
        [](RawWriter* out) {
          out->String("IDL:omg.org/CORBA/BAD_OPERATION:1.0").Long(0x4f4d0002).Long(1);
        },
        kSystemException);
  };
}

}  // namespace weir::testing
