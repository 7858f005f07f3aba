// Upstreams that misbehave: the caller behind the gateway gets the right system exception with the
// right completion status, and the gateway goes on.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/faults.h"
#include "tests/support/environment.h"

namespace weir::testing {
namespace {

using std::string_literals::operator""s;
using Peer = RecordingUpstream::Peer;

constexpr uint32_t kWeir = 0x57454000;  // the vendor part of Weir's minor codes

std::string CloseConnection() { return EncodeMessage(2, Order::kBig, kCloseConnection, ""); }

RawRequest Call(uint32_t id, std::string operation, uint32_t value = 0) {
  RawRequest request = Ping(id, value);
  request.operation = std::move(operation);
  return request;
}

// Echo, but what `bad` handles: operation `bad`.
RecordingUpstream::Handler EchoOr(std::function<bool(const RawCall&, const Peer&)> bad) {
  return [bad = std::move(bad), echo = RecordingUpstream::Echo()](const RawMessage& message,
                                                                  const Peer& peer) {
    auto call = DecodeRequest(message);
    if (call.ok() && call->operation == "bad") return bad(*call, peer);
    return echo(message, peer);
  };
}

// A gateway before an upstream, and a client's connection to it.
class Behind {
 public:
  explicit Behind(RecordingUpstream::Handler handler, const Args& options = {})
      : upstream_(std::move(handler)),
        gateway_(StartGateway(upstream_.port(), options)),
        client_(*RawConnection::Tcp(gateway_.port)) {}
  ~Behind() { EXPECT_EQ(upstream_.violations(), std::vector<std::string>()); }

  RecordingUpstream& upstream() { return upstream_; }
  Process& gateway() { return *gateway_.process; }
  int port() const { return gateway_.port; }
  RawConnection& client() { return *client_; }

  // Calls `bad` and expects an exception.
  void ExpectException(std::string_view id, uint32_t completed, uint32_t minor) {
    auto reply = client_->Invoke(Call(++id_, "bad"));
    ASSERT_TRUE(reply.ok()) << reply.status();
    const RawException e = ExceptionOf(*reply);
    EXPECT_EQ(e.id, id);
    EXPECT_EQ(e.completed, completed);
    EXPECT_EQ(e.minor, minor) << std::hex << e.minor;
  }
  void ExpectService() { EXPECT_TRUE(PingWorks(client_.get(), ++id_)); }

 private:
  RecordingUpstream upstream_;
  Weir gateway_;
  std::unique_ptr<RawConnection> client_;
  uint32_t id_ = 100;
};

TEST(HostileUpstream, GarbageInPlaceOfAReplyIsACommFailureAndNobodyKnowsWhatWasExecuted) {
  std::string garbage;
  Behind t(EchoOr([&](const RawCall&, const Peer& peer) { return peer.Send(garbage); }));
  const auto header = [](int minor, int flags, int type, std::string_view size) {
    return "GIOP\1"s + static_cast<char>(minor) + static_cast<char>(flags) +
           static_cast<char>(type) + std::string(size);
  };
  const auto reply = [](const std::function<void(RawWriter*)>& write) {
    RawWriter out(Order::kBig, 12);
    write(&out);
    return EncodeMessage(2, Order::kBig, kReply, out.bytes());
  };
  const std::string zero(4, '\0');
  const std::vector<std::string> all = {
      "HTTP/1.1 400 Bad Request\r\n\r\n",
      header(3, 0, kReply, zero),
      header(2, 0, 9, zero),
      header(2, 0, kReply, zero),
      header(2, 0, kReply, "\xff\xff\xff\xf4"),
      header(2, 0, kReply, "\xff\xff\xff\xff"),
      header(2, 1, kReply, "\xf8\xff\xff\xff"),
      header(2, 0, kReply, "\x10\0\0\0"s),
      header(2, 0, kFragment, zero),
      header(2, 0, kMessageError, zero),
      Encode(Ping(1, 1)),
      reply([](RawWriter* out) { out->Long(2).Long(9).Long(0); }),
      reply([](RawWriter* out) { out->Long(2).Long(0).Long(0xffffffff); }),
      reply([](RawWriter* out) { out->Long(2).Long(0).Long(1).Long(1).Long(0xffffffff); }),
  };
  for (const std::string& bytes : all) {
    SCOPED_TRACE(bytes);
    garbage = bytes;
    t.ExpectException("COMM_FAILURE", kMaybe, kWeir | 5);
    t.ExpectService();
  }
  EXPECT_EQ(t.upstream().count("echo bad"), all.size()) << "none is sent again";
}

TEST(HostileUpstream, AnEndInPlaceOfAReplyIsACommFailureAndTheCallIsNotSentAgain) {
  std::atomic<int> how = 0;
  Behind t(EchoOr([&](const RawCall& call, const Peer& peer) {
    const std::string reply = EncodeReply(
        2, Order::kBig, call.id, 0, [](RawWriter* out) { out->Octets(std::string(99, 'x')); });
    switch (how) {
      case 0:  // at once
        break;
      case 1:  // in the middle of the reply
        peer.Send(reply.substr(0, reply.size() / 2));
        break;
      case 2:  // in its header
        peer.Send(reply.substr(0, 7));
        break;
      case 3:
        peer.Reset();
        break;
      case 4:  // after the first of two fragments
        peer.Send(EncodeMessage(2, Order::kBig, kReply, reply.substr(12, 20), true));
        break;
    }
    return false;
  }));
  for (how = 0; how < 5; ++how) {
    SCOPED_TRACE(how.load());
    t.ExpectException("COMM_FAILURE", kMaybe, kWeir | 5);
    t.ExpectService();
  }
  EXPECT_EQ(t.upstream().count("echo bad"), 5u);
}

TEST(HostileUpstream, RepliesToUnknownIdsAndSecondRepliesAreIgnored) {
  Behind t(EchoOr([&](const RawCall& call, const Peer& peer) {
    const auto reply = [](uint32_t id, uint32_t value) {
      return EncodeReply(2, Order::kBig, id, 0, [=](RawWriter* out) { out->Long(value); });
    };
    RawWriter locate(Order::kBig, 12);
    locate.Long(77777).Long(1);
    return peer.Send(reply(call.id + 1, 1) + reply(0, 2) + reply(0xffffffff, 3) +
                     EncodeMessage(2, Order::kBig, kLocateReply, locate.bytes()) +
                     reply(call.id, 42) + reply(call.id, 4) + reply(call.id, 5));
  }));
  for (uint32_t i = 1; i < 20; ++i) {
    auto reply = t.client().Invoke(Call(i, "bad"));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->body.Long(), 42u);
    t.ExpectService();
  }
  EXPECT_EQ(t.upstream().connections(), 1) << "that is no reason to close";
}

// Sends `count` calls of its own number at once, and returns how often each was answered right.
std::map<uint32_t, int> CallAll(RawConnection* client, uint32_t count) {
  std::string all;
  for (uint32_t id = 1; id <= count; ++id) all += Encode(Call(id, "bad", id));
  client->Send(all);
  std::map<uint32_t, int> answered;
  for (uint32_t i = 0; i < count; ++i) {
    auto message = client->Receive();
    if (!message.ok()) break;
    auto reply = DecodeReply(*message);
    if (!reply.ok() || reply->status != 0 || reply->body.Long() != reply->id + 1) break;
    ++answered[reply->id];
  }
  return answered;
}

TEST(HostileUpstream, CallsOutstandingAtCloseConnectionAreSentAgainExactlyOnce) {
  constexpr uint32_t kCalls = 50;
  Mutex mu;
  std::map<uint32_t, int> arrived;
  std::map<int, std::vector<uint32_t>> waiting;  // by connection: the calls not answered
  Behind t(EchoOr([&](RawCall call, const Peer& peer) {
    MutexLock lock(&mu);
    const uint32_t value = call.arguments.Long();
    ++arrived[value];
    const auto answer = [&] {
      return EncodeReply(2, Order::kBig, call.id, 0, [=](RawWriter* out) { out->Long(value + 1); });
    };
    // The first connection answers ten calls and closes in good order when it has the others.
    if (peer.number > 0 || value <= 10) return peer.Send(answer());
    waiting[peer.number].push_back(value);
    if (waiting[peer.number].size() < kCalls - 10) return true;
    peer.Send(CloseConnection());
    return false;
  }));
  const std::map<uint32_t, int> answered = CallAll(&t.client(), kCalls);
  MutexLock lock(&mu);
  EXPECT_EQ(answered.size(), kCalls);
  for (uint32_t id = 1; id <= kCalls; ++id) {
    EXPECT_EQ(arrived[id], id <= 10 ? 1 : 2) << id;
  }
}

TEST(HostileUpstream, ConnectionsClosedInGoodOrderAgainAndAgainEndInTransientNotExecuted) {
  Behind t(EchoOr([&](const RawCall&, const Peer& peer) {
    peer.Send(CloseConnection());
    return false;
  }));
  t.ExpectException("TRANSIENT", kNo, kWeir | 5);
  EXPECT_LE(t.upstream().count("echo bad"), 5u);
  t.ExpectService();
}

TEST(HostileUpstream, ClosingInGoodOrderBetweenCallsIsNotSeenByClients) {
  std::atomic<int> calls = 0;
  RecordingUpstream::Handler echo = RecordingUpstream::Echo();
  Behind t([&](const RawMessage& message, const Peer& peer) {
    if (message.type != kRequest) return true;
    echo(message, peer);
    if (++calls % 3 != 0) return true;
    peer.Send(CloseConnection());
    return false;
  });
  for (int i = 0; i < 60; ++i) t.ExpectService();
  EXPECT_EQ(t.upstream().count("echo ping"), 60u);
}

TEST(HostileUpstream, OneThatRefusesConnectionsIsTransientNotExecuted) {
  const Weir gateway = StartGateway(FreePort());
  auto client = RawConnection::Tcp(gateway.port);
  ASSERT_TRUE(client.ok());
  for (uint32_t id = 1; id < 5; ++id) {
    auto reply = (*client)->Invoke(Call(id, "ping"));
    ASSERT_TRUE(reply.ok()) << reply.status();
    const RawException e = ExceptionOf(*reply);
    EXPECT_EQ(e.id, "TRANSIENT");
    EXPECT_EQ(e.completed, kNo);
    EXPECT_EQ(e.minor, kWeir | 1);
  }
  EXPECT_TRUE(gateway.process->WaitForLine("refused", std::chrono::seconds(5)).ok());
}

TEST(HostileUpstream, OneThatNeverAnswersIsATimeoutAndItsLateReplyIsIgnored) {
  Mutex mu;
  std::string late;
  std::atomic<int> cancelled = 0;
  RecordingUpstream::Handler echo = EchoOr([&](const RawCall& call, const Peer&) {
    MutexLock lock(&mu);
    late += EncodeReply(2, Order::kBig, call.id, 0, [](RawWriter* out) { out->Long(666); });
    return true;
  });
  Behind t(
      [&](const RawMessage& message, const Peer& peer) {
        if (message.type == kCancelRequest) {
          ++cancelled;
          MutexLock lock(&mu);
          return peer.Send(late);
        }
        return echo(message, peer);
      },
      {"--call-timeout", "300ms"});
  for (int i = 0; i < 5; ++i) {
    t.ExpectException("TIMEOUT", kMaybe, kWeir | 4);
    t.ExpectService();
  }
  EXPECT_EQ(cancelled, 5);
}

TEST(HostileUpstream, OneThatTricklesItsReplyIsATimeoutToo) {
  std::atomic<bool> stop = false;
  Behind t(EchoOr([&](const RawCall& call, const Peer& peer) {
             const std::string reply = EncodeReply(2, Order::kBig, call.id, 0, [](RawWriter* out) {
               out->Octets(std::string(300, 'x'));
             });
             for (size_t i = 0; i < reply.size() && !stop; ++i) {
               if (!peer.Send(reply.substr(i, 1))) return false;
               std::this_thread::sleep_for(std::chrono::milliseconds(20));
             }
             return true;
           }),
           {"--call-timeout", "500ms"});
  t.ExpectException("TIMEOUT", kMaybe, kWeir | 4);
  stop = true;
  t.ExpectException("TIMEOUT", kMaybe, kWeir | 4);
}

TEST(HostileUpstream, OneThatDoesNotReadCostsBoundedMemory) {
  std::atomic<bool> deaf = true;
  const RecordingUpstream::Handler echo = RecordingUpstream::Echo();
  Behind t(
      [&](const RawMessage& message, const Peer& peer) {
        if (!deaf) return echo(message, peer);
        while (deaf) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return false;
      },
      {"--call-timeout", "1s", "--max-message-size", "1048576"});
  const int64_t before = ProcStatus(t.gateway().pid(), "VmRSS");
  // Four clients on one connection each; what the gateway cannot pass on it must not collect.
  int64_t most = 0;
  std::vector<std::thread> clients;
  std::atomic<int> failed = 0, answered = 0;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&] {
      auto connection = RawConnection::Tcp(t.port());
      for (uint32_t id = 1; id <= 60; ++id) {
        RawRequest request = Call(id, "bounce");
        request.arguments = [](RawWriter* out) { out->Octets(std::string(1'000'000, 'b')); };
        if (!(*connection)->Send(Encode(request))) break;
      }
      for (int i = 0; i < 60; ++i) {
        auto message = (*connection)->Receive();
        if (!message.ok()) break;
        const RawException e = ExceptionOf(*DecodeReply(*message));
        ++answered;
        failed += e.id == "TIMEOUT" || e.id == "COMM_FAILURE" || e.id == "TRANSIENT";
      }
    });
  }
  for (int i = 0; i < 1000 && answered < 240; ++i) {
    most = std::max(most, ProcStatus(t.gateway().pid(), "VmRSS"));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (std::thread& c : clients) c.join();
  EXPECT_EQ(answered, 240);
  EXPECT_EQ(failed, answered);
  deaf = false;
  // Connections that end only now may still be used once.
  bool served = false;
  for (uint32_t id = 1000; id < 1100 && !served; ++id) {
    auto reply = t.client().Invoke(Call(id, "ping"));
    ASSERT_TRUE(reply.ok()) << reply.status();
    served = reply->status == 0;
  }
  EXPECT_TRUE(served);
  // Each call and its request may be held until its timeout, and each connection's queue.
  EXPECT_LE(most - before, 600 * 1024) << "KiB";
  printf("memory at most: %d KiB\n", static_cast<int>(most - before));
}

TEST(HostileUpstream, ForwardsInACircleToNowhereOrToStrangersAreRefused) {
  std::function<void(RawWriter*)> ior;
  Behind t(EchoOr([&](const RawCall& call, const Peer& peer) {
    return peer.Send(EncodeReply(2, Order::kBig, call.id, 3, ior));
  }));
  const auto profile = [](std::string_view host, int port) {
    RawWriter out(Order::kBig);
    out.Octet(0).Octet(1).Octet(2).String(host).Short(port).Octets("echo").Long(0);
    return out.bytes();
  };
  const auto forward_to = [&](std::string_view host, int port) {
    return [=, data = profile(host, port)](RawWriter* out) {
      out->String("IDL:weir/Echo:1.0").Long(1).Long(0).Octets(data);
    };
  };
  ior = forward_to("127.0.0.1", t.upstream().port());
  t.ExpectException("TRANSIENT", kNo, kWeir | 11);
  ior = forward_to("192.0.2.1", 2809);
  t.ExpectException("TRANSIENT", kNo, kWeir | 19);
  ior = [](RawWriter* out) { out->String("").Long(0); };
  t.ExpectException("INV_OBJREF", kNo, kWeir | 9);
  ior = [](RawWriter* out) { out->String("").Long(0xffffffff); };
  t.ExpectException("INV_OBJREF", kNo, kWeir | 9);
  ior = [](RawWriter* out) { out->Long(0xffffffff); };
  t.ExpectException("INV_OBJREF", kNo, kWeir | 9);
  ior = nullptr;
  t.ExpectException("INV_OBJREF", kNo, kWeir | 9);
  t.ExpectService();
}

TEST(HostileUpstream, NeedsAddressingModeIsAnsweredNoImplement) {
  Behind t(EchoOr([&](const RawCall& call, const Peer& peer) {
    return peer.Send(
        EncodeReply(2, Order::kBig, call.id, 5, [](RawWriter* out) { out->Short(2); }));
  }));
  t.ExpectException("NO_IMPLEMENT", kNo, 0);
  t.ExpectService();
}

TEST(HostileUpstream, AReplyOverTheSizeLimitIsACommFailure) {
  Behind t(EchoOr([&](const RawCall& call, const Peer& peer) {
             return peer.Send(EncodeReply(2, Order::kBig, call.id, 0, [](RawWriter* out) {
               out->Octets(std::string(1 << 20, 'x'));
             }));
           }),
           {"--max-message-size", "65536"});
  t.ExpectException("COMM_FAILURE", kMaybe, kWeir | 5);
  t.ExpectService();
}

TEST(HostileUpstream, AUserExceptionInManyFragmentsArrivesWhole) {
  Behind t(EchoOr([&](const RawCall& call, const Peer& peer) {
    const std::string whole = EncodeReply(2, Order::kBig, call.id, 1, [](RawWriter* out) {
      out->String("IDL:Hostile:1.0").Octets(std::string(1000, 'x'));
    });
    RawWriter id(Order::kBig);
    id.Long(call.id);
    std::string all;
    const std::string body = whole.substr(12);
    for (size_t at = 0; at < body.size();) {
      const std::string data = body.substr(at, at == 0 ? 52 : 48);
      const bool first = at == 0;
      at += data.size();
      all += EncodeMessage(2, Order::kBig, first ? kReply : kFragment,
                           first ? data : id.bytes() + data, at < body.size());
    }
    return peer.Send(all);
  }));
  for (uint32_t i = 1; i < 10; ++i) {
    auto reply = t.client().Invoke(Call(i, "bad"));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->status, 1u);
    EXPECT_EQ(reply->body.String(), "IDL:Hostile:1.0");
    EXPECT_EQ(reply->body.Octets(), std::string(1000, 'x'));
    t.ExpectService();
  }
}

}  // namespace
}  // namespace weir::testing
