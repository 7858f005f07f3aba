// Filters around the calls that a process makes, in its invoker: a real client and a real server,
// the filters in the client. Everything holds alike for blocking and asynchronous calls, and for
// filters that answer at once, within the call, and later from another thread.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/strings.h"
#include "tests/support/environment.h"
#include "tests/unit/core/testing.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

using orb::Endpoint;
using orb::TestCall;
using orb::TestOrb;

enum class When { kAtOnce, kSuspendedAndAtOnce, kLater };

class ClientSide : public RegistryTest,
                   public ::testing::WithParamInterface<std::tuple<bool, When>> {
 protected:
  ClientSide() {
    switch (std::get<1>(GetParam())) {
      case When::kAtOnce:
        break;
      case When::kSuspendedAndAtOnce:
        probe_->later = [](Suspension call, Verdict verdict) { call.Resume(verdict); };
        break;
      case When::kLater:
        probe_->later = [this](Suspension call, Verdict verdict) {
          std::lock_guard<std::mutex> lock(mu_);
          threads_.emplace_back([call = std::move(call), verdict]() mutable {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            call.Resume(verdict);
          });
        };
        break;
    }
    server_.servant->On("ping", [this](orb::CallRef call) {
      ++executed_;
      if (!call->request().response_expected) return call.Send();
      orb::FunctionServant::AnswerPlusOne(std::move(call));
    });
    endpoint_ = server_.Listen();
    target_ = client_.To({endpoint_});
  }
  ~ClientSide() override {
    std::vector<std::thread> threads;
    {
      std::lock_guard<std::mutex> lock(mu_);
      threads.swap(threads_);
    }
    for (std::thread& t : threads) t.join();
  }

  // Makes the call and waits for it.
  void Make(TestCall* call) {
    if (std::get<0>(GetParam())) {
      (void)client_->invoker().Invoke(target_, call);
      EXPECT_EQ(call->done(), 0);
    } else {
      client_->invoker().Start(target_, call);
      ASSERT_TRUE(call->WaitDone());
      EXPECT_EQ(call->done(), 1);
    }
  }
  // Notes "plug.method" in the order in which methods run.
  void Note() {
    const auto note = [this](const std::string& plug, std::string_view method, orb::Call&) {
      std::lock_guard<std::mutex> lock(mu_);
      ran_.push_back(plug + "." + std::string(method));
      return Verdict::kPass;
    };
    probe_->up = note;
    probe_->down = note;
  }
  std::vector<std::string> ran() {
    std::lock_guard<std::mutex> lock(mu_);
    return ran_;
  }

  std::mutex mu_;
  std::vector<std::string> ran_;
  std::vector<std::thread> threads_;
  std::atomic<int> executed_{0};
  TestOrb server_;
  TestOrb client_{{}, nullptr, registry_.gate()};
  Endpoint endpoint_;
  std::shared_ptr<orb::Target> target_;
};
INSTANTIATE_TEST_SUITE_P(
    Calls, ClientSide,
    ::testing::Combine(::testing::Bool(),
                       ::testing::Values(When::kAtOnce, When::kSuspendedAndAtOnce, When::kLater)));

TEST_P(ClientSide, APassedCallGoesThroughBothPhasesInOppositeOrders) {
  Note();
  Commit({PlugOn("p", "key:test", 1), MapUp("p", "ping", "a"), MapDown("p", "ping", "b"),
          PlugOn("q", "all", 2), MapUp("q", "*", "b"), MapDown("q", "*", "c")});
  TestCall call("ping", 41);
  Make(&call);
  EXPECT_TRUE(call.status.ok()) << call.status;
  EXPECT_EQ(call.result(), 42);
  EXPECT_EQ(executed_, 1);
  EXPECT_EQ(ran(), (std::vector<std::string>{"p.a", "q.b", "q.c", "p.b"}));
}

TEST_P(ClientSide, ABouncedCallNeverLeavesTheProcess) {
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    call.NewBody().WriteLong(7);
    call.SetResult();
    return Verdict::kBounce;
  };
  Commit({PlugOn("p", "key:test"), MapUp("p", "ping", "a")});
  TestCall call("ping", 41);
  Make(&call);
  EXPECT_TRUE(call.status.ok()) << call.status;
  EXPECT_EQ(executed_, 0);
  EXPECT_EQ(server_->stats().server.connections, 0u);
  // The result is the caller's own, whatever becomes of the filter and of later calls.
  Commit({Unplug("p")});
  EXPECT_TRUE(registry_.Drain(clock_.Now() + kSecond).ok());
  TestCall next("ping", 1);
  Make(&next);
  EXPECT_EQ(next.result(), 2);
  EXPECT_EQ(call.result(), 7);
}

TEST_P(ClientSide, ABouncedCallPassesDownOnlyThroughWhatHadPassedItUp) {
  Note();
  probe_->up = [this](const std::string& plug, std::string_view, orb::Call& call) {
    if (plug != "middle") return Verdict::kPass;
    call.SetSystemException({orb::ExceptionId::kNoPermission, 5, orb::Completion::kNo});
    return Verdict::kBounce;
  };
  for (const char* plug : {"outer", "middle", "inner"}) {
    Commit({PlugOn(plug, "all"), MapUp(plug, "*", "a"), MapDown(plug, "*", "a")});
  }
  TestCall call("ping", 41);
  Make(&call);
  EXPECT_TRUE(call.status.ok());
  EXPECT_EQ(call.reply.status, orb::ReplyStatus::kSystemException);
  EXPECT_EQ(call.exception().id, orb::ExceptionId::kNoPermission);
  EXPECT_EQ(call.exception().minor, 5u);
  EXPECT_EQ(ran(), (std::vector<std::string>{"outer.a"}));
  EXPECT_EQ(executed_, 0);
}

TEST_P(ClientSide, AReplyMayBecomeAnExceptionOnItsWayDown) {
  probe_->down = [](const std::string&, std::string_view, orb::Call& call) {
    call.SetSystemException({orb::ExceptionId::kTransient, 9, orb::Completion::kYes});
    return Verdict::kRaise;
  };
  Commit({PlugOn("p", "all"), MapDown("p", "ping", "a")});
  TestCall call("ping", 41);
  Make(&call);
  EXPECT_EQ(executed_, 1);
  EXPECT_EQ(call.reply.status, orb::ReplyStatus::kSystemException);
  EXPECT_EQ(call.exception().minor, 9u);
}

TEST_P(ClientSide, AFailureIsAnExceptionForDownFiltersAndStaysWhatItWasIfTheyLeaveIt) {
  orb::ReplyStatus seen = orb::ReplyStatus::kNoException;
  probe_->down = [&](const std::string&, std::string_view, orb::Call& call) {
    seen = call.reply().status;
    return Verdict::kPass;
  };
  Commit({PlugOn("p", "all"), MapDown("p", "*", "a")});
  target_ = client_.To({{"tcp", StrCat("127.0.0.1:", testing::FreePort())}});
  TestCall call("ping", 41);
  Make(&call);
  EXPECT_EQ(seen, orb::ReplyStatus::kSystemException);
  EXPECT_FALSE(call.status.ok());
  EXPECT_NE(call.error().find("Connection refused"), std::string::npos) << call.error();
  EXPECT_EQ(call.exception().id, orb::ExceptionId::kTransient);
}

TEST_P(ClientSide, AFailureMayBecomeAnotherException) {
  probe_->down = [](const std::string&, std::string_view, orb::Call& call) {
    call.SetSystemException({orb::ExceptionId::kNoResources, 3, orb::Completion::kNo});
    return Verdict::kRaise;
  };
  Commit({PlugOn("p", "all"), MapDown("p", "*", "a")});
  target_ = client_.To({{"tcp", StrCat("127.0.0.1:", testing::FreePort())}});
  TestCall call("ping", 41);
  Make(&call);
  EXPECT_TRUE(call.status.ok()) << call.status;
  EXPECT_EQ(call.exception().id, orb::ExceptionId::kNoResources);
}

TEST_P(ClientSide, AFailureMayBecomeAResult) {
  probe_->down = [](const std::string&, std::string_view, orb::Call& call) {
    call.NewBody().WriteLong(-1);
    call.SetResult();
    return Verdict::kPass;
  };
  Commit({PlugOn("p", "all"), MapDown("p", "*", "a")});
  target_ = client_.To({{"tcp", StrCat("127.0.0.1:", testing::FreePort())}});
  TestCall call("ping", 41);
  Make(&call);
  EXPECT_TRUE(call.status.ok()) << call.status;
  EXPECT_EQ(call.result(), -1);
}

TEST_P(ClientSide, WhatAFilterChangesIsSentAndTheCallersRequestIsAsBefore) {
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    call.request().operation = call.Keep("ping");
    cdr::ByteBuffer body;
    cdr::Encoder(&body).WriteLong(100);
    call.request().body.bytes = call.Keep(std::string(body.view()));
    return Verdict::kPass;
  };
  Commit({PlugOn("p", "all"), MapUp("p", "pong", "a")});
  TestCall call("pong", 41);
  const std::string_view body = call.message.body.bytes;
  Make(&call);
  EXPECT_EQ(call.result(), 101);
  EXPECT_EQ(call.message.operation, "pong");
  EXPECT_EQ(call.message.body.bytes.data(), body.data());
  EXPECT_EQ(call.message.body.bytes.size(), body.size());
}

TEST_P(ClientSide, AOnewayHasNoDownPhase) {
  Note();
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a"), MapDown("p", "*", "a")});
  TestCall call("ping", 41);
  call.message.response_expected = false;
  Make(&call);
  EXPECT_TRUE(call.status.ok()) << call.status;
  EXPECT_TRUE(orb::Eventually([&] { return executed_ == 1; }));
  EXPECT_EQ(ran(), (std::vector<std::string>{"p.a"}));
}

TEST_P(ClientSide, AFilterThatDropsOrThrowsFailsTheCall) {
  probe_->up = [](const std::string&, std::string_view, orb::Call&) -> Verdict {
    throw std::runtime_error("secret");
  };
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a")});
  TestCall call("ping", 41);
  Make(&call);
  EXPECT_EQ(executed_, 0);
  EXPECT_EQ(call.exception().id, orb::ExceptionId::kNoPermission);
  EXPECT_EQ(call.exception().minor, static_cast<uint32_t>(orb::WeirMinor::kFilterFailed));
}

TEST_P(ClientSide, CallsAreCountedTimedAndRecordedAsOnTheServersSide) {
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a"), MapDown("p", "ping", "b")});
  registry_.tracer()->Extend(Tracer::kTiming, kSecond);
  registry_.tracer()->Extend(Tracer::kRecording, kSecond);
  for (int i = 0; i < 3; ++i) {
    TestCall call("ping", 41);
    Make(&call);
    EXPECT_EQ(call.result(), 42);
  }
  EXPECT_TRUE(registry_.Drain(kNoDeadline).ok());
  const PlugFigures figures = registry_.Figures("p");
  ASSERT_EQ(figures.steps.size(), 2u);
  EXPECT_EQ(figures.steps[0].counts.called(), 3u);
  EXPECT_EQ(figures.steps[1].counts.called(), 3u);
  EXPECT_EQ(figures.up_took.count(), 3u);
  EXPECT_EQ(figures.down_took.count(), 3u);
  std::vector<std::shared_ptr<const CallRecord>> records;
  EXPECT_TRUE(orb::Eventually([&] {
    records = registry_.tracer()->ring().Latest(10).calls;
    return records.size() == 3;
  }));
  for (const auto& record : records) {
    EXPECT_EQ(record->operation, "ping");
    EXPECT_EQ(record->object_key, "test");
    EXPECT_EQ(record->status, "NO_EXCEPTION");
    ASSERT_EQ(record->steps.size(), 2u);
    EXPECT_EQ(record->steps[1].method, "b");
  }
}

TEST_P(ClientSide, ManyCallsAtATimeEachGetTheirOwn) {
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    const int32_t value = call.request().body.decoder().ReadLong();
    if (value % 3 != 0) return Verdict::kPass;
    call.NewBody().WriteLong(-value);
    call.SetResult();
    return Verdict::kBounce;
  };
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a"), MapDown("p", "*", "a")});
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 1; i <= 200; ++i) {
    calls.push_back(std::make_unique<TestCall>("ping", i));
    client_->invoker().Start(target_, calls.back().get());
  }
  for (int i = 1; i <= 200; ++i) {
    ASSERT_TRUE(calls[i - 1]->WaitDone());
    EXPECT_EQ(calls[i - 1]->result(), i % 3 == 0 ? -i : i + 1);
    EXPECT_EQ(calls[i - 1]->done(), 1);
  }
  EXPECT_EQ(executed_, 200 - 200 / 3);
}

}  // namespace
}  // namespace weir::filters
