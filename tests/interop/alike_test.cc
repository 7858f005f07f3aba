// Filters make no difference between callers: calls by an omniORB stub, dynamic ones of omniORB
// (CORBA::Request, deferred, too), and those of our own Orb meet the same filters with the same
// outcomes, and get the same back.

#include <memory>
#include <sstream>
#include <string>
#include <utility>

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
#include "tests/interop/gateway.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kDynamicClient[] = "tests/peers/omni_dynamic_client";

class Call : public orb::Invocation {
  void Done() override {}
};

// What omni_dynamic_client does, by our Orb.
class OurClient {
 public:
  OurClient() : orb_({}, &clock_, &logger_, nullptr) {
    orb_.AddMessaging(std::make_unique<giop::Giop>());
    orb_.AddTransport(
        std::make_unique<orb::TcpTransport>(&clock_, orb::TransportOptions::Supervised()));
    EXPECT_TRUE(orb_.Start().ok());
  }
  ~OurClient() { EXPECT_TRUE(orb_.Shutdown(clock_.Now() + 5 * kSecond).ok()); }

  std::string Run(const std::string& reference) {
    auto target = orb_.Resolve(reference);
    EXPECT_TRUE(target.ok()) << target.status();
    if (!target.ok()) return "";
    target_ = *std::move(target);
    out_.str("");
    const auto nothing = [](auto*) {};
    Print("nothing", nothing, [](auto*) { return "void"; });
    Print(
        "exchange_long",
        [](cdr::Encoder* out) {
          out->WriteLong(7);
          out->WriteLong(9);
        },
        [](cdr::Decoder* in) {
          const int32_t result = in->ReadLong(), inout = in->ReadLong();
          return Three(result, inout, in->ReadLong());
        });
    Print(
        "exchange_short",
        [](cdr::Encoder* out) {
          out->WriteShort(7);
          out->WriteShort(9);
        },
        [](cdr::Decoder* in) {
          const int16_t result = in->ReadShort(), inout = in->ReadShort();
          return Three(result, inout, in->ReadShort());
        });
    Print(
        "refuse",
        [](cdr::Encoder* out) {
          out->WriteString("because");
          out->WriteLong(-7);
        },
        nothing);
    Print(
        "fail",
        [](cdr::Encoder* out) {
          out->WriteString("NO_RESOURCES");
          out->WriteULong(0x4f4d0003);
          out->WriteULong(2);
        },
        nothing);
    Print(
        "notify", [](cdr::Encoder* out) { out->WriteLong(3); }, [](auto*) { return "sent"; },
        /*oneway=*/true);
    Print("_get_label", nothing, [](cdr::Decoder* in) { return std::string(in->ReadString()); });
    Print(
        "doubled", [](cdr::Encoder* out) { out->WriteLong(21); },
        [](cdr::Decoder* in) { return std::to_string(in->ReadLong()); });
    Print(
        "sleep",
        [](cdr::Encoder* out) {
          out->WriteULong(0);
          out->WriteLong(5);
        },
        [](cdr::Decoder* in) { return std::to_string(in->ReadLong()); });
    return out_.str();
  }

 private:
  static std::string Three(int result, int inout, int out) {
    return std::to_string(result) + " " + std::to_string(inout) + " " + std::to_string(out);
  }

  template <typename Write, typename Read>
  void Print(const std::string& operation, const Write& write, const Read& read,
             bool oneway = false) {
    cdr::ByteBuffer buffer;
    cdr::Encoder arguments(&buffer);
    write(&arguments);
    orb::Request request;
    request.operation = operation;
    request.body.bytes = buffer.view();
    request.response_expected = !oneway;
    request.deadline = clock_.Now() + 20 * kSecond;
    Call call;
    call.request = &request;
    const absl::Status status = orb_.invoker().Invoke(target_, &call);
    EXPECT_TRUE(status.ok()) << status;
    cdr::Decoder in = call.reply.body.decoder();
    out_ << operation << ": ";
    if (call.reply.status == orb::ReplyStatus::kSystemException) {
      const orb::SystemException e = orb::DecodeSystemException(&in);
      char minor[16];
      snprintf(minor, sizeof minor, " 0x%08x ", e.minor);
      out_ << orb::ExceptionName(e.id) << minor
           << (e.completed == orb::Completion::kYes  ? "YES"
               : e.completed == orb::Completion::kNo ? "NO"
                                                     : "MAYBE");
    } else if (call.reply.status == orb::ReplyStatus::kUserException) {
      EXPECT_EQ(in.ReadString(), "IDL:weir/InteropTest/Refused:1.0");
      out_ << "Refused " << in.ReadString();
      in.ReadOctet();
      in.ReadDouble();
      out_ << " " << in.ReadLong();
    } else if constexpr (std::is_void_v<decltype(read(&in))>) {
      out_ << "void";
    } else {
      out_ << read(&in);
    }
    out_ << "\n";
  }

  SystemClock clock_;
  NullLogger logger_;
  orb::Orb orb_;
  std::shared_ptr<orb::Target> target_;
  std::ostringstream out_;
};

class Alike : public GatewayTest {
 protected:
  void Weir(Args arguments) {
    arguments.insert(arguments.end(), {"--control", "unix:" + gateway_->dir.File("c")});
    const Outcome outcome = RunWeir(arguments);
    ASSERT_TRUE(outcome.ok()) << outcome;
  }
  // Filters that count, bounce with an exception and with a result, and replace replies.
  void Plug() {
    Weir({"plug", "audit", "--filter", "count", "--on", "all"});
    Weir({"map", "audit", "*", "--up", "count", "--down", "count", "--enable"});
    Weir({"plug", "guard", "--filter", "deny", "--on", "key:interop"});
    Weir({"map", "guard", "doubled", "--up", "deny", "--enable"});
    Weir(
        {"plug", "fixed", "--filter", "replace", "--on", "key:inter*", "--set", "result=4d000000"});
    Weir({"map", "fixed", "sleep", "--up", "replace", "--enable"});
    Weir({"plug", "instead", "--filter", "replace", "--on", "all", "--set",
          "exception=NO_RESPONSE"});
    Weir({"map", "instead", "exchange_short", "--down", "replace_reply", "--enable"});
  }
  std::string List() {
    const Outcome outcome = RunWeir({"list", "--control", "unix:" + gateway_->dir.File("c")});
    EXPECT_TRUE(outcome.ok()) << outcome;
    return outcome.out;
  }
};

TEST_F(Alike, StaticAndDynamicCallsOfOmniOrbAndThoseOfOurOrb) {
  std::string printed, counted;
  for (const std::string& how : {std::string("static"), std::string("dynamic"),
                                 std::string("deferred"), std::string("ours")}) {
    gateway_ = std::make_unique<Gateway>(Corbaloc(upstream_port_, "interop"));
    ASSERT_TRUE(*gateway_);
    ASSERT_NO_FATAL_FAILURE(Plug());
    std::string out;
    if (how == "ours") {
      out = OurClient().Run(gateway_->Tcp("interop"));
    } else {
      const Outcome outcome = RunProgram(kDynamicClient, {gateway_->Tcp("interop"), how});
      EXPECT_TRUE(outcome.ok()) << outcome;
      out = outcome.out;
    }
    const std::string list = List();
    if (how == "static") {
      printed = out;
      counted = list;
      EXPECT_EQ(out,
                "nothing: void\n"
                "exchange_long: 7 7 9\n"
                "exchange_short: NO_RESPONSE 0x57454010 YES\n"
                "refuse: Refused because -7\n"
                "fail: NO_RESOURCES 0x4f4d0003 MAYBE\n"
                "notify: sent\n"
                "_get_label: none\n"
                "doubled: NO_PERMISSION 0x57454010 NO\n"
                "sleep: 77\n");
    }
    EXPECT_EQ(out, printed) << how;
    EXPECT_EQ(list, counted) << how;
  }
  printf("%s%s", printed.c_str(), counted.c_str());
}

}  // namespace
}  // namespace weir::testing
