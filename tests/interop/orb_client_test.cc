// Our Orb as a client of omniORB servers, in each GIOP version and over both transports.

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/logger.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orb/cdr/byte_buffer.h"
#include "orb/cdr/decoder.h"
#include "orb/cdr/encoder.h"
#include "orb/core/orb.h"
#include "orb/core/system_exception.h"
#include "orb/giop/giop.h"
#include "orb/transport/tcp.h"
#include "orb/transport/unix.h"
#include "tests/interop/outgoing_filters.h"
#include "tests/support/environment.h"
#include "tests/support/pass_only.h"
#include "tests/support/peers.h"

namespace weir::testing {
namespace {

using orb::Completion;
using orb::ExceptionId;
using orb::ReplyStatus;
using ::testing::Combine;
using ::testing::Values;

constexpr char kServer[] = "tests/peers/omni_interop_server";

std::string Pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 256);
  return text;
}

class Client {
 public:
  // 0 for `fragment_size`: requests are never sent in fragments.
  explicit Client(size_t fragment_size = 0) : orb_(Options(), &clock_, &logger_, nullptr) {
    giop::Limits limits;
    limits.fragment_size = fragment_size;
    if (filters_ != nullptr) orb_.FilterOutgoing(filters_->gate());
    orb_.AddMessaging(std::make_unique<giop::Giop>(limits));
    orb_.AddTransport(
        std::make_unique<orb::TcpTransport>(&clock_, orb::TransportOptions::Supervised()));
    orb_.AddTransport(
        std::make_unique<orb::UnixTransport>(&clock_, orb::TransportOptions::Supervised()));
    const absl::Status started = orb_.Start();
    EXPECT_TRUE(started.ok()) << started;
  }
  ~Client() {
    const absl::Status stopped = orb_.Shutdown(clock_.Now() + 5 * kSecond);
    EXPECT_TRUE(stopped.ok()) << stopped;
  }

  void Use(const std::string& reference) {
    auto target = orb_.Resolve(reference);
    ASSERT_TRUE(target.ok()) << target.status();
    target_ = *std::move(target);
  }

  // How a call ended, and its results.
  struct Result {
    absl::Status status;
    ReplyStatus reply = ReplyStatus::kNoException;
    std::string bytes;  // the body, copied
    orb::Body body;     // of `bytes` once it is at rest

    bool ok() const { return status.ok() && reply == ReplyStatus::kNoException; }
    cdr::Decoder decoder() const {
      return cdr::Decoder(bytes, body.order, body.alignment, body.restarts);
    }
  };
  using Writer = std::function<void(cdr::Encoder*)>;

  class Call : public orb::Invocation {
    void Done() override {}
  };

  Result Invoke(const std::string& operation, const Writer& arguments = nullptr,
                Nanos timeout = 20 * kSecond, bool oneway = false) {
    cdr::ByteBuffer buffer;
    cdr::Encoder out(&buffer);
    if (arguments) arguments(&out);
    orb::Request request;
    request.operation = operation;
    request.body.bytes = buffer.view();
    request.response_expected = !oneway;
    request.deadline = clock_.Now() + timeout;
    Call call;
    call.request = &request;
    Result result;
    result.status = orb_.invoker().Invoke(target_, &call);
    result.reply = call.reply.status;
    result.bytes = std::string(call.reply.body.bytes);
    result.body = call.reply.body;
    return result;
  }

  int64_t InvokeLong(const std::string& operation, const Writer& arguments = nullptr) {
    const Result result = Invoke(operation, arguments);
    EXPECT_TRUE(result.ok()) << operation << ": " << result.status;
    cdr::Decoder in = result.decoder();
    return in.ReadLong();
  }

  const Clock& clock() const { return clock_; }

 private:
  static orb::OrbOptions Options() {
    orb::OrbOptions options;
    char hostname[256] = "";
    gethostname(hostname, sizeof(hostname) - 1);
    options.hostname = hostname;
    return options;
  }

  SystemClock clock_;
  NullLogger logger_;
  const std::unique_ptr<OutgoingFilters> filters_ = OutgoingFilters::New(&clock_, FilteredRun());
  orb::Orb orb_;
  std::shared_ptr<orb::Target> target_;
};

Client::Writer Long(int32_t value) {
  return [value](cdr::Encoder* out) { out->WriteLong(value); };
}

// The version, the transport, and whether we send fragments.
class OrbClient : public ::testing::TestWithParam<std::tuple<const char*, const char*, size_t>> {
 protected:
  OrbClient() : client_(std::get<2>(GetParam())) {}
  void SetUp() override {
    Args options = {"-ORBmaxGIOPVersion", std::get<0>(GetParam())};
    if (std::string(std::get<1>(GetParam())) == "unix") {
      options.insert(options.end(), {"-ORBendPoint", "giop:unix:" + dir_.File("s")});
    }
    server_ = StartOmniServer(kServer, options);
    ASSERT_NE(server_.process, nullptr);
    client_.Use(server_.ior);
  }

  TempDir dir_;
  Server server_;
  Client client_;
};

TEST_P(OrbClient, BodiesOfAnySizeArriveInBothDirections) {
  for (size_t size : {0, 1, 7, 8, 8192, 65536, 1 << 20}) {
    const std::string data = Pattern(size);
    EXPECT_EQ(client_.InvokeLong("count_octets",
                                 [&](cdr::Encoder* out) { out->WriteOctetSequence(data); }),
              size);
    const Client::Result made = client_.Invoke("make_octets", Long(static_cast<int32_t>(size)));
    ASSERT_TRUE(made.ok()) << made.status;
    cdr::Decoder in = made.decoder();
    EXPECT_TRUE(in.ReadOctetSequence() == data && in.ok()) << size;
    const Client::Result bounced = client_.Invoke("bounce_octets", [&](cdr::Encoder* out) {
      out->WriteOctet(1);
      out->WriteOctetSequence(data);
    });
    ASSERT_TRUE(bounced.ok()) << bounced.status;
    in = bounced.decoder();
    EXPECT_TRUE(in.ReadOctetSequence() == data && in.ok()) << size;
  }
}

TEST_P(OrbClient, DoublesKeepTheirAlignmentAcrossFragments) {
  for (uint32_t size : {0, 1, 1000, 1020, 1021, 1022, 1023, 1024, 20000}) {
    const Client::Result result = client_.Invoke("bounce_doubles", [&](cdr::Encoder* out) {
      out->WriteOctet(1);
      out->WriteULong(size);
      for (uint32_t i = 0; i < size; ++i) out->WriteDouble(i * 0.5);
    });
    ASSERT_TRUE(result.ok()) << result.status;
    cdr::Decoder in = result.decoder();
    ASSERT_EQ(in.ReadULong(), size);
    if (size == 0) continue;
    // All at once: in the fragments of GIOP 1.1 omniORB aligns each single value anew, but a
    // sequence of numbers only at its beginning.
    in.Align(8);
    const std::string_view octets = in.ReadOctets(size * sizeof(double));
    ASSERT_TRUE(in.ok());
    std::vector<double> values(size);
    memcpy(values.data(), octets.data(), octets.size());
    for (uint32_t i = 0; i < size; ++i) ASSERT_EQ(values[i], i * 0.5);
  }
}

TEST_P(OrbClient, AUserExceptionKeepsItsMembers) {
  const Client::Result result = client_.Invoke("refuse", [](cdr::Encoder* out) {
    out->WriteString("because");
    out->WriteLong(-7);
  });
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.reply, ReplyStatus::kUserException);
  cdr::Decoder in = result.decoder();
  EXPECT_EQ(in.ReadString(), "IDL:weir/InteropTest/Refused:1.0");
  EXPECT_EQ(in.ReadString(), "because");
  EXPECT_EQ(in.ReadOctet(), 0xa5);
  EXPECT_EQ(in.ReadDouble(), -3.5);
  EXPECT_EQ(in.ReadLong(), -7);
  EXPECT_TRUE(in.ok());
}

TEST_P(OrbClient, ASystemExceptionKeepsItsMinorCodeAndCompletion) {
  for (uint32_t completion = 0; completion < 3; ++completion) {
    const Client::Result result = client_.Invoke("fail", [&](cdr::Encoder* out) {
      out->WriteString("NO_PERMISSION");
      out->WriteULong(0x4f4d0003);
      out->WriteULong(completion);
    });
    ASSERT_TRUE(result.status.ok()) << result.status;
    ASSERT_EQ(result.reply, ReplyStatus::kSystemException);
    cdr::Decoder in = result.decoder();
    const orb::SystemException e = orb::DecodeSystemException(&in);
    EXPECT_EQ(e.id, ExceptionId::kNoPermission);
    EXPECT_EQ(e.minor, 0x4f4d0003u);
    EXPECT_EQ(static_cast<uint32_t>(e.completed), completion);
  }
}

TEST_P(OrbClient, OnewaysArrive) {
  for (int i = 0; i < 10; ++i) {
    const Client::Result sent = client_.Invoke("notify", Long(i), 20 * kSecond, /*oneway=*/true);
    EXPECT_TRUE(sent.ok()) << sent.status;
  }
  int64_t notified = 0;
  for (int tries = 0; tries < 500 && notified != 45; ++tries) {
    notified = client_.InvokeLong("_get_notified");
    if (notified != 45) std::this_thread::sleep_for(Milliseconds(10));
  }
  EXPECT_EQ(notified, 45);
}

TEST_P(OrbClient, ManyThreadsShareTheConnections) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string data = Pattern((t * 7919 + i * 104729) % 50000);
        const Client::Result result = client_.Invoke("bounce_octets", [&](cdr::Encoder* out) {
          out->WriteOctet(1);
          out->WriteOctetSequence(data);
        });
        cdr::Decoder in = result.decoder();
        if (!result.ok() || in.ReadOctetSequence() != data) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

std::string NameOf(const ::testing::TestParamInfo<OrbClient::ParamType>& test) {
  std::string name = std::string("Giop") + std::get<0>(test.param) + std::get<1>(test.param) +
                     (std::get<2>(test.param) > 0 ? "Fragmented" : "");
  std::erase(name, '.');
  return name;
}

INSTANTIATE_TEST_SUITE_P(OverTcp, OrbClient,
                         Combine(Values("1.0", "1.1", "1.2"), Values("tcp"), Values(0)), NameOf);
INSTANTIATE_TEST_SUITE_P(OverUnix, OrbClient,
                         Combine(Values("1.2"), Values("unix"), Values(0, 1024)), NameOf);

// What a call that got no reply reports.
orb::SystemException ExceptionOf(const Client::Result& result) {
  EXPECT_FALSE(result.status.ok());
  return orb::FromStatus(result.status);
}

class OrbClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    port_ = FreePort();
    ASSERT_NO_FATAL_FAILURE(Restart());
    client_.Use(Corbaloc(port_, "interop"));
  }
  void Restart() {
    server_ = StartOmniServer(kServer, ListenOn(port_));
    ASSERT_NE(server_.process, nullptr);
  }

  int port_ = 0;
  Server server_;
  Client client_;
};

TEST_F(OrbClientTest, ADeadlineEndsACallWithTimeout) {
  const Client::Result late = client_.Invoke(
      "sleep",
      [](cdr::Encoder* out) {
        out->WriteULong(1500);
        out->WriteLong(1);
      },
      100 * kMillisecond);
  EXPECT_EQ(ExceptionOf(late).id, ExceptionId::kTimeout);
  // Its reply comes later, and must not be taken for another call's.
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(client_.InvokeLong("sleep",
                                 [&](cdr::Encoder* out) {
                                   out->WriteULong(250);
                                   out->WriteLong(100 + i);
                                 }),
              100 + i);
  }
}

TEST_F(OrbClientTest, AServerReplacedBetweenTwoCallsGoesUnnoticed) {
  for (int i = 0; i < 4; ++i) {
    const Client::Result result = client_.Invoke("nothing");
    EXPECT_TRUE(result.ok()) << result.status;
    if (i % 2 == 0) {
      server_.process->Stop();
    } else {
      server_.process->Kill();
    }
    ASSERT_NO_FATAL_FAILURE(Restart());
  }
}

TEST_F(OrbClientTest, AServerThatDiesInACallIsACommFailureAndMayHaveDoneIt) {
  // On the heap: gcc's asan does not align what it keeps apart from the stack to cache lines.
  const auto watcher = std::make_unique<Client>();
  watcher->Use(Corbaloc(port_, "interop"));
  Client::Result result;
  std::thread caller([&] {
    result = client_.Invoke("sleep", [](cdr::Encoder* out) {
      out->WriteULong(20000);
      out->WriteLong(1);
    });
  });
  for (int tries = 0; tries < 500 && watcher->InvokeLong("_get_sleepers") == 0; ++tries) {
    std::this_thread::sleep_for(Milliseconds(10));
  }
  server_.process->Kill();
  caller.join();
  const orb::SystemException e = ExceptionOf(result);
  EXPECT_EQ(e.id, ExceptionId::kCommFailure) << result.status;
  EXPECT_EQ(e.completed, Completion::kMaybe);
}

TEST_F(OrbClientTest, AServerThatIsNotThereIsTransientAndNamed) {
  server_.process->Stop();
  const Client::Result result = client_.Invoke("nothing");
  const orb::SystemException e = ExceptionOf(result);
  EXPECT_EQ(e.id, ExceptionId::kTransient);
  EXPECT_EQ(e.completed, Completion::kNo);
  EXPECT_THAT(std::string(result.status.message()),
              ::testing::HasSubstr("127.0.0.1:" + std::to_string(port_)));
}

// CosNaming by hand: the names that a real name server resolves for us.
TEST(OrbClientNames, BindsAndResolvesInOmniNames) {
  const NameServer names;
  ASSERT_TRUE(names.running());
  const auto client = std::make_unique<Client>();
  client->Use(names.reference());
  const auto name = [](cdr::Encoder* out) {
    out->WriteULong(1);
    out->WriteString("entry");
    out->WriteString("kind");
  };
  const Client::Result missing = client->Invoke("resolve", name);
  ASSERT_EQ(missing.reply, ReplyStatus::kUserException) << missing.status;
  cdr::Decoder in = missing.decoder();
  EXPECT_EQ(in.ReadString(), "IDL:omg.org/CosNaming/NamingContext/NotFound:1.0");

  const auto ior = orb::ParseIor(names.ior());
  ASSERT_TRUE(ior.ok()) << ior.status();
  const Client::Result bound = client->Invoke("bind", [&](cdr::Encoder* out) {
    name(out);
    orb::EncodeIor(*ior, out);
  });
  EXPECT_TRUE(bound.ok()) << bound.status;
  const Client::Result found = client->Invoke("resolve", name);
  ASSERT_TRUE(found.ok()) << found.status;
  in = found.decoder();
  const auto resolved = orb::DecodeIor(&in);
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->type_id, "IDL:omg.org/CosNaming/NamingContextExt:1.0");
  EXPECT_EQ(RunProgram("nameclt",
                       {"-ORBInitRef", "NameService=" + names.reference(), "resolve", "entry.kind"})
                .out,
            orb::ToString(*resolved) + "\n");
}

}  // namespace
}  // namespace weir::testing
