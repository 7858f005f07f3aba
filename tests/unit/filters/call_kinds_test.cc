// Every kind of call and of reply, through filters in a real server and in a real client, that
// answer at once and later: what the filters see of it, and what becomes of what they do.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/unit/core/testing.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

using orb::ReplyStatus;
using orb::TestOrb;

enum class Place { kServer, kClient };

// A call with any arguments.
class AnyCall : public orb::Invocation {
 public:
  explicit AnyCall(std::string_view operation, std::vector<int32_t> arguments = {}) {
    cdr::Encoder out(&body_);
    for (const int32_t value : arguments) out.WriteLong(value);
    message.operation = operation;
    message.body.bytes = body_.view();
    message.deadline = orb::In(orb::kPatience);
    request = &message;
  }
  // The longs of the reply.
  std::vector<int32_t> longs() const { return Longs(reply.body.decoder()); }
  static std::vector<int32_t> Longs(cdr::Decoder in) {
    std::vector<int32_t> values;
    for (;;) {
      const int32_t value = in.ReadLong();
      if (!in.ok()) return values;
      values.push_back(value);
    }
  }

  orb::Request message;

 private:
  void Done() override {}
  cdr::ByteBuffer body_;
};

constexpr char kRefused[] = "IDL:weir/Refused:1.0";

class CallKinds : public RegistryTest,
                  public ::testing::WithParamInterface<std::tuple<Place, bool>> {
 protected:
  CallKinds() {
    if (std::get<1>(GetParam())) {
      probe_->later = [this](Suspension call, Verdict verdict) {
        std::lock_guard<std::mutex> lock(mu_);
        threads_.emplace_back(
            [call = std::move(call), verdict]() mutable { call.Resume(verdict); });
      };
    }
    server_.servant->On("nothing", [this](orb::CallRef call) {
      ++executed_;
      call->NewBody();
      call->SetResult();
      call.Send();
    });
    server_.servant->On("notify", [this](orb::CallRef call) {
      ++executed_;
      call.Send();
    });
    // long exchange(in long a, inout long b, out long c): returns a, b becomes a, c what b was.
    server_.servant->On("exchange", [this](orb::CallRef call) {
      ++executed_;
      cdr::Decoder in = call->request().body.decoder();
      const int32_t a = in.ReadLong(), b = in.ReadLong();
      cdr::Encoder out = call->NewBody();
      for (const int32_t value : {a, a, b}) out.WriteLong(value);
      call->SetResult();
      call.Send();
    });
    server_.servant->On("refuse", [this](orb::CallRef call) {
      ++executed_;
      cdr::Encoder out = call->NewBody();
      out.WriteString(kRefused);
      out.WriteLong(7);
      call->SetUserException();
      call.Send();
    });
    server_.servant->On("fail", [this](orb::CallRef call) {
      ++executed_;
      call.SendSystemException({orb::ExceptionId::kNoMemory, 5, orb::Completion::kMaybe});
    });
    endpoint_ = server_.Listen();
    const auto note = [this](const std::string&, std::string_view method, orb::Call& call) {
      std::lock_guard<std::mutex> lock(mu_);
      ups_.push_back(std::string(method));
      seen_request_ = AnyCall::Longs(call.request().body.decoder());
      return Verdict::kPass;
    };
    probe_->up = note;
    probe_->down = [this](const std::string&, std::string_view method, orb::Call& call) {
      std::lock_guard<std::mutex> lock(mu_);
      downs_.push_back(std::string(method));
      seen_status_ = call.reply().status;
      seen_reply_ = std::string(call.reply().body.bytes);
      return Verdict::kPass;
    };
    Commit({PlugOn("p", "key:test"), MapUp("p", "*", "a"), MapDown("p", "*", "a")});
  }
  ~CallKinds() override {
    // Those of the way up have made those of the way down.
    for (bool none = false; !none;) {
      std::vector<std::thread> threads;
      {
        std::lock_guard<std::mutex> lock(mu_);
        threads.swap(threads_);
      }
      for (std::thread& t : threads) t.join();
      none = threads.empty();
    }
  }

  void Make(AnyCall* call) { (void)client_->invoker().Invoke(client_.To({endpoint_}), call); }
  static orb::SystemException ExceptionOf(const AnyCall& call) {
    cdr::Decoder in = call.reply.body.decoder();
    return orb::DecodeSystemException(&in);
  }
  // Calls of the servant, once all that were sent have come.
  int executed(int wanted) {
    EXPECT_TRUE(orb::Eventually([&] { return executed_ >= wanted; }));
    return executed_;
  }
  std::vector<std::string> ups() {
    std::lock_guard<std::mutex> lock(mu_);
    return ups_;
  }
  std::vector<std::string> downs() {
    std::lock_guard<std::mutex> lock(mu_);
    return downs_;
  }

  std::mutex mu_;
  std::vector<std::string> ups_, downs_;  // the methods that ran
  std::vector<int32_t> seen_request_;
  ReplyStatus seen_status_ = ReplyStatus::kNoException;
  std::string seen_reply_;
  std::vector<std::thread> threads_;
  std::atomic<int> executed_{0};
  const bool at_server_ = std::get<0>(GetParam()) == Place::kServer;
  TestOrb server_{{}, at_server_ ? registry_.gate() : nullptr};
  TestOrb client_{{}, nullptr, at_server_ ? nullptr : registry_.gate()};
  orb::Endpoint endpoint_;
};
INSTANTIATE_TEST_SUITE_P(Filters, CallKinds,
                         ::testing::Combine(::testing::Values(Place::kServer, Place::kClient),
                                            ::testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) == Place::kServer
                                                  ? "InTheServer"
                                                  : "InTheClient") +
                                  (std::get<1>(test.param) ? "Later" : "AtOnce");
                         });

TEST_P(CallKinds, AVoidOperationHasBothPhasesAndAnEmptyReply) {
  AnyCall call("nothing");
  Make(&call);
  EXPECT_TRUE(call.status.ok()) << call.status;
  EXPECT_EQ(call.reply.status, ReplyStatus::kNoException);
  EXPECT_EQ(call.reply.body.bytes, "");
  EXPECT_EQ(ups().size(), 1u);
  EXPECT_EQ(downs().size(), 1u);
  EXPECT_EQ(seen_status_, ReplyStatus::kNoException);
  EXPECT_EQ(seen_reply_, "");
}

TEST_P(CallKinds, AVoidOperationIsBouncedByAnEmptyResult) {
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    call.NewBody();
    call.SetResult();
    return Verdict::kBounce;
  };
  AnyCall call("nothing");
  Make(&call);
  EXPECT_TRUE(call.status.ok()) << call.status;
  EXPECT_EQ(call.reply.status, ReplyStatus::kNoException);
  EXPECT_EQ(executed_, 0);
}

TEST_P(CallKinds, AOnewayHasAnUpPhaseOnly) {
  AnyCall call("notify", {3});
  call.message.response_expected = false;
  Make(&call);
  EXPECT_TRUE(call.status.ok()) << call.status;
  EXPECT_EQ(executed(1), 1);
  EXPECT_EQ(ups().size(), 1u);
  EXPECT_EQ(seen_request_, (std::vector<int32_t>{3}));
  EXPECT_EQ(downs().size(), 0u);
}

TEST_P(CallKinds, ABouncedOnewayIsNotExecutedAndNothingComesBack) {
  probe_->up = [this](const std::string&, std::string_view, orb::Call& call) {
    std::lock_guard<std::mutex> lock(mu_);
    ups_.push_back("bounced");
    call.SetSystemException({orb::ExceptionId::kNoPermission, 5, orb::Completion::kNo});
    return Verdict::kBounce;
  };
  AnyCall oneway("notify", {3});
  oneway.message.response_expected = false;
  Make(&oneway);
  EXPECT_TRUE(oneway.status.ok()) << oneway.status;
  EXPECT_TRUE(orb::Eventually([&] { return ups().size() == 1; }));
  // The connection goes on: the next call gets its own reply.
  Commit({DisableUp("p")});
  AnyCall next("exchange", {1, 2});
  Make(&next);
  EXPECT_EQ(next.longs(), (std::vector<int32_t>{1, 1, 2}));
  EXPECT_EQ(executed_, 1);
}

TEST_P(CallKinds, InAndInoutArgumentsAreInTheRequestAndInoutAndOutOnesInTheReply) {
  AnyCall call("exchange", {1, 2});
  Make(&call);
  EXPECT_EQ(seen_request_, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(AnyCall::Longs(cdr::Decoder(seen_reply_, cdr::kNativeOrder)),
            (std::vector<int32_t>{1, 1, 2}));
  EXPECT_EQ(call.longs(), (std::vector<int32_t>{1, 1, 2}));
}

TEST_P(CallKinds, InoutArgumentsMayBeChangedOnBothWaysAndOutOnesOnTheWayBack) {
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    cdr::ByteBuffer body;
    cdr::Encoder out(&body);
    out.WriteLong(10);
    out.WriteLong(20);
    call.request().body.bytes = call.Keep(std::string(body.view()));
    return Verdict::kPass;
  };
  probe_->down = [](const std::string&, std::string_view, orb::Call& call) {
    std::vector<int32_t> values = AnyCall::Longs(call.reply().body.decoder());
    cdr::Encoder out = call.NewBody();
    for (const int32_t value : values) out.WriteLong(value + 1);
    call.SetResult();
    return Verdict::kPass;
  };
  AnyCall call("exchange", {1, 2});
  Make(&call);
  EXPECT_EQ(call.longs(), (std::vector<int32_t>{11, 11, 21}));
}

TEST_P(CallKinds, AUserExceptionIsSeenOnTheWayDownWithItsMembersAndReachesTheCaller) {
  AnyCall call("refuse");
  Make(&call);
  EXPECT_EQ(seen_status_, ReplyStatus::kUserException);
  cdr::Decoder seen(seen_reply_, cdr::kNativeOrder);
  EXPECT_EQ(seen.ReadString(), kRefused);
  EXPECT_EQ(seen.ReadLong(), 7);
  EXPECT_TRUE(call.status.ok()) << call.status;
  EXPECT_EQ(call.reply.status, ReplyStatus::kUserException);
  cdr::Decoder in = call.reply.body.decoder();
  EXPECT_EQ(in.ReadString(), kRefused);
  EXPECT_EQ(in.ReadLong(), 7);
}

TEST_P(CallKinds, ASystemExceptionIsSeenOnTheWayDownAndReachesTheCallerAsItWas) {
  AnyCall call("fail");
  Make(&call);
  EXPECT_EQ(seen_status_, ReplyStatus::kSystemException);
  EXPECT_EQ(ExceptionOf(call).id, orb::ExceptionId::kNoMemory);
  EXPECT_EQ(ExceptionOf(call).minor, 5u);
  EXPECT_EQ(ExceptionOf(call).completed, orb::Completion::kMaybe);
}

TEST_P(CallKinds, ExceptionsMayBecomeOthersOrResultsOnTheWayDown) {
  probe_->down = [](const std::string&, std::string_view, orb::Call& call) {
    if (call.reply().status == ReplyStatus::kUserException) {
      call.SetSystemException({orb::ExceptionId::kNoResources, 9, orb::Completion::kYes});
      return Verdict::kRaise;
    }
    call.NewBody().WriteLong(-1);
    call.SetResult();
    return Verdict::kPass;
  };
  AnyCall refused("refuse"), failed("fail");
  Make(&refused);
  EXPECT_EQ(refused.reply.status, ReplyStatus::kSystemException);
  EXPECT_EQ(ExceptionOf(refused).id, orb::ExceptionId::kNoResources);
  Make(&failed);
  EXPECT_EQ(failed.reply.status, ReplyStatus::kNoException);
  EXPECT_EQ(failed.longs(), (std::vector<int32_t>{-1}));
}

TEST_P(CallKinds, ABounceMayBeAUserException) {
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    cdr::Encoder out = call.NewBody();
    out.WriteString(kRefused);
    out.WriteLong(3);
    call.SetUserException();
    return Verdict::kBounce;
  };
  AnyCall call("exchange", {1, 2});
  Make(&call);
  EXPECT_EQ(executed_, 0);
  EXPECT_EQ(call.reply.status, ReplyStatus::kUserException);
  EXPECT_EQ(call.reply.body.decoder().ReadString(), kRefused);
}

TEST_P(CallKinds, OfTwoMappingsOfOneOperationTheEnabledOneRunsAndEnablingItDisablesItsSibling) {
  Commit({MapUp("p", "exchange", "a"), MapUp("p", "exchange", "b", false)});
  AnyCall call("exchange", {1, 2});
  Make(&call);
  EXPECT_EQ(ups(), (std::vector<std::string>{"a"}));
  Commit({EnableUp("p", "exchange", "b")});
  Make(&call);
  EXPECT_EQ(ups(), (std::vector<std::string>{"a", "b"}));
  int enabled = 0;
  const State state = registry_.state();
  for (const Mapping& m : state.plugs[0].mappings) {
    if (m.operation == "exchange" && m.phase == Phase::kUp && m.enabled) ++enabled;
  }
  EXPECT_EQ(enabled, 1);
}

}  // namespace
}  // namespace weir::filters
