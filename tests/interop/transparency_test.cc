// Filters that pass a call are not seen: what servant and caller are sent is, octet for octet, what
// they are sent without filters.
//
// What real peers say in all their cases is recorded, without Weir. Then it is said again, call by
// call, by a client and a server that know nothing else, to a gateway (or a server of ours) without
// filters and to one with filters in every position. Both must see the same in both runs, in all
// but request ids, which are each connection's own affair. (To compare two runs of the peers
// themselves will not do: omniORB leaves what it likes in the padding of its messages.)

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orb/cdr/byte_buffer.h"
#include "orb/cdr/encoder.h"
#include "orb/giop/giop.h"
#include "orb/transport/tcp.h"
#include "tests/interop/gateway.h"
#include "tests/interop/outgoing_filters.h"
#include "tests/interop/raw_echo.h"
#include "tests/interop/raw_giop.h"
#include "tests/support/recording_relay.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;

constexpr size_t kHeader = 12;

bool IsLittle(std::string_view message) { return message[6] & 1; }

uint32_t NumberAt(std::string_view bytes, size_t at, bool little) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4 && at + i < bytes.size(); ++i) {
    const auto octet = static_cast<uint8_t>(bytes[at + i]);
    value |= uint32_t{octet} << (8 * (little ? i : 3 - i));
  }
  return value;
}

// Where the request id is in what follows a message's header; npos: it has none.
size_t PlaceOfId(int minor, uint8_t type, bool little, std::string_view body) {
  if (type == kCloseConnection || type == kMessageError) return std::string::npos;
  if (type == kFragment) return minor == 2 ? 0 : std::string::npos;
  if (minor == 2 || (type != kRequest && type != kReply)) return 0;
  size_t at = 4;  // behind the number of contexts
  for (uint32_t n = NumberAt(body, 0, little); n > 0; --n) {
    at += 8 + NumberAt(body, at + 4, little);
    at = (at + 3) / 4 * 4;
  }
  return at;
}

size_t PlaceOfId(std::string_view message) {
  const size_t place = PlaceOfId(message[5], static_cast<uint8_t>(message[7]), IsLittle(message),
                                 message.substr(kHeader));
  return place == std::string::npos ? place : place + kHeader;
}

uint32_t IdOf(std::string_view message) {
  const size_t at = PlaceOfId(message);
  return at == std::string::npos ? 0 : NumberAt(message, at, IsLittle(message));
}

// A message with all its fragments, as they were sent.
struct Said {
  std::vector<std::string> pieces;

  uint8_t type() const { return static_cast<uint8_t>(pieces[0][7]); }
  uint32_t id() const { return IdOf(pieces[0]); }
  std::string bytes() const {
    std::string all;
    for (const std::string& piece : pieces) all += piece;
    return all;
  }
  // With another request id.
  std::string bytes(uint32_t id) const {
    std::string all;
    for (std::string piece : pieces) {
      const size_t at = PlaceOfId(piece);
      for (size_t i = 0; at != std::string::npos && i < 4; ++i) {
        piece[at + i] = static_cast<char>(id >> (8 * (IsLittle(piece) ? i : 3 - i)));
      }
      all += piece;
    }
    return all;
  }
};

std::vector<Said> Messages(const std::string& stream) {
  std::vector<Said> messages;
  for (size_t at = 0; at + kHeader <= stream.size();) {
    const size_t size =
        kHeader + NumberAt(stream, at + 8, IsLittle(std::string_view(stream).substr(at)));
    const std::string piece = stream.substr(at, size);
    at += size;
    EXPECT_EQ(piece.substr(0, 4), "GIOP");
    if (static_cast<uint8_t>(piece[7]) != kFragment) {
      messages.push_back({{piece}});
      continue;
    }
    // In 1.2 messages may come interleaved.
    auto it = messages.rbegin();
    while (piece[5] == 2 && it != messages.rend() && it->id() != IdOf(piece)) ++it;
    if (it == messages.rend()) {
      ADD_FAILURE() << "a fragment of nothing";
      break;
    }
    it->pieces.push_back(piece);
  }
  return messages;
}

// One request, and the reply if there was one.
struct Exchange {
  Said request, reply;
};

std::vector<Exchange> Exchanges(const std::vector<RecordingRelay::Connection>& recorded) {
  std::vector<Exchange> exchanges;
  for (const RecordingRelay::Connection& connection : recorded) {
    std::map<uint32_t, Said> replies;
    for (Said& said : Messages(connection.replies)) {
      if (said.type() == kReply || said.type() == kLocateReply) replies[said.id()] = said;
    }
    for (Said& said : Messages(connection.requests)) {
      if (said.type() != kRequest && said.type() != kLocateRequest) continue;
      const auto it = replies.find(said.id());
      exchanges.push_back({said, it == replies.end() ? Said{} : it->second});
    }
  }
  return exchanges;
}

// A message as a peer sees it, without its request id.
std::string Seen(const RawMessage& message) {
  std::string body = message.body;
  const size_t at = PlaceOfId(message.minor, message.type, message.order == Order::kLittle, body);
  if (at != std::string::npos && at + 4 <= body.size()) body.replace(at, 4, "#id#");
  return "1." + std::to_string(message.minor) +
         (message.order == Order::kBig ? " big" : " little") + " type " +
         std::to_string(message.type) + " in " + std::to_string(message.pieces) + ": " + body;
}

// Calls as the real client did, one after the other, and answers as the real server did.
class Replay {
 public:
  explicit Replay(std::vector<Exchange> exchanges)
      : exchanges_(std::move(exchanges)),
        server_([this](const RawMessage& message, int) { return Answer(message); }) {}

  // The server's.
  int port() const { return server_.port(); }

  // What the caller and the servant see.
  struct Views {
    std::vector<std::string> caller, servant;
  };
  // Has it all said to the server at `port`.
  Views Run(int port) {
    Views views;
    const auto connection = RawConnection::Tcp(port);
    EXPECT_TRUE(connection.ok()) << connection.status();
    if (!connection.ok()) return views;
    {
      MutexLock lock(&mu_);
      seen_.clear();
    }
    for (const Exchange& exchange : exchanges_) {
      {
        MutexLock lock(&mu_);
        current_ = &exchange;
        awaited_ = seen_.size() + 1;
      }
      EXPECT_TRUE((*connection)->Send(exchange.request.bytes()));
      if (exchange.reply.pieces.empty()) {
        // A oneway. Calls may overtake each other once a filter has suspended them.
        AwaitSeen();
        continue;
      }
      const auto reply = (*connection)->Receive();
      EXPECT_TRUE(reply.ok()) << reply.status();
      if (!reply.ok()) return views;
      views.caller.push_back(Seen(*reply));
    }
    MutexLock lock(&mu_);
    views.servant = std::move(seen_);
    return views;
  }

 private:
  void AwaitSeen() {
    MutexLock lock(&mu_);
    for (int tries = 0; seen_.size() < awaited_; ++tries) {
      if (tries == 200) {
        ADD_FAILURE() << "a oneway is lost";
        return;
      }
      changed_.WaitFor(&mu_, 100 * kMillisecond);
    }
  }
  std::string Answer(const RawMessage& message) {
    const size_t at =
        PlaceOfId(message.minor, message.type, message.order == Order::kLittle, message.body);
    const uint32_t id = NumberAt(message.body, at, message.order == Order::kLittle);
    MutexLock lock(&mu_);
    seen_.push_back(Seen(message));
    changed_.SignalAll();
    const bool answered =
        message.type == kLocateRequest ||
        (message.type == kRequest && DecodeRequest(message).value_or(RawCall{}).response_expected);
    return answered ? current_->reply.bytes(id) : "";
  }

  const std::vector<Exchange> exchanges_;
  Mutex mu_;
  CondVar changed_;
  size_t awaited_ ABSL_GUARDED_BY(mu_) = 0;
  const Exchange* current_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::vector<std::string> seen_ ABSL_GUARDED_BY(mu_);
  RawServer server_;
};

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const unsigned char c : bytes.substr(0, 300)) {
    char hex[4];
    snprintf(hex, sizeof hex, c >= 0x20 && c < 0x7f ? "%c" : "\\%02x", c);
    text += hex;
  }
  return text;
}

void ExpectSame(const std::string& who, const std::vector<std::string>& unfiltered,
                const std::vector<std::string>& filtered) {
  EXPECT_EQ(filtered.size(), unfiltered.size()) << who;
  for (size_t i = 0; i < std::min(filtered.size(), unfiltered.size()); ++i) {
    ASSERT_TRUE(filtered[i] == unfiltered[i]) << who << ", message " << i << ":\n"
                                              << Hex(unfiltered[i]) << "\nbecame\n"
                                              << Hex(filtered[i]);
  }
}

// Every plug has seen calls in both phases.
void ExpectAllPlugsWereCalled(const std::string& control) {
  for (const PassOnlyPlug& plug : PassOnlyPlugs()) {
    const Outcome one = RunWeir({"list", plug.name, "--control", control});
    EXPECT_TRUE(one.ok()) << one;
    EXPECT_THAT(one.out, AllOf(ContainsRegex("[*] +up +[1-9]"), ContainsRegex("[*] +down +[1-9]")))
        << plug.name;
  }
}

class Transparency : public ::testing::TestWithParam<const char*> {
 protected:
  // Nothing of Weir's is in it.
  static std::vector<Exchange> Record(const char* server, const char* client,
                                      const std::string& key, const Args& options) {
    const std::string version = GetParam();
    RecordingRelay relay;
    const Server upstream = StartOmniServer(server, {"-ORBmaxGIOPVersion", version});
    if (upstream.process == nullptr) return {};
    relay.set_target(PortOf(upstream.ior));
    Args arguments = {Corbaloc(relay.port(), key, version)};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = RunProgram(client, arguments);
    EXPECT_TRUE(outcome.ok()) << outcome;
    return Exchanges(relay.Take());
  }
};

TEST_P(Transparency, OfAGatewayBetweenOmniOrbPeersInEveryCase) {
  const std::string version = GetParam();
  Replay replay(Record(kServer, kClient, "interop",
                       version == "1.2" ? WideOptions() : Args{"-wchar", "-wstring"}));
  Replay::Views views[2];
  const TempDir dir;
  const std::string control = "unix:" + dir.File("c");
  for (const bool filtered : {false, true}) {
    const WeirNode gateway =
        StartWeir({"gateway", "--listen", "giop:tcp:127.0.0.1:0", "--control", control,
                   "--upstream", Corbaloc(replay.port(), "interop", version)},
                  filtered);
    ASSERT_TRUE(gateway);
    views[filtered] = replay.Run(gateway.port);
    if (filtered) ExpectAllPlugsWereCalled(control);
  }
  EXPECT_GT(views[0].caller.size(), 700u);
  EXPECT_GT(views[0].servant.size(), 700u);
  ExpectSame("the caller", views[0].caller, views[1].caller);
  ExpectSame("the servant", views[0].servant, views[1].servant);
}

TEST_P(Transparency, OfAServerOnOurOrb) {
  Replay replay(Record(kEchoServer, kEchoClient, "echo", {}));
  Replay::Views views[2];
  const TempDir dir;
  const std::string control = "unix:" + dir.File("c");
  for (const bool filtered : {false, true}) {
    const WeirNode node =
        StartWeir({"echo", "--listen", "giop:tcp:127.0.0.1:0", "--control", control}, filtered);
    ASSERT_TRUE(node);
    views[filtered] = replay.Run(node.port);
    if (filtered) ExpectAllPlugsWereCalled(control);
  }
  EXPECT_GT(views[0].caller.size(), 1000u);
  ExpectSame("the caller", views[0].caller, views[1].caller);
}

// What the caller is given: status, contexts and body.
struct Given {
  absl::Status status;
  orb::ReplyStatus reply;
  std::vector<std::pair<uint32_t, std::string>> contexts;
  std::string body;
  bool operator==(const Given&) const = default;
};

class Call : public orb::Invocation {
  void Done() override {}
};

// An exception's repository id and all that follows it, but for the octets that align it: omniORB
// sends in those whatever its buffer had there before.
std::string Members(const orb::Body& body) {
  cdr::Decoder in = body.decoder();
  std::string members(in.ReadString());
  if (members.find("omg.org/CORBA") == members.npos) {
    StrAppend(&members, " ", in.ReadString());
  } else {
    StrAppend(&members, " ", in.ReadULong());
  }
  StrAppend(&members, " ", in.ReadULong(), " ", in.remaining());
  EXPECT_TRUE(in.ok());
  return members;
}

TEST_P(Transparency, OfAClientOnOurOrb) {
  const std::string version = GetParam();
  RecordingRelay servants;
  const Server server = StartOmniServer(kServer, {"-ORBmaxGIOPVersion", version});
  ASSERT_NE(server.process, nullptr);
  servants.set_target(PortOf(server.ior));
  SystemClock clock;
  NullLogger logger;
  std::vector<std::string> at_servant[2];
  std::vector<Given> given[2];
  for (const bool filtered : {false, true}) {
    const auto filters = OutgoingFilters::New(&clock, filtered);
    {
      orb::Orb orb({}, &clock, &logger, nullptr);
      orb.AddMessaging(std::make_unique<giop::Giop>());
      orb.AddTransport(
          std::make_unique<orb::TcpTransport>(&clock, orb::TransportOptions::Supervised()));
      if (filters != nullptr) orb.FilterOutgoing(filters->gate());
      ASSERT_TRUE(orb.Start().ok());
      const auto target = orb.Resolve(Corbaloc(servants.port(), "interop", version));
      ASSERT_TRUE(target.ok()) << target.status();
      const auto invoke = [&](std::string_view operation, bool oneway, const auto& write) {
        cdr::ByteBuffer buffer;
        cdr::Encoder out(&buffer);
        write(&out);
        orb::Request request;
        request.operation = operation;
        request.body.bytes = buffer.view();
        request.response_expected = !oneway;
        request.contexts = {{0x12345678, "anybody's"}};
        Call call;
        call.request = &request;
        Given g;
        g.status = orb.invoker().Invoke(*target, &call);
        g.reply = call.reply.status;
        for (const orb::ServiceContext& c : call.reply.contexts) {
          g.contexts.emplace_back(c.id, std::string(c.data));
        }
        g.body = std::string(call.reply.body.bytes);
        if (call.reply.status != orb::ReplyStatus::kNoException) g.body = Members(call.reply.body);
        given[filtered].push_back(std::move(g));
        EXPECT_EQ(request.contexts.size(), 1u) << "the caller's request is as it was";
      };
      const auto nothing = [](cdr::Encoder*) {};
      for (const size_t size : {0, 1, 7, 8, 5000, 300'000}) {
        invoke("bounce_octets", false, [&](cdr::Encoder* out) {
          out->WriteOctet(1);
          out->WriteOctetSequence(std::string(size, 'x'));
        });
      }
      invoke("nothing", false, nothing);
      invoke("notify", true, [](cdr::Encoder* out) { out->WriteLong(3); });
      invoke("exchange_double", false, [](cdr::Encoder* out) {
        out->WriteDouble(1.5);
        out->WriteDouble(2.5);
      });
      invoke("refuse", false, [](cdr::Encoder* out) {
        out->WriteString("because");
        out->WriteLong(-7);
      });
      invoke("fail", false, [](cdr::Encoder* out) {
        out->WriteString("NO_RESOURCES");
        out->WriteULong(0x4f4d0003);
        out->WriteULong(2);
      });
      invoke("no_such_operation", false, nothing);
      invoke("_non_existent", false, nothing);
      for (const RecordingRelay::Connection& connection : servants.Take()) {
        for (const Said& said : Messages(connection.requests)) {
          at_servant[filtered].push_back(said.bytes(0));
        }
      }
      EXPECT_TRUE(orb.Shutdown(clock.Now() + 5 * kSecond).ok());
    }
    if (filtered) {
      EXPECT_GE(filters->least_calls(), 12u);
    }
  }
  EXPECT_GT(at_servant[0].size(), 12u);
  ExpectSame("the servant", at_servant[0], at_servant[1]);
  ASSERT_EQ(given[0].size(), given[1].size());
  for (size_t i = 0; i < given[0].size(); ++i) EXPECT_TRUE(given[0][i] == given[1][i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Giop, Transparency, ::testing::Values("1.0", "1.1", "1.2"),
                         [](const ::testing::TestParamInfo<const char*>& test) {
                           std::string name = test.param;
                           std::erase(name, '.');
                           return name;
                         });

}  // namespace
}  // namespace weir::testing
