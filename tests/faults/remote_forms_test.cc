// One filter, written once, in three places: in the node's process, behind gRPC, and as an object
// on another ORB. Whatever it does, calls through a real server come out alike.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/strings.h"
#include "filters/builtin/builtin.h"
#include "filters/remote/filter_servant.h"
#include "filters/remote/grpc_host.h"
#include "filters/remote/grpc_kind.h"
#include "filters/remote/hosted_filter.h"
#include "filters/remote/ref_kind.h"
#include "tests/support/environment.h"
#include "tests/unit/core/testing.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

using orb::TestCall;
using orb::TestOrb;

// `probe`, whose methods read bodies and may change what they pass.
class ChangingKind : public ProbeKind {
 public:
  ChangingKind() {
    for (const MethodInfo& m : ProbeKind::methods()) {
      methods_.push_back(m);
      methods_.back().reads = Reads::kBody;
      methods_.back().changes = true;
    }
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }

 private:
  std::vector<MethodInfo> methods_;
};

class RemoteForms : public ::testing::TestWithParam<const char*> {
 protected:
  RemoteForms() {
    auto probe = std::make_unique<ChangingKind>();
    probe_ = probe.get();
    kinds_.Add(std::move(probe));
    kinds_.Add(NewGrpcKind());
    kinds_.Add(NewRefKind(&handle_));
    registry_ = std::make_unique<Registry>(&kinds_, &orb::TheClock(), &logger_);
    server_ = std::make_unique<TestOrb>(orb::OrbOptions(), registry_->gate());
    handle_.set(&**server_);
    server_->servant->On("echo", [this](orb::CallRef call) {
      ++executed_;
      seen_contexts_ = call->request().contexts.size();
      call->NewBody().WriteLong(orb::FunctionServant::Argument(*call));
      call->SetResult();
      call.Send();
    });
    endpoint_ = server_->Listen();
    target_ = client_.To({endpoint_});
  }
  ~RemoteForms() override {
    registry_->Drain(orb::TheClock().Now() + 5 * kSecond).IgnoreError();
    handle_.set(nullptr);
    server_.reset();  // as its calls may hold snapshots
    registry_.reset();
  }

  // Plugs the filter, with its methods `a` mapped to everything, wherever the case says.
  void Plug() {
    FilterParameters parameters;
    const std::string form = GetParam();
    if (form != "probe") {
      hosted_ = std::make_unique<HostedFilter>(probe_, *probe_->New({}, {}), policy_);
      if (policy_.timeout == 0) parameters["timeout"] = "20s";
    }
    if (form == "grpc") {
      auto host = ServeGrpcFilter("unix:" + dir_.File("filter"), hosted_.get());
      ASSERT_TRUE(host.ok()) << host.status();
      grpc_ = *std::move(host);
      parameters["at"] = grpc_->address();
    } else if (form == "ref") {
      host_ = std::make_unique<TestOrb>();
      const orb::Endpoint endpoint = host_->Listen();
      ASSERT_TRUE((*host_)
                      ->adapter()
                      .Activate("filter", std::make_shared<FilterServant>(hosted_.get()))
                      .ok());
      parameters["at"] = StrCat("corbaloc::1.2@", endpoint.address, "/filter");
    }
    auto prepared = registry_->Prepare(
        {PlugChange{"p", form, parameters, "all", 0}, MapUp("p", "*", "a"), MapDown("p", "*", "a")},
        std::nullopt);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    registry_->Publish(*std::move(prepared));
    if (form == "probe") return;
    ASSERT_TRUE(orb::Eventually([this] { return Counter("connected") == 1; }));
  }
  void Unplug() {
    auto prepared = registry_->Prepare({UnplugChange{"p"}}, std::nullopt);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    registry_->Publish(*std::move(prepared));
    EXPECT_TRUE(registry_->Drain(orb::In(orb::kPatience)).ok());
    grpc_.reset();
    host_.reset();
  }
  uint64_t Counter(std::string_view name) {
    for (const FilterCounter& c : registry_->Counters("p")) {
      if (c.name == name) return c.value;
    }
    return 0;
  }
  absl::Status Invoke(TestCall* call) {
    call->message.deadline = orb::In(orb::kPatience);
    return client_.Invoke(target_, call);
  }

  testing::TempDir dir_;
  OrbHandle handle_;
  FilterKinds kinds_;
  ChangingKind* probe_ = nullptr;
  DeclaredPolicy policy_;  // the hosted filter's
  NullLogger logger_;
  std::unique_ptr<HostedFilter> hosted_;
  std::unique_ptr<TestOrb> host_;
  std::unique_ptr<GrpcHost> grpc_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<TestOrb> server_;
  TestOrb client_;
  orb::Endpoint endpoint_;
  std::shared_ptr<orb::Target> target_;
  std::atomic<int> executed_{0};
  std::atomic<size_t> seen_contexts_{0};
};
INSTANTIATE_TEST_SUITE_P(Places, RemoteForms, ::testing::Values("probe", "grpc", "ref"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(RemoteForms, WhatTheFilterSeesIsTheCall) {
  std::string up, down;
  probe_->up = [&](const std::string&, std::string_view, orb::Call& call) {
    up = StrCat(call.request().object_key, " ", call.request().operation, " ",
                call.request().body.decoder().ReadLong(), " ", call.request().response_expected);
    return Verdict::kPass;
  };
  probe_->down = [&](const std::string&, std::string_view, orb::Call& call) {
    down =
        StrCat(call.request().object_key, " ", call.request().operation, " ",
               call.reply().body.decoder().ReadLong(), " ", static_cast<int>(call.reply().status));
    return Verdict::kPass;
  };
  Plug();
  TestCall call("echo", 41);
  ASSERT_TRUE(Invoke(&call).ok()) << call.status;
  EXPECT_EQ(call.result(), 41);
  EXPECT_EQ(up, "test echo 41 1");
  EXPECT_EQ(down, "test echo 41 0");
  EXPECT_EQ(executed_, 1);
}

TEST_P(RemoteForms, ABounceIsTheAnswerByteForByte) {
  probe_->up = [&](const std::string&, std::string_view, orb::Call& call) {
    const std::string_view operation = call.request().operation;
    if (operation == "result") {
      call.NewBody().WriteLong(99);
      call.SetResult();
    } else if (operation == "void") {
      call.NewBody();
      call.SetResult();
    } else if (operation == "user") {
      cdr::Encoder out = call.NewBody();
      out.WriteString("IDL:weir/No:1.0");
      out.WriteULongLong(0x0123456789abcdef);
      call.SetUserException();
    } else {
      call.SetSystemException({orb::ExceptionId::kNoMemory, 77, orb::Completion::kNo});
    }
    return Verdict::kBounce;
  };
  Plug();
  TestCall result("result"), nothing("void"), user("user"), system("system");
  ASSERT_TRUE(Invoke(&result).ok()) << result.status;
  EXPECT_EQ(result.result(), 99);
  ASSERT_TRUE(Invoke(&nothing).ok()) << nothing.status;
  EXPECT_EQ(nothing.reply.body.bytes, "");
  EXPECT_EQ(nothing.reply.status, orb::ReplyStatus::kNoException);
  ASSERT_TRUE(Invoke(&user).ok());
  EXPECT_EQ(user.reply.status, orb::ReplyStatus::kUserException);
  cdr::Decoder in = user.reply.body.decoder();
  EXPECT_EQ(in.ReadString(), "IDL:weir/No:1.0");
  EXPECT_EQ(in.ReadULongLong(), 0x0123456789abcdefu);
  ASSERT_TRUE(Invoke(&system).ok());
  EXPECT_EQ(system.exception().id, orb::ExceptionId::kNoMemory);
  EXPECT_EQ(system.exception().minor, 77u);
  EXPECT_EQ(system.exception().completed, orb::Completion::kNo);
  EXPECT_EQ(executed_, 0);
}

TEST_P(RemoteForms, ChangesOfTheRequestReachTheServant) {
  probe_->up = [&](const std::string&, std::string_view, orb::Call& call) {
    call.request().operation = call.Keep("echo");
    cdr::ByteBuffer body;
    cdr::Encoder(&body).WriteLong(5);
    call.request().body.bytes = call.Keep(std::string(body.view()));
    call.request().contexts.push_back({0x57454001, call.Keep("context")});
    return Verdict::kPass;
  };
  Plug();
  TestCall call("other", 41);
  ASSERT_TRUE(Invoke(&call).ok()) << call.status;
  EXPECT_EQ(call.result(), 5);
  EXPECT_EQ(executed_, 1);
  EXPECT_EQ(seen_contexts_, 1u);
}

TEST_P(RemoteForms, RepliesAreChangedAndRaisedOnTheirWayDown) {
  probe_->down = [&](const std::string&, std::string_view, orb::Call& call) {
    switch (call.reply().body.decoder().ReadLong()) {
      case 1: {
        cdr::ByteBuffer body;
        cdr::Encoder(&body).WriteLong(1000);
        call.reply().body.bytes = call.Keep(std::string(body.view()));
        return Verdict::kPass;
      }
      case 2:
        call.SetSystemException({orb::ExceptionId::kTransient, 3, orb::Completion::kYes});
        return Verdict::kRaise;
      default:
        return Verdict::kPass;
    }
  };
  Plug();
  TestCall changed("echo", 1), raised("echo", 2), passed("echo", 3);
  ASSERT_TRUE(Invoke(&changed).ok());
  EXPECT_EQ(changed.result(), 1000);
  ASSERT_TRUE(Invoke(&raised).ok());
  EXPECT_EQ(raised.exception().id, orb::ExceptionId::kTransient);
  EXPECT_EQ(raised.exception().completed, orb::Completion::kYes);
  ASSERT_TRUE(Invoke(&passed).ok());
  EXPECT_EQ(passed.result(), 3);
  EXPECT_EQ(executed_, 3);
}

TEST_P(RemoteForms, ARedirectGoesToTheOtherObject) {
  auto other = std::make_shared<orb::FunctionServant>();
  other->On("echo", [](orb::CallRef call) {
    call->NewBody().WriteLong(-7);
    call->SetResult();
    call.Send();
  });
  ASSERT_TRUE((*server_)->adapter().Activate("other", other).ok());
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    if (call.request().object_key == "other") return Verdict::kPass;
    call.Redirect("other");
    return Verdict::kRedirect;
  };
  Plug();
  for (int i = 0; i < 10; ++i) {
    TestCall call("echo", 41);
    ASSERT_TRUE(Invoke(&call).ok()) << call.status;
    EXPECT_EQ(call.result(), -7);
  }
  EXPECT_EQ(executed_, 0);
}

TEST_P(RemoteForms, ARedirectOfAReplyIsRefused) {
  if (GetParam() == std::string("probe")) return;  // such a filter is trusted to know better
  probe_->down = [](const std::string&, std::string_view, orb::Call& call) {
    call.Redirect("other");
    return Verdict::kRedirect;
  };
  Plug();
  TestCall call("echo", 41);
  ASSERT_TRUE(Invoke(&call).ok()) << call.status;
  EXPECT_EQ(call.result(), 41);
  EXPECT_EQ(executed_, 1);
  EXPECT_EQ(Counter("refused"), 1u);
}

TEST_P(RemoteForms, WhatItDeclaresHoldsWhenItHasGone) {
  if (GetParam() == std::string("probe")) return;  // it cannot be away
  policy_ = {.timeout = 30 * kSecond, .on_failure = "answer=result:big:0000002a"};
  Plug();
  TestCall before("echo", 1);
  ASSERT_TRUE(Invoke(&before).ok()) << before.status;
  EXPECT_EQ(before.result(), 1);
  grpc_.reset();
  host_.reset();
  ASSERT_TRUE(orb::Eventually([&] {
    TestCall call("echo", 1);
    return Invoke(&call).ok() && call.result() == 42;
  }));
  ASSERT_TRUE(orb::Eventually([this] { return Counter("connected") == 0; }));
  const int executed = executed_;
  TestCall after("echo", 1);
  ASSERT_TRUE(Invoke(&after).ok()) << after.status;
  EXPECT_EQ(after.result(), 42);
  EXPECT_EQ(executed_, executed);
}

TEST_P(RemoteForms, ARedirectGoesToAnObjectOfAnotherServer) {
  TestOrb elsewhere;
  elsewhere.servant->On("echo", [](orb::CallRef call) {
    call->NewBody().WriteLong(-8);
    call->SetResult();
    call.Send();
  });
  const std::string reference = StrCat("corbaloc::1.2@", elsewhere.Listen().address, "/test");
  probe_->up = [&](const std::string&, std::string_view, orb::Call& call) {
    EXPECT_TRUE(call.RedirectTo(reference).ok());
    return Verdict::kRedirect;
  };
  Plug();
  for (int i = 0; i < 10; ++i) {
    TestCall call("echo", 41);
    ASSERT_TRUE(Invoke(&call).ok()) << call.status;
    EXPECT_EQ(call.result(), -8);
  }
  EXPECT_EQ(executed_, 0);
}

TEST_P(RemoteForms, ARedirectToNowhereIsAFailureOfTheFilter) {
  probe_->up = [&](const std::string&, std::string_view, orb::Call& call) {
    if (absl::Status s = call.RedirectTo("corbaloc:nonsense"); !s.ok())
      throw std::runtime_error("");
    return Verdict::kRedirect;
  };
  Plug();
  TestCall call("echo", 41);
  ASSERT_TRUE(Invoke(&call).ok()) << call.status;
  EXPECT_EQ(call.exception().id, orb::ExceptionId::kNoPermission);
  if (std::string(GetParam()) != "probe") {
    EXPECT_EQ(Counter("failures"), 1u);
  }
  EXPECT_EQ(executed_, 0);
}

TEST_P(RemoteForms, AFilterThatThrowsFailsTheCallAndSaysNoMore) {
  probe_->up = [](const std::string&, std::string_view, orb::Call&) -> Verdict {
    throw std::runtime_error("secret");
  };
  Plug();
  TestCall call("echo", 41);
  ASSERT_TRUE(Invoke(&call).ok());
  EXPECT_EQ(call.exception().id, orb::ExceptionId::kNoPermission);
  EXPECT_EQ(call.exception().minor, static_cast<uint32_t>(orb::WeirMinor::kFilterFailed));
  EXPECT_EQ(call.reply.body.bytes.find("secret"), std::string_view::npos);
  EXPECT_EQ(executed_, 0);
}

TEST(HostedFilterTest, ALogElsewhereDoesNotInventHowLongTheCallTook) {
  FilterKinds kinds;
  AddBuiltinFilters(&kinds);
  const FilterKind* const kind = kinds.Find("log");
  MemoryLogger logger;
  ManualClock clock;
  HostedFilter hosted(kind, *kind->New({}, {&clock, &logger, "plug"}));
  ReceivedQuestion question;
  question.method = "reply";
  question.phase = Phase::kDown;
  bool passed = false;
  hosted.Judge(question, [&](Answer answer) { passed = answer.kind == Answer::Kind::kPass; });
  EXPECT_TRUE(passed);
  ASSERT_EQ(logger.lines.size(), 1u);
  EXPECT_NE(logger.lines[0].find("status="), std::string::npos) << logger.lines[0];
  EXPECT_EQ(logger.lines[0].find("microseconds"), std::string::npos) << logger.lines[0];
}

TEST_P(RemoteForms, LargeBodiesPassUnharmed) {
  std::atomic<size_t> seen{0};
  probe_->up = [&](const std::string&, std::string_view, orb::Call& call) {
    seen = call.request().body.bytes.size();
    return Verdict::kPass;
  };
  Plug();
  cdr::ByteBuffer body;
  cdr::Encoder out(&body);
  out.WriteLong(7);
  const std::string much(3'000'000, 'x');
  out.WriteString(much);
  TestCall call("echo");
  call.message.body.bytes = body.view();
  ASSERT_TRUE(Invoke(&call).ok()) << call.status;
  EXPECT_EQ(call.result(), 7);
  EXPECT_EQ(seen, body.size());
}

TEST_P(RemoteForms, ManyCallsAtATime) {
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    const int32_t value = call.request().body.decoder().ReadLong();
    if (value % 2 == 0) return Verdict::kPass;
    call.NewBody().WriteLong(-value);
    call.SetResult();
    return Verdict::kBounce;
  };
  Plug();
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 500; ++i) {
    calls.push_back(std::make_unique<TestCall>("echo", i));
    client_->invoker().Start(target_, calls.back().get());
  }
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(calls[i]->WaitDone());
    EXPECT_EQ(calls[i]->result(), i % 2 == 0 ? i : -i);
    EXPECT_EQ(calls[i]->done(), 1);
  }
  EXPECT_EQ(executed_, 250);
}

TEST_P(RemoteForms, AMethodThatTheFilterLacksIsRefused) {
  Plug();
  const auto prepared = registry_->Prepare({MapUp("p", "x", "nonsense")}, std::nullopt);
  EXPECT_EQ(prepared.status().code(), absl::StatusCode::kNotFound) << prepared.status();
}

// The depth of its calls reaches the filter's process, and comes back with them. A filter that
// waits must do so without its thread: questions that come behind gRPC have one for each stream.
TEST_P(RemoteForms, AFilterThatCallsTheObjectThatItFiltersComesToAnEnd) {
  for (const bool up : {true, false}) {
    TestOrb other;
    std::atomic<int> ran{0}, refused{0};
    Mutex mu;
    std::vector<std::unique_ptr<TestCall>> calls;
    executed_ = 0;
    probe_->up = probe_->down = [](const std::string&, std::string_view, orb::Call&) {
      return Verdict::kPass;
    };
    probe_->later = [&](Suspension call, Verdict verdict) {
      if ((call->reply().body.bytes.empty()) != up) return call.Resume(verdict);
      ++ran;
      auto suspended = std::make_shared<Suspension>(std::move(call));
      MutexLock lock(&mu);
      calls.push_back(std::make_unique<TestCall>("echo", 5, orb::In(orb::kPatience)));
      TestCall* const own = calls.back().get();
      own->on_done = [&, own, suspended, verdict] {
        if (own->exception().minor == static_cast<uint32_t>(orb::WeirMinor::kFilterLoop)) ++refused;
        suspended->Resume(verdict);
      };
      other->invoker().Start(other.To({endpoint_}), own);
    };
    Plug();
    TestCall call("echo", 7);
    ASSERT_TRUE(Invoke(&call).ok()) << call.status;
    EXPECT_EQ(call.result(), 7);
    EXPECT_EQ(ran, 4);
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(executed_, 4);
    for (const auto& own : calls) ASSERT_TRUE(own->WaitDone());
    Unplug();
  }
}

}  // namespace
}  // namespace weir::filters
