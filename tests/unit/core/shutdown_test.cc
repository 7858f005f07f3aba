// How connections and ORBs end, and what limits do to peers that abuse them. That nothing leaks is
// for the address sanitizer to see.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/core/testing.h"

namespace weir::orb {
namespace {

// A client that is no ORB: sends what it is told and reads when it is told.
class RawClient {
 public:
  explicit RawClient(const Endpoint& to)
      : codec_(giop::Giop().NewCodec(Role::kClient)),
        stream_(*TcpTransport(&TheClock()).Connect(to.address, In(kPatience))) {}

  void Request(uint32_t id, std::string_view operation) {
    orb::Request request;
    request.object_key = "test";
    request.operation = operation;
    cdr::ByteBuffer out;
    EXPECT_TRUE(codec_->EncodeRequest(id, request, &out).ok());
    EXPECT_EQ(stream_->Send(out.view()).bytes, out.size());
  }
  // The next message; kError at the end of the stream.
  Incoming Next() {
    for (;;) {
      Incoming in;
      begin_ += codec_->Decode(block_, bytes().substr(begin_), &in);
      if (in.kind != Incoming::Kind::kNeedMore) return in;
      const IoResult r =
          stream_->Receive(block_->data() + end_, block_->capacity() - end_, Wait::kStay);
      if (r.kind == IoResult::kWouldBlock) continue;
      if (r.kind != IoResult::kBytes) {
        in.kind = Incoming::Kind::kError;
        return in;
      }
      end_ += r.bytes;
    }
  }
  void Hang() { stream_->Shutdown(); }
  bool AtEnd() {
    char c;
    return stream_->Receive(&c, 1, Wait::kNo).kind != IoResult::kWouldBlock;
  }

 private:
  std::string_view bytes() const { return {reinterpret_cast<const char*>(block_->data()), end_}; }
  const std::unique_ptr<Codec> codec_;
  const std::unique_ptr<Stream> stream_;
  const cdr::BlockRef block_ = cdr::BlockRef::Allocate(40 << 20);
  size_t begin_ = 0;
  size_t end_ = 0;
};

// Several of it are more than the kernel takes for a connection.
constexpr size_t kLarge = 6 << 20;
constexpr uint32_t kLargeReplies = 4;

void RequestMuch(RawClient& client) {
  for (uint32_t id = 2; id <= 2 * kLargeReplies; id += 2) client.Request(id, "large");
}
void AnswerLarge(CallRef call) {
  call->NewBody().WriteOctets(std::string(kLarge, 'L'));
  call->SetResult();
  call.Send();
}

TEST(Shutdown, FinishesWhatRunsAndClosesInGoodOrder) {
  TestOrb server, client;
  Held held;
  server.servant->On("hold", held.Hold());
  const auto target = client.To({server.Listen()});
  TestCall call("hold", 1);
  client->invoker().Start(target, &call);
  ASSERT_TRUE(Eventually([&] { return held.size() == 1; }));
  std::thread answer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (CallRef& c : held.Take()) FunctionServant::AnswerPlusOne(std::move(c));
  });
  EXPECT_TRUE(server->Shutdown(In(kPatience)).ok());
  answer.join();
  ASSERT_TRUE(call.WaitDone());
  EXPECT_EQ(call.result(), 2);
  EXPECT_EQ(server->stats().server.connections, 0u);
}

TEST(Shutdown, SaysHowManyCallsItHasCutOff) {
  TestOrb server, client;
  Held held;
  server.servant->On("hold", held.Hold());
  const auto target = client.To({server.Listen()});
  TestCall calls[3] = {TestCall("hold"), TestCall("hold"), TestCall("hold")};
  for (TestCall& call : calls) client->invoker().Start(target, &call);
  ASSERT_TRUE(Eventually([&] { return held.size() == 3; }));
  const absl::Status status = server->Shutdown(In(20 * kMillisecond));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find("3 calls"), absl::string_view::npos) << status;
  for (TestCall& call : calls) {
    ASSERT_TRUE(call.WaitDone());
    EXPECT_EQ(call.exception().id, ExceptionId::kCommFailure) << call.status;
  }
  held.Take();  // answers, too late
}

TEST(Shutdown, AReplyThatThePeerIsStillReadingArrivesWholeBeforeTheClose) {
  TestOrb server;
  server.servant->On("large", AnswerLarge);
  RawClient client(server.Listen());
  RequestMuch(client);
  ASSERT_TRUE(Eventually([&] {
    const ServerStats s = server->stats().server;
    return s.calls > 0 && s.calls_in_progress == 0;
  }));
  std::thread shutdown([&] { EXPECT_TRUE(server->Shutdown(In(kPatience)).ok()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  int replies = 0;
  Incoming in = client.Next();
  for (; in.kind == Incoming::Kind::kReply; in = client.Next()) {
    EXPECT_EQ(in.reply.body.bytes.size(), kLarge);
    ++replies;
  }
  EXPECT_GE(replies, 1);
  EXPECT_EQ(in.kind, Incoming::Kind::kClose) << in.error;
  EXPECT_EQ(client.Next().kind, Incoming::Kind::kError);  // the end
  client.Hang();
  shutdown.join();
}

TEST(Shutdown, AsynchronousCallsInFlightEnd) {
  TestOrb server;
  Held held;
  server.servant->On("hold", held.Hold());
  std::vector<std::unique_ptr<TestCall>> calls;
  {
    TestOrb client;
    const auto target = client.To({server.Listen()});
    for (int i = 0; i < 50; ++i) {
      calls.push_back(std::make_unique<TestCall>("hold"));
      client->invoker().Start(target, calls.back().get());
    }
    ASSERT_TRUE(Eventually([&] { return held.size() == 50; }));
  }  // without Shutdown
  for (const auto& call : calls) EXPECT_EQ(call->done(), 1);
  held.Take();
}

TEST(Shutdown, CallsAfterItFailAtOnce) {
  TestOrb server, client;
  const auto target = client.To({server.Listen()});
  EXPECT_EQ(client.Ping(target, 1), 2);
  EXPECT_TRUE(client->Shutdown(In(kSecond)).ok());
  TestCall blocking("ping"), later("ping");
  EXPECT_FALSE(client.Invoke(target, &blocking).ok());
  EXPECT_EQ(blocking.exception().minor, static_cast<uint32_t>(WeirMinor::kShuttingDown));
  client->invoker().Start(target, &later);
  EXPECT_EQ(later.done(), 1);
}

TEST(Shutdown, AnOrbDestroyedWithoutItFreesConnectionsInEveryState) {
  auto server = std::make_unique<TestOrb>();
  server->servant->On("large", AnswerLarge);
  const Endpoint at = server->Listen();
  RawClient idle(at), congested(at), mid_message(at);
  RequestMuch(congested);
  TestOrb client;
  EXPECT_EQ(client.Ping(client.To({at}), 1), 2);
  ASSERT_TRUE(Eventually([&] {
    const OrbStats s = (*server)->stats();
    return s.server.calls > 1 && s.server.connections == 4;
  }));
  server.reset();
  EXPECT_TRUE(Eventually([&] { return idle.AtEnd(); }));
}

TEST(Shutdown, AnAnswerToAClientThatHasGoneIsDroppedAndItsConnectionForgotten) {
  TestOrb server;
  Held held;
  server.servant->On("hold", held.Hold());
  const Endpoint at = server.Listen();
  {
    RawClient client(at);
    client.Request(2, "hold");
    ASSERT_TRUE(Eventually([&] { return held.size() == 1; }));
  }
  std::vector<CallRef> calls = held.Take();
  EXPECT_TRUE(Eventually([&] { return calls[0]->abandoned(); }));
  EXPECT_EQ(server->stats().server.connections, 1u);  // its call still runs
  calls.clear();
  EXPECT_TRUE(Eventually([&] { return server->stats().server.connections == 0; }));
}

TEST(Limits, ConnectionsBeyondTheLimitAreClosed) {
  OrbOptions options;
  options.server.max_connections = 2;
  TestOrb server(options);
  const Endpoint at = server.Listen();
  RawClient first(at), second(at), third(at);
  EXPECT_TRUE(Eventually([&] { return server->stats().server.connections_refused == 1; }));
  EXPECT_TRUE(Eventually([&] { return third.AtEnd() || first.AtEnd() || second.AtEnd(); }));
  EXPECT_NE(server.log.lines().find("event=connection_refused"), std::string::npos);
}

TEST(Limits, CallsBeyondTheLimitOfAConnectionGetNoResources) {
  OrbOptions options;
  options.server.max_calls_per_connection = 3;
  TestOrb server(options);
  Held held;
  server.servant->On("hold", held.Hold());
  RawClient client(server.Listen());
  for (uint32_t id = 2; id <= 8; id += 2) client.Request(id, "hold");
  const Incoming in = client.Next();
  EXPECT_EQ(in.id, 8u);
  ASSERT_EQ(in.reply.status, ReplyStatus::kSystemException);
  cdr::Decoder body = in.reply.body.decoder();
  EXPECT_EQ(DecodeSystemException(&body).id, ExceptionId::kNoResources);
  EXPECT_EQ(held.size(), 3u);
  held.Take();
}

TEST(Limits, ARequestIdThatIsInUseEndsTheConnection) {
  TestOrb server;
  Held held;
  server.servant->On("hold", held.Hold());
  RawClient client(server.Listen());
  client.Request(2, "hold");
  client.Request(2, "hold");
  EXPECT_EQ(client.Next().kind, Incoming::Kind::kError);
  held.Take();
}

TEST(Limits, APeerThatTakesNoRepliesIsCutOffAfterTheWriteTimeout) {
  OrbOptions options;
  options.server.write_timeout = 100 * kMillisecond;
  TestOrb server(options);
  server.servant->On("large", AnswerLarge);
  const Endpoint at = server.Listen();
  RawClient client(at);
  RequestMuch(client);
  EXPECT_TRUE(Eventually(
      [&] { return server->stats().server.calls > 0 && server->stats().server.connections == 0; }));
  EXPECT_NE(server.log.lines().find("write timeout"), std::string::npos);
}

TEST(Limits, AnIdleConnectionIsClosedInGoodOrder) {
  OrbOptions options;
  options.server.idle_timeout = 100 * kMillisecond;
  TestOrb server(options);
  RawClient client(server.Listen());
  EXPECT_EQ(client.Next().kind, Incoming::Kind::kClose);
  EXPECT_EQ(client.Next().kind, Incoming::Kind::kError);
}

}  // namespace
}  // namespace weir::orb
