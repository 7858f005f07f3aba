// Filters that make calls, and among them calls of what they filter: they come to an end, at once
// and with an exception that says so. In real servers and clients.

#include "orb/core/nesting.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/strings.h"
#include "filters/remote/filter_servant.h"
#include "filters/remote/hosted_filter.h"
#include "filters/remote/ref_kind.h"
#include "tests/unit/core/testing.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

using orb::TestCall;
using orb::TestOrb;

// Depths 0 to 3 meet filters; the call that would be the fifth is refused.
constexpr int kDepths = 4;

class Nesting : public RegistryTest {
 protected:
  Nesting() {
    server_.servant->On("ping", [this](orb::CallRef call) {
      ++executed_;
      const auto& contexts = call->request().contexts;
      {
        std::lock_guard<std::mutex> lock(mu_);
        depths_.push_back(orb::NestingIn(contexts));
        contexts_.push_back(contexts.size());
      }
      if (!call->request().response_expected) return call.Send();
      orb::FunctionServant::AnswerPlusOne(std::move(call));
    });
    target_ = client_.To({endpoint_});
  }

  // A hook that calls the object that it filters.
  ProbeKind::Hook Calling(TestOrb* orb) {
    return [this, orb](const std::string&, std::string_view, orb::Call&) {
      ++ran_;
      TestCall call("ping", 100, orb::In(orb::kPatience));
      (void)orb->Invoke(orb->To({endpoint_}), &call);
      EXPECT_TRUE(call.message.contexts.empty()) << "the caller's request is as it was";
      if (call.status.ok() && call.reply.status == orb::ReplyStatus::kNoException) {
        EXPECT_EQ(call.result(), 101);
      } else {
        ++refused_;
        const orb::SystemException e = call.exception();
        EXPECT_EQ(e.id, orb::ExceptionId::kTransient) << call.status;
        EXPECT_EQ(e.minor, static_cast<uint32_t>(orb::WeirMinor::kFilterLoop));
        EXPECT_EQ(e.completed, orb::Completion::kNo);
      }
      return Verdict::kPass;
    };
  }
  int32_t Ping(TestOrb* orb) {
    return orb->Ping(orb->To({endpoint_}), 41, orb::In(orb::kPatience));
  }
  std::vector<int> depths() {
    std::lock_guard<std::mutex> lock(mu_);
    return depths_;
  }

  std::mutex mu_;
  std::vector<int> depths_;       // of the calls that the servant has had, in order
  std::vector<size_t> contexts_;  // how many they had
  std::atomic<int> executed_{0}, ran_{0}, refused_{0};
  TestOrb server_{{.reactor = {.min_threads = 2}}, registry_.gate()};
  orb::Endpoint endpoint_ = server_.Listen();
  TestOrb client_;
  TestOrb filtered_client_{{}, nullptr, registry_.gate()};
  std::shared_ptr<orb::Target> target_;
};

TEST_F(Nesting, AFilterThatCallsTheObjectThatItFiltersComesToAnEnd) {
  for (TestOrb* const by : {&client_, &server_}) {
    ran_ = refused_ = executed_ = 0;
    probe_->up = Calling(by);
    Commit({PlugOn("p", "key:test"), MapUp("p", "*", "a")});
    EXPECT_EQ(Ping(&client_), 42);
    EXPECT_EQ(ran_, kDepths);
    EXPECT_EQ(refused_, 1);
    EXPECT_EQ(executed_, kDepths);
    Commit({Unplug("p")});
  }
  ASSERT_EQ(logger_.lines.size(), 2u);
  EXPECT_NE(logger_.lines[0].find("event=filter_loop"), std::string::npos) << logger_.lines[0];
  EXPECT_NE(logger_.lines[0].find("operation=ping"), std::string::npos) << logger_.lines[0];
}

TEST_F(Nesting, ADownMethodThatCallsTheObjectThatItFiltersComesToAnEnd) {
  probe_->down = Calling(&client_);
  Commit({PlugOn("p", "key:test"), MapDown("p", "*", "a")});
  EXPECT_EQ(Ping(&client_), 42);
  EXPECT_EQ(ran_, kDepths);
  EXPECT_EQ(refused_, 1);
}

// A down method in a gateway runs on the thread that reads the upstream's replies.
TEST_F(Nesting, AFilterThatWouldWaitForWhatItsOwnThreadReadsIsToldSo) {
  TestOrb gateway({}, registry_.gate());
  SystemClock clock;
  const orb::Endpoint front = gateway.Listen();
  probe_->down = [&](const std::string&, std::string_view, orb::Call&) {
    ++ran_;
    TestCall call("ping", 100, orb::In(orb::kPatience));
    (void)gateway.Invoke(gateway.To({front}, "other"), &call);
    if (call.exception().id == orb::ExceptionId::kBadInvOrder) {
      ++refused_;
      EXPECT_EQ(call.exception().minor, static_cast<uint32_t>(orb::WeirMinor::kFilterBlocks));
      EXPECT_TRUE(call.message.contexts.empty());
    }
    return Verdict::kPass;
  };
  Commit({PlugOn("p", "key:through"), MapDown("p", "*", "a")});
  auto servant = std::make_shared<orb::FunctionServant>();
  TestOrb upstream;
  ASSERT_TRUE(upstream->adapter().Activate("through", servant).ok());
  gateway->adapter().SetDefaultServant(std::make_shared<orb::Forwarder>(
      &gateway->invoker(), gateway.To({upstream.Listen()}), &gateway->reactor(), &clock, &logger_,
      orb::ForwarderOptions()));
  EXPECT_EQ(client_.Ping(client_.To({front}, "through"), 41, orb::In(orb::kPatience)), 42);
  EXPECT_EQ(ran_, 1);
  EXPECT_EQ(refused_, 1);
}

TEST_F(Nesting, AClientsFilterThatCallsTheObjectThatItFiltersComesToAnEnd) {
  TestOrb unfiltered;
  probe_->up = Calling(&filtered_client_);
  Commit({PlugOn("p", "key:other"), MapUp("p", "*", "a")});
  auto other = std::make_shared<orb::FunctionServant>();
  ASSERT_TRUE(unfiltered->adapter().Activate("other", other).ok());
  // The server's side of it has no filters: they are all the client's.
  endpoint_ = unfiltered.Listen();
  const auto target = filtered_client_.To({endpoint_}, "other");
  probe_->up = [&](const std::string&, std::string_view, orb::Call&) {
    ++ran_;
    TestCall call("ping", 100, orb::In(orb::kPatience));
    (void)filtered_client_.Invoke(target, &call);
    if (call.reply.status != orb::ReplyStatus::kNoException) {
      ++refused_;
      EXPECT_EQ(call.exception().minor, static_cast<uint32_t>(orb::WeirMinor::kFilterLoop));
    }
    EXPECT_TRUE(call.message.contexts.empty());
    return Verdict::kPass;
  };
  EXPECT_EQ(filtered_client_.Ping(target, 1), 2);
  EXPECT_EQ(ran_, kDepths);
  EXPECT_EQ(refused_, 1);
}

TEST_F(Nesting, AsynchronousCallsOfAFilterAreItsCallsToo) {
  std::vector<std::unique_ptr<TestCall>> calls;
  probe_->up = [&](const std::string&, std::string_view, orb::Call&) {
    ++ran_;
    std::lock_guard<std::mutex> lock(mu_);
    calls.push_back(std::make_unique<TestCall>("ping", 1, orb::In(orb::kPatience)));
    client_->invoker().Start(target_, calls.back().get());
    return Verdict::kPass;
  };
  Commit({PlugOn("p", "key:test"), MapUp("p", "*", "a")});
  EXPECT_EQ(Ping(&client_), 42);
  EXPECT_TRUE(orb::Eventually([&] {
    std::lock_guard<std::mutex> lock(mu_);
    if (calls.size() != kDepths) return false;
    for (const auto& call : calls) {
      if (call->done() == 0) return false;
    }
    return true;
  }));
  EXPECT_EQ(ran_, kDepths);
  EXPECT_EQ(executed_, kDepths);
  for (const auto& call : calls) EXPECT_TRUE(call->message.contexts.empty());
}

TEST_F(Nesting, OnlyCallsOfFiltersSaySo) {
  probe_->up = [&](const std::string& plug, std::string_view, orb::Call& call) {
    if (plug == "caller" && orb::NestingIn(call.request().contexts) == 0) {
      EXPECT_EQ(client_.Ping(target_, 1), 2);
    }
    return Verdict::kPass;
  };
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a"), MapDown("p", "*", "a"), PlugOn("caller", "all"),
          MapUp("caller", "*", "a")});
  EXPECT_EQ(Ping(&client_), 42);
  EXPECT_EQ(depths(), (std::vector<int>{1, 0}));
  EXPECT_EQ(contexts_, (std::vector<size_t>{1, 0}));
}

// Its call goes on while the filter is still in its method: what it does is not the filter's.
TEST_F(Nesting, WhatAServantCallsIsNotTheFiltersWhoeverResumedItsCall) {
  server_.servant->On("outer", [this](orb::CallRef call) {
    EXPECT_EQ(client_.Ping(target_, 1), 2);
    orb::FunctionServant::AnswerPlusOne(std::move(call));
  });
  probe_->later = [](Suspension call, Verdict verdict) { call.Resume(verdict); };
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a"), MapDown("p", "*", "a")});
  TestCall call("outer", 1, orb::In(orb::kPatience));
  ASSERT_TRUE(client_.Invoke(target_, &call).ok()) << call.status;
  EXPECT_EQ(call.result(), 2);
  EXPECT_EQ(depths(), (std::vector<int>{0}));
}

TEST_F(Nesting, WhatACallerClaimsIsBoundedAndNonsenseIsNothing) {
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a")});
  const auto status_with = [&](std::string_view data) {
    TestCall call("ping", 1, orb::In(orb::kPatience));
    call.message.contexts.push_back({orb::kNestingContext, data});
    EXPECT_TRUE(client_.Invoke(target_, &call).ok()) << call.status;
    return call.reply.status;
  };
  using namespace std::string_view_literals;
  EXPECT_EQ(status_with("\0\xff"sv), orb::ReplyStatus::kSystemException);
  EXPECT_EQ(status_with("\0\x04"sv), orb::ReplyStatus::kSystemException);
  EXPECT_EQ(status_with("\0\x03"sv), orb::ReplyStatus::kNoException);
  EXPECT_EQ(status_with(""sv), orb::ReplyStatus::kNoException);
  EXPECT_EQ(status_with("\xff"sv), orb::ReplyStatus::kNoException);
  // Objects without filters do not care.
  Commit({Unplug("p")});
  EXPECT_EQ(status_with("\0\xff"sv), orb::ReplyStatus::kNoException);
}

// A remote filter is an object, and so a target: here it filters itself.
TEST_F(Nesting, AFilterPluggedOntoItselfComesToAnEnd) {
  for (const char* on_failure : {"closed", "open"}) {
    OrbHandle handle;
    FilterKinds kinds;
    ProbeKind hosted_kind("hosted");
    std::atomic<int> judged{0};
    hosted_kind.up = [&](const std::string&, std::string_view, orb::Call&) {
      ++judged;
      return Verdict::kPass;
    };
    HostedFilter hosted(&hosted_kind, *hosted_kind.New({}, {}));
    kinds.Add(NewRefKind(&handle));
    MemoryLogger log;
    Registry registry(&kinds, &orb::TheClock(), &log);
    auto server = std::make_unique<TestOrb>(orb::OrbOptions(), registry.gate());
    handle.set(&**server);
    ASSERT_TRUE(
        (*server)->adapter().Activate("filter", std::make_shared<FilterServant>(&hosted)).ok());
    const orb::Endpoint endpoint = server->Listen();
    const FilterParameters parameters = {
        {"at", StrCat("corbaloc::1.2@", endpoint.address, "/filter")},
        {"timeout", "1h"},
        {"on-failure", on_failure}};
    auto prepared = registry.Prepare(
        {PlugChange{"p", "ref", parameters, "key:test", 0}, MapUp("p", "*", "a"),
         PlugChange{"self", "ref", parameters, "key:filter", 0}, MapUp("self", "judge", "a")},
        std::nullopt);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    registry.Publish(*std::move(prepared));
    const auto counter = [&](std::string_view plug, std::string_view name) -> uint64_t {
      for (const FilterCounter& c : registry.Counters(plug)) {
        if (c.name == name) return c.value;
      }
      return 0;
    };
    ASSERT_TRUE(orb::Eventually(
        [&] { return counter("p", "connected") == 1 && counter("self", "connected") == 1; }));
    TestCall call("ping", 1, orb::In(orb::kPatience));
    ASSERT_TRUE(client_.Invoke(client_.To({endpoint}), &call).ok()) << call.status;
    if (std::string(on_failure) == "closed") {
      // The innermost question is refused, so the one before it cannot be judged, and so on.
      EXPECT_EQ(call.exception().id, orb::ExceptionId::kNoPermission);
      EXPECT_EQ(judged, 0);
    } else {
      EXPECT_EQ(call.result(), 2);
      EXPECT_EQ(judged, kDepths - 1);
    }
    EXPECT_EQ(counter("p", "timed_out") + counter("self", "timed_out"), 0u);
    EXPECT_EQ(counter("self", "asked"), 3u);
    EXPECT_TRUE(registry.Drain(orb::TheClock().Now() + orb::kPatience).ok());
    handle.set(nullptr);
    server.reset();
  }
}

// Collocated: an object of the Orb that calls. There is no short cut, so there is nothing to miss.
class Collocated : public Nesting {
 protected:
  // Both ends, each with a registry of its own.
  Collocated() {
    outgoing_kinds_.Add(std::make_unique<ProbeKind>());
    endpoint_ = both_.Listen();
  }
  void CommitOutgoing(const ChangeSet& changes) {
    auto prepared = outgoing_.Prepare(changes, std::nullopt);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    outgoing_.Publish(*std::move(prepared));
  }
  static uint64_t Called(const Registry& registry, std::string_view plug, Phase phase) {
    uint64_t called = 0;
    for (const StepFigures& step : registry.Figures(plug).steps) {
      if (step.phase == phase) called += step.counts.called();
    }
    return called;
  }

  FilterKinds outgoing_kinds_;
  Registry outgoing_{&outgoing_kinds_, &clock_, &logger_};
  TestOrb both_{{}, registry_.gate(), outgoing_.gate()};
};

TEST_F(Collocated, CallsAreFilteredAsRemoteOnesOnBothSides) {
  Commit({PlugOn("p", "key:test"), MapUp("p", "*", "a"), MapDown("p", "*", "a")});
  CommitOutgoing({PlugOn("q", "key:test"), MapUp("q", "*", "a"), MapDown("q", "*", "a")});
  EXPECT_EQ(both_.Ping(both_.To({endpoint_}), 1), 2);
  TestCall later("ping", 5, orb::In(orb::kPatience));
  const auto target = both_.To({endpoint_});
  both_->invoker().Start(target, &later);
  ASSERT_TRUE(later.WaitDone());
  EXPECT_EQ(later.result(), 6);
  for (const Phase phase : {Phase::kUp, Phase::kDown}) {
    EXPECT_EQ(Called(registry_, "p", phase), 2u);
    EXPECT_EQ(Called(outgoing_, "q", phase), 2u);
  }
  // And a bounce at either end.
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    call.NewBody().WriteLong(7);
    call.SetResult();
    return Verdict::kBounce;
  };
  EXPECT_EQ(both_.Ping(target, 1), 7);
  EXPECT_EQ(Called(outgoing_, "q", Phase::kDown), 3u);
}

TEST_F(Collocated, AServantThatCallsAnObjectOfItsOwnOrbIsFilteredAsAnyCaller) {
  const auto target = both_.To({endpoint_});
  both_.servant->On("outer", [&](orb::CallRef call) {
    EXPECT_EQ(both_.Ping(target, 1), 2);
    orb::FunctionServant::AnswerPlusOne(std::move(call));
  });
  Commit({PlugOn("p", "all"), MapUp("p", "ping", "a"), MapDown("p", "ping", "a")});
  CommitOutgoing({PlugOn("q", "all"), MapUp("q", "ping", "a"), MapDown("q", "ping", "a")});
  TestCall call("outer", 3, orb::In(orb::kPatience));
  ASSERT_TRUE(client_.Invoke(client_.To({endpoint_}), &call).ok()) << call.status;
  EXPECT_EQ(call.result(), 4);
  EXPECT_EQ(Called(registry_, "p", Phase::kUp), 1u);
  EXPECT_EQ(Called(outgoing_, "q", Phase::kUp), 1u);
}

}  // namespace
}  // namespace weir::filters
