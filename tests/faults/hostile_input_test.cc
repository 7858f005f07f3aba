// Input that broke other ORBs, octet by octet, sent to a live `weir echo` and to a live gateway.
// Each vector has one defined answer; another connection is served all the while, memory stays
// bounded, and nothing malformed reaches the upstream.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/faults/faults.h"

namespace weir::testing {
namespace {

using std::string_literals::operator""s;

enum class Answer {
  kServed,        // a reply without exception, and the connection goes on
  kMarshal,       // MARSHAL, completed NO, and the connection goes on
  kNothing,       // no answer is due, and the connection goes on
  kMessageError,  // MessageError, then the end
  kClosed,        // the end, without a word
};

struct Vector {
  std::string name;
  std::string bytes;
  Answer answer;
  // Of the requests in it that are in order, and so may reach an upstream.
  size_t calls = 0;
};

std::string Header(int minor, int flags, int type, std::string_view size) {
  return "GIOP\1"s + static_cast<char>(minor) + static_cast<char>(flags) + static_cast<char>(type) +
         std::string(size);
}

// A request's message; `write` follows the header.
std::string Message(int minor, int type, const std::function<void(RawWriter&)>& write,
                    bool more = false, Order order = Order::kBig) {
  RawWriter out(order, 12);
  write(out);
  return EncodeMessage(minor, order, static_cast<MessageType>(type), out.bytes(), more);
}

constexpr std::string_view kFlags("\3\0\0\0", 4);

// A GIOP 1.2 request up to its object key, which is `write`'s.
std::string Request12(const std::function<void(RawWriter&)>& write, bool more = false,
                      Order order = Order::kBig, uint32_t id = 7) {
  return Message(
      2, kRequest,
      [&](RawWriter& out) {
        out.Long(id).Raw(kFlags).Short(0);
        write(out);
      },
      more, order);
}

RawRequest Good(int minor = 2, Order order = Order::kBig) {
  RawRequest request = Ping(7, 41, "hostile");
  request.minor = minor;
  request.order = order;
  return request;
}

std::string Fragment12(std::string_view data, bool more = false, uint32_t id = 7,
                       Order order = Order::kBig) {
  return Message(
      2, kFragment, [&](RawWriter& out) { out.Long(id).Raw(data); }, more, order);
}

void AddSizes(std::vector<Vector>* v) {
  for (int low = 0xf4; low <= 0xff; ++low) {
    const char l = static_cast<char>(low);
    for (const int type : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const std::string name = "size 0xffffff" + std::to_string(low) + " type ";
      v->push_back({name + std::to_string(type), Header(2, 0, type, "\xff\xff\xff"s + l),
                    Answer::kMessageError});
      v->push_back({name + std::to_string(type) + " little",
                    Header(2, 1, type, l + "\xff\xff\xff"s), Answer::kMessageError});
    }
    for (const int minor : {0, 1}) {
      v->push_back({"size, GIOP 1." + std::to_string(minor),
                    Header(minor, 0, 0, "\xff\xff\xff"s + l) + std::string(4096, 'x'),
                    Answer::kMessageError});
    }
  }
  const std::string zero(4, '\0');
  for (const int type : {kRequest, kReply, kFragment, kCancelRequest, kLocateRequest}) {
    v->push_back(
        {"size 0 type " + std::to_string(type), Header(2, 0, type, zero), Answer::kMessageError});
  }
  v->push_back({"size 0, more fragments", Header(2, 2, kRequest, zero), Answer::kMessageError});
  v->push_back({"size 0, GIOP 1.0", Header(0, 0, kRequest, zero), Answer::kMessageError});
  v->push_back({"size 0, GIOP 1.1", Header(1, 0, kRequest, zero), Answer::kMessageError});
}

void AddHeaders(std::vector<Vector>* v) {
  const std::string zero(4, '\0');
  const auto bad = [v](std::string name, std::string bytes) {
    v->push_back({std::move(name), std::move(bytes), Answer::kMessageError});
  };
  bad("HTTP", "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  bad("TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s);
  bad("version 1.3", Header(3, 0, kRequest, zero));
  bad("version 2.0", "GIOP\2\0\0\0\0\0\0\0"s);
  bad("version 0.0", "GIOP\0\0\0\0\0\0\0\0"s);
  bad("type 8", Header(2, 0, 8, zero));
  bad("type 255", Header(2, 0, 255, zero));
  bad("reserved flag", Header(2, 4, kRequest, zero));
  bad("byte order 2 in GIOP 1.0", Header(0, 2, kRequest, zero));
  bad("Fragment in GIOP 1.0", Header(0, 0, kFragment, zero));
  bad("fragmented CloseConnection", Header(2, 2, kCloseConnection, zero));
  bad("Reply sent to a server", EncodeReply(2, Order::kBig, 7, 0, nullptr));
  bad("LocateReply sent to a server",
      Message(2, kLocateReply, [](RawWriter& out) { out.Long(7).Long(1); }));
  bad("malformed LocateRequest",
      Message(2, kLocateRequest, [](RawWriter& out) { out.Long(7).Short(0).Long(0xffffffff); }));
  bad("LocateRequest without a target",
      Message(2, kLocateRequest, [](RawWriter& out) { out.Long(7).Short(3).Long(0); }));
  v->push_back({"MessageError", Header(2, 0, kMessageError, zero), Answer::kClosed});
  v->push_back({"CloseConnection", Header(2, 0, kCloseConnection, zero), Answer::kClosed});
  v->push_back({"CancelRequest of nothing",
                Message(2, kCancelRequest, [](RawWriter& out) { out.Long(99); }),
                Answer::kNothing});
}

void AddRequests(std::vector<Vector>* v) {
  const auto marshal = [v](std::string name, std::string bytes) {
    v->push_back({std::move(name), std::move(bytes), Answer::kMarshal});
  };
  const auto operation = [&](std::string name, uint32_t length, std::string_view octets,
                             bool rest = true) {
    marshal("operation " + name, Request12([&](RawWriter& out) {
              out.Octets("hostile").Long(length).Raw(octets);
              if (rest) out.Long(0);
            }));
  };
  operation("without its NUL", 4, "ping");
  operation("of length 0", 0, "");
  operation("one past the end", 6, std::string_view("ping\0", 5), false);
  operation("of all ones", 0xffffffff, std::string_view("ping\0", 5));
  operation("with a NUL inside", 6, std::string_view("pi\0ng\0", 6));
  operation("of 1025 octets", 1026, std::string(1025, 'p') + '\0');
  marshal("object key length 0xffffffff",
          Request12([](RawWriter& out) { out.Long(0xffffffff).Raw("hostile"); }));
  marshal("object key one past the end",
          Request12([](RawWriter& out) { out.Long(8).Raw("hostile"); }));
  marshal("object key over the limit", Request12([](RawWriter& out) {
            out.Octets(std::string(65537, 'k')).String("ping").Long(0);
          }));
  const auto contexts = [](uint32_t count, std::string_view data) {
    return Request12(
        [&](RawWriter& out) { out.Octets("hostile").String("ping").Long(count).Raw(data); });
  };
  marshal("service context count 0xffffffff", contexts(0xffffffff, std::string(64, '\0')));
  marshal("65 empty service contexts", contexts(65, std::string(65 * 8, '\0')));
  marshal("service context of all ones",
          contexts(1, std::string_view("\0\0\0\1\xff\xff\xff\xff", 8)));
  for (const char flags : {'\2', '\4', '\x83'}) {
    marshal("response flags " + std::to_string(flags), Message(2, kRequest, [&](RawWriter& out) {
              out.Long(7).Octet(flags).Raw(std::string(3, '\0')).Short(0).Octets("hostile");
              out.String("ping").Long(0);
            }));
  }
  for (const int minor : {0, 1}) {
    const std::string version = ", GIOP 1." + std::to_string(minor);
    v->push_back({"service context count 0xffffffff" + version,
                  Message(minor, kRequest,
                          [](RawWriter& out) { out.Long(0xffffffff).Raw(std::string(64, 0)); }),
                  Answer::kMessageError});
    const auto old = [&](const std::function<void(RawWriter&)>& write) {
      return Message(minor, kRequest, [&](RawWriter& out) {
        out.Long(0).Long(7).Octet(1);
        if (minor == 1) out.Raw(std::string(3, '\0'));
        write(out);
      });
    };
    marshal("object key length 0xffffffff" + version,
            old([](RawWriter& out) { out.Long(0xffffffff); }));
    marshal("principal length 0xffffffff" + version,
            old([](RawWriter& out) { out.Octets("hostile").String("ping").Long(0xffffffff); }));
  }
  marshal("response_expected 2, GIOP 1.0", Message(0, kRequest, [](RawWriter& out) {
            out.Long(0).Long(7).Octet(2).Octets("hostile").String("ping").Long(0).Long(41);
          }));
}

void AddTargets(std::vector<Vector>* v) {
  for (const Addressing addressing : {kProfileAddr, kReferenceAddr}) {
    RawRequest request = Good();
    request.addressing = addressing;
    v->push_back(
        {"addressed by form " + std::to_string(addressing), Encode(request), Answer::kServed, 1});
  }
  const auto target = [v](std::string name, const std::function<void(RawWriter&)>& write) {
    v->push_back({"target " + name,
                  Message(2, kRequest,
                          [&](RawWriter& out) {
                            out.Long(7).Raw(kFlags);
                            write(out);
                          }),
                  Answer::kMarshal});
  };
  target("of unknown form",
         [](RawWriter& out) { out.Short(3).Octets("hostile").String("ping").Long(0); });
  target("profile of all ones", [](RawWriter& out) { out.Short(1).Long(0).Long(0xffffffff); });
  target("profile without a key", [](RawWriter& out) {
    out.Short(1).Long(0).Octets(std::string_view("\0\1\2\0", 4)).String("ping").Long(0);
  });
  target("profile of an unknown tag", [](RawWriter& out) {
    out.Short(1).Long(0x7fff).Octets("hostile").String("ping").Long(0);
  });
  target("profile index past the end", [](RawWriter& out) {
    out.Short(2).Long(1).String("").Long(1).Long(0).Octets("x").String("ping").Long(0);
  });
  target("profile index of all ones", [](RawWriter& out) {
    out.Short(2).Long(0xffffffff).String("").Long(0).String("ping").Long(0);
  });
  target("with profiles without end", [](RawWriter& out) {
    out.Short(2).Long(0).String("").Long(0xffffffff).Raw(std::string(64, '\0'));
  });
}

void AddFragments(std::vector<Vector>* v) {
  // 24 octets and whole: id, flags, and no more.
  const std::string first = Message(
      2, kRequest, [](RawWriter& out) { out.Long(7).Raw(kFlags).Short(0).Short(0); }, true);
  const auto bad = [v](std::string name, std::string bytes) {
    v->push_back({std::move(name), std::move(bytes), Answer::kMessageError});
  };
  const auto pieces = [](int minor = 2) {
    RawRequest request = Good(minor);
    request.contexts = {{0x7fff, std::string(100, 'c')}};
    std::string all;
    for (const std::string& piece : EncodeInPieces(request, 32)) all += piece;
    return all;
  };
  v->push_back({"in pieces", pieces(), Answer::kServed, 1});
  v->push_back(
      {"huge service context count in the first of two fragments",
       Request12(
           [](RawWriter& out) { out.Octets("hostile").String("ping").Long(0x7fffffff).Long(0); },
           true) +
           Fragment12(std::string(16, '\0')),
       Answer::kMarshal});
  v->push_back({"huge key length in the first of two fragments",
                Request12([](RawWriter& out) { out.Long(0x7fffffff).Long(0); }, true) +
                    Fragment12("hostile"),
                Answer::kMarshal});
  bad("mixed byte order", first + Fragment12("", false, 7, Order::kLittle) +
                              Fragment12("", false, 0x07000000, Order::kLittle));
  bad("mixed versions", first + Message(1, kFragment, [](RawWriter& out) { out.Long(0); }));
  bad("GIOP 1.1 fragment of nothing", Message(1, kFragment, [](RawWriter& out) { out.Long(7); }));
  bad("fragment without an id", Header(2, 0, kFragment, "\0\0\0\2"s) + "\0\0"s);
  bad("duplicate request id amid fragments", first + first);
  bad("whole request with an id that still arrives", first + Encode(Good()));
  bad("length that is no multiple of 8",
      Message(
          2, kRequest, [](RawWriter& out) { out.Long(7).Raw(kFlags).Short(0); }, true) +
          Fragment12("hostile"));
  std::string many;
  for (uint32_t id = 100; id < 117; ++id) {
    many += Message(
        2, kRequest, [&](RawWriter& out) { out.Long(id).Raw(kFlags).Short(0).Short(0); }, true);
  }
  bad("17 messages in fragments at a time", many);
  std::string endless = first;
  for (int i = 0; i < 8192; ++i) endless += Fragment12("", true);
  bad("8193 fragments", endless);
  std::string large = first;
  for (int i = 0; i < 40; ++i) large += Fragment12(std::string(32768, 'x'), true);
  bad("more than a message may have, in fragments", large);
  // Not an error: the one who sends it may not know yet that the message is over.
  v->push_back({"fragment after the last", pieces() + Fragment12("more"), Answer::kServed, 1});
  v->push_back({"fragment of nothing", Fragment12("more"), Answer::kNothing});
  v->push_back({"CancelRequest between fragments",
                first + Message(2, kCancelRequest, [](RawWriter& out) { out.Long(7); }) +
                    Fragment12("the rest"),
                Answer::kNothing});
  v->push_back(
      {"id used again after a CancelRequest between fragments",
       first + Message(2, kCancelRequest, [](RawWriter& out) { out.Long(7); }) + Encode(Good()),
       Answer::kServed, 1});
}

std::vector<Vector> AllVectors() {
  std::vector<Vector> v;
  AddSizes(&v);
  AddHeaders(&v);
  AddRequests(&v);
  AddTargets(&v);
  AddFragments(&v);
  return v;
}

// The place that the vectors are sent to.
class HostileInput : public ::testing::TestWithParam<const char*> {
 protected:
  bool gateway() const { return std::string(GetParam()) == "Gateway"; }

  void SetUp() override {
    const Args limits = {"--max-message-size", "1048576", "--idle-timeout", "0"};
    weir_ = gateway() ? StartGateway(upstream_.port(), limits) : StartWeir("echo", limits);
    ASSERT_NE(weir_.process, nullptr);
    auto other = RawConnection::Tcp(weir_.port);
    ASSERT_TRUE(other.ok());
    other_ = *std::move(other);
    ASSERT_TRUE(PingWorks(other_.get(), ++pings_));
  }

  void TearDown() override {
    if (weir_.process == nullptr) return;
    EXPECT_TRUE(PingWorks(other_.get(), ++pings_)) << "the connection that was there all the time";
    other_.reset();
    EXPECT_EQ(weir_.process->Stop(), 0) << weir_.process->err();
    EXPECT_EQ(upstream_.violations(), std::vector<std::string>());
  }

  // Of what is sent on a connection of its own: the answer that is due, or a failure.
  void Send(const Vector& vector) {
    SCOPED_TRACE(vector.name);
    auto connection = RawConnection::Tcp(weir_.port);
    ASSERT_TRUE(connection.ok());
    RawConnection& c = **connection;
    c.Send(vector.bytes);  // may fail: the answer may come before the end of it
    switch (vector.answer) {
      case Answer::kServed:
      case Answer::kMarshal: {
        auto message = c.Receive();
        ASSERT_TRUE(message.ok()) << message.status();
        auto reply = DecodeReply(*message);
        ASSERT_TRUE(reply.ok()) << reply.status();
        EXPECT_EQ(reply->id, 7u);
        if (vector.answer == Answer::kServed) {
          // `weir echo` serves another key.
          if (gateway()) {
            EXPECT_EQ(reply->status, 0u);
          } else {
            EXPECT_EQ(ExceptionOf(*reply).id, "OBJECT_NOT_EXIST");
          }
        } else {
          const RawException e = ExceptionOf(*reply);
          EXPECT_EQ(e.id, "MARSHAL");
          EXPECT_EQ(e.completed, kNo);
        }
        EXPECT_TRUE(PingWorks(&c, ++pings_));
        break;
      }
      case Answer::kNothing:
        EXPECT_TRUE(PingWorks(&c, ++pings_));
        break;
      case Answer::kMessageError: {
        auto message = c.Receive();
        ASSERT_TRUE(message.ok()) << message.status();
        EXPECT_EQ(message->type, kMessageError);
        EXPECT_EQ(message->body, "");
        EXPECT_TRUE(absl::IsOutOfRange(c.Receive().status()));
        break;
      }
      case Answer::kClosed:
        EXPECT_TRUE(absl::IsOutOfRange(c.Receive().status()));
        break;
    }
    EXPECT_TRUE(PingWorks(other_.get(), ++pings_));
    calls_ += vector.calls;
  }

  int64_t Memory() const { return ProcStatus(weir_.process->pid(), "VmRSS"); }

  RecordingUpstream upstream_{RecordingUpstream::Echo()};
  Weir weir_;
  std::unique_ptr<RawConnection> other_;
  uint32_t pings_ = 1000;
  size_t calls_ = 0;
};

TEST_P(HostileInput, EveryVectorHasItsAnswerAndHarmsNobodyElse) {
  const std::vector<Vector> vectors = AllVectors();
  for (const Vector& v : vectors) Send(v);
  const int64_t before = Memory();
  for (const Vector& v : vectors) {
    Send(v);
    if (HasFailure()) break;
  }
  // A block or two per thread may be anywhere; the same again must cost nothing more.
  EXPECT_LE(Memory() - before, kSanitized ? 64 * 1024 : 4 * 1024) << "KiB";
  if (gateway()) {
    EXPECT_EQ(upstream_.count("hostile ping"), calls_) << "those in order, and no others";
    EXPECT_EQ(upstream_.requests().size(), calls_ + pings_ - 1000);
  }
}

TEST_P(HostileInput, ArgumentsThatClaimMoreThanThereIsAllocateNothing) {
  // The front of a `bounce` of 2^32 - 1 octets, with more fragments to come: all in order so far.
  RawRequest request = Ping(7, 0);
  request.operation = "bounce";
  request.arguments = [](RawWriter* out) { out->Long(0xffffffff).Long(0); };
  std::string first = Encode(request);
  first[6] |= 2;
  ASSERT_EQ(first.size() % 8, 0u);
  const int64_t before = Memory();
  std::vector<std::unique_ptr<RawConnection>> connections;
  for (int i = 0; i < 200; ++i) {
    auto connection = RawConnection::Tcp(weir_.port);
    ASSERT_TRUE(connection.ok());
    ASSERT_TRUE((*connection)->Send(first));
    connections.push_back(*std::move(connection));
  }
  EXPECT_TRUE(PingWorks(other_.get(), ++pings_));
  EXPECT_LE(Memory() - before, kSanitized ? 128 * 1024 : 200 * 32) << "KiB, 200 connections";
  if (gateway()) {
    EXPECT_EQ(upstream_.count("echo bounce"), 0u);
    return;  // arguments pass undecoded: what they claim is between the client and the server
  }
  for (auto& connection : connections) {
    ASSERT_TRUE(connection->Send(Fragment12("")));
    auto message = connection->Receive();
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_EQ(ExceptionOf(*DecodeReply(*message)).id, "MARSHAL");
    EXPECT_TRUE(PingWorks(connection.get(), ++pings_));
  }
}

TEST_P(HostileInput, ARequestCutAtAnyOctetIsNeverExecuted) {
  for (const int minor : {0, 1, 2}) {
    RawRequest request = Good(minor, Order::kLittle);
    request.operation = "never";
    request.contexts = {{1, "one"}};
    request.arguments = nullptr;
    const std::string whole = Encode(request);
    for (size_t n = 0; n < whole.size(); ++n) {
      SCOPED_TRACE(::testing::Message() << "GIOP 1." << minor << ", " << n << " octets");
      // Cut by a peer that closes in the middle.
      auto connection = RawConnection::Tcp(weir_.port);
      ASSERT_TRUE(connection.ok());
      ASSERT_TRUE((*connection)->Send(whole.substr(0, n)));
      connection->reset();
      if (n < 12) continue;
      // Cut, with a size that says so.
      std::string cut = whole.substr(0, n);
      cut[8] = static_cast<char>(n - 12);
      connection = RawConnection::Tcp(weir_.port);
      ASSERT_TRUE(connection.ok());
      ASSERT_TRUE((*connection)->Send(cut));
      auto message = (*connection)->Receive();
      ASSERT_TRUE(message.ok()) << message.status();
      if (message->type == kMessageError) continue;
      EXPECT_EQ(ExceptionOf(*DecodeReply(*message)).id, "MARSHAL");
    }
  }
  EXPECT_EQ(upstream_.count("hostile never"), 0u);
}

TEST_P(HostileInput, RandomlyDamagedMessagesHarmNobodyElse) {
  std::vector<std::string> seeds;
  for (const Vector& v : AllVectors()) {
    if (v.bytes.size() > 12 && v.bytes.size() < 1000) seeds.push_back(v.bytes);
  }
  std::mt19937 random(2);
  const int64_t before = Memory();
  for (int i = 0; i < 1500; ++i) {
    std::string bytes = seeds[random() % seeds.size()];
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    auto connection = RawConnection::Tcp(weir_.port);
    ASSERT_TRUE(connection.ok());
    (*connection)->Send(bytes + bytes);
    if (i % 50 == 0) {
      ASSERT_TRUE(PingWorks(other_.get(), ++pings_)) << i;
    }
  }
  EXPECT_LE(Memory() - before, kSanitized ? 64 * 1024 : 6 * 1024) << "KiB";
}

INSTANTIATE_TEST_SUITE_P(At, HostileInput, ::testing::Values("Echo", "Gateway"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace weir::testing
