// An ORB ends although a filter neither answers nor lets go of its calls; and whatever the filter
// does with them later does no harm.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "filters/step_outcome.h"
#include "tests/unit/core/testing.h"
#include "tests/unit/filters/probe.h"

namespace weir::filters {
namespace {

using orb::TestCall;
using orb::TestOrb;

// What is left behind on purpose stays reachable, so that no leak is reported.
std::vector<orb::Call*>& LeftBehind() {
  static auto* const calls = new std::vector<orb::Call*>;
  return *calls;
}

class AbandonedCalls : public ::testing::Test {
 protected:
  AbandonedCalls() {
    auto probe = std::make_unique<ProbeKind>();
    probe->later = [this](Suspension call, Verdict verdict) {
      if (!stubborn_) return call.Resume(verdict);
      MutexLock lock(&mu_);
      LeftBehind().push_back(&*call);
      held_.push_back(std::move(call));
    };
    kinds_.Add(std::move(probe));
    registry_ = std::make_unique<Registry>(&kinds_, &orb::TheClock(), &logger_);
    options_.let_go = 50 * kMillisecond;
  }
  ~AbandonedCalls() override {
    server_.reset();
    registry_.reset();
  }

  void Commit(ChangeSet changes) {
    auto prepared = registry_->Prepare(changes, std::nullopt);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    registry_->Publish(*std::move(prepared));
  }
  void Serve() {
    server_ = std::make_unique<TestOrb>(options_, registry_->gate());
    target_ = client_.To({server_->Listen()});
  }
  std::unique_ptr<TestCall> Start() {
    auto call = std::make_unique<TestCall>("ping", 41);
    client_->invoker().Start(target_, call.get());
    return call;
  }
  size_t held() const {
    MutexLock lock(&mu_);
    return held_.size();
  }
  std::vector<Suspension> Take() {
    MutexLock lock(&mu_);
    return std::exchange(held_, {});
  }
  std::string lines() const { return logger_.lines(); }

  std::atomic<bool> stubborn_{true};
  mutable Mutex mu_;
  std::vector<Suspension> held_ ABSL_GUARDED_BY(mu_);
  orb::KeptLog logger_;
  FilterKinds kinds_;
  orb::OrbOptions options_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<TestOrb> server_;
  TestOrb client_;
  std::shared_ptr<orb::Target> target_;
};

TEST_F(AbandonedCalls, TheOrbEndsAndSaysWhoseCallsTheyWere) {
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a")});
  Serve();
  const auto a = Start(), b = Start();
  ASSERT_TRUE(orb::Eventually([&] { return held() == 2; }));
  const absl::Status status = (*server_)->Shutdown(orb::In(20 * kMillisecond));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  server_.reset();
  EXPECT_NE(lines().find("event=calls_abandoned plug=p calls=2"), std::string::npos) << lines();
  EXPECT_TRUE(a->WaitDone());
  EXPECT_TRUE(b->WaitDone());
  EXPECT_EQ(a->exception().id, orb::ExceptionId::kCommFailure) << "its connection has gone";

  // The ORB is gone. The filter wakes up, works on one call, and goes on with it.
  std::vector<Suspension> late = Take();
  EXPECT_EQ(late[0]->request().operation, "ping");
  EXPECT_EQ(late[0]->request().body.decoder().ReadLong(), 41);
  EXPECT_FALSE(late[0]->peer().address.empty());
  late[0]->SetSystemException({orb::ExceptionId::kTransient, 0, orb::Completion::kNo});
  late[0].Resume(Verdict::kBounce);
  // And the registry goes, before it has dropped the other one.
  registry_.reset();
  late.clear();
}

TEST_F(AbandonedCalls, RepliesThatAFilterKeepsDoNotHoldTheOrbEither) {
  Commit({PlugOn("p", "all"), MapDown("p", "*", "a")});
  Serve();
  const auto call = Start();
  ASSERT_TRUE(orb::Eventually([&] { return held() == 1; }));
  server_.reset();
  EXPECT_NE(lines().find("event=calls_abandoned plug=p calls=1"), std::string::npos) << lines();
  std::vector<Suspension> late = Take();
  EXPECT_EQ(late[0]->reply().body.decoder().ReadLong(), 42);
  late[0].ResumeByPolicy(Verdict::kPass, StepOutcome::kTimedOut);
  EXPECT_TRUE(call->WaitDone());
}

TEST_F(AbandonedCalls, OutgoingOnesDoNotHoldTheOrbEither) {
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a")});
  TestOrb server;
  auto calling = std::make_unique<TestOrb>(options_, nullptr, registry_->gate());
  // Never told, it has to stay.
  static TestCall* const call = new TestCall("ping", 41);
  (*calling)->invoker().Start(calling->To({server.Listen()}), call);
  ASSERT_EQ(held(), 1u);
  calling.reset();
  EXPECT_NE(lines().find("event=calls_abandoned plug=p calls=1"), std::string::npos) << lines();
  std::vector<Suspension> late = Take();
  EXPECT_EQ(late[0]->request().operation, "ping");
  late[0].Fail("too late");
  EXPECT_EQ(call->done(), 0);
}

TEST_F(AbandonedCalls, AnAnswerInTimeIsNone) {
  options_.let_go = 20 * kSecond;
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a")});
  Serve();
  const auto call = Start();
  ASSERT_TRUE(orb::Eventually([&] { return held() == 1; }));
  std::thread answers([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (Suspension& s : Take()) s.Resume(Verdict::kPass);
  });
  server_.reset();
  answers.join();
  EXPECT_EQ(lines().find("calls_abandoned"), std::string::npos) << lines();
  EXPECT_TRUE(call->WaitDone());
}

TEST_F(AbandonedCalls, TheNextOrbHasItsCallsBack) {
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a")});
  Serve();
  const auto lost = Start();
  ASSERT_TRUE(orb::Eventually([&] { return held() == 1; }));
  server_.reset();
  EXPECT_TRUE(lost->WaitDone());
  std::vector<Suspension> late = Take();
  stubborn_ = false;
  Serve();
  EXPECT_EQ(client_.Ping(target_, 1), 2);
  stubborn_ = true;
  const auto call = Start();
  ASSERT_TRUE(orb::Eventually([&] { return held() == 1; }));
  late.clear();  // the first one's: of no concern to the second
  for (Suspension& s : Take()) s.Resume(Verdict::kPass);
  ASSERT_TRUE(call->WaitDone());
  EXPECT_EQ(call->result(), 42);
}

// Verdicts come while the ORB gives up on them: each call goes on, or is abandoned, and no more.
TEST_F(AbandonedCalls, VerdictsMeetTheEnd) {
  options_.let_go = 0;
  Commit({PlugOn("p", "all"), MapUp("p", "*", "a"), MapDown("p", "*", "a")});
  for (int round = 0; round < 30; ++round) {
    Serve();
    std::vector<std::unique_ptr<TestCall>> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(Start());
    ASSERT_TRUE(orb::Eventually([&] { return held() == 20; }));
    std::atomic<bool> stop{false};
    std::thread verdicts([&] {
      while (!stop) {
        for (Suspension& s : Take()) s.Resume(Verdict::kPass);
      }
    });
    server_.reset();
    stop = true;
    verdicts.join();
    for (const auto& call : calls) EXPECT_TRUE(call->WaitDone());
    for (Suspension& s : Take()) s.Resume(Verdict::kPass);
  }
}

}  // namespace
}  // namespace weir::filters
