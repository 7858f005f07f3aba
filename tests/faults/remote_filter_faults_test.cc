// A remote filter that misbehaves in every way, with calls running: each call has exactly one
// reply, which is its own, the filter's or the policy's, and the servant executes it as that reply
// says.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "tests/faults/faults.h"
#include "tests/faults/filter_server.h"
#include "tests/faults/numbered_calls.h"
#include "tests/faults/remote_filter_checks.h"
#include "tests/support/environment.h"
#include "tests/support/process.h"

namespace weir::testing {
namespace {

class RemoteFaults : public RemoteFilterTest {
 protected:
  // Calls go on until `enough` calls got the policy and, with `judged`, as many a judgement.
  void Run(const std::string& address, bool judged, const filters::FilterParameters& more = {}) {
    Plug(address, more);
    StartCalls();
    WaitForSome(&policy_, 40);
    if (judged) WaitForSome(&filters_, 40);
    StopCalls();
  }
};

TEST_P(RemoteFaults, SlowerThanTheTimeout) {
  Later later;
  const auto script = std::make_shared<FilterScript>();
  std::atomic<uint64_t> n{0};
  script->judge = [&](const v1::Question& question, const FilterStreamPtr& stream) {
    if (n++ % 2 == 0) return stream->Send(Judge(question));
    later.Do(200 * kMillisecond, [stream, answer = Judge(question)] { stream->Send(answer); });
  };
  FilterServer server("127.0.0.1:0", script);
  Run(server.address(), true, {{"timeout", "60ms"}});
  EXPECT_GT(node_.Counter("timed_out"), 0u);
  EXPECT_TRUE(node_.WaitForCounter("late", 1));
}

TEST_P(RemoteFaults, NeverAnswers) {
  const auto script = std::make_shared<FilterScript>();
  script->judge = [](const v1::Question&, const FilterStreamPtr&) {};
  FilterServer server("127.0.0.1:0", script);
  Plug(server.address(), {{"timeout", "60ms"}});
  ASSERT_TRUE(node_.WaitForCounter("connected", 1));  // before, each call has the policy at once
  StartCalls();
  WaitForSome(&policy_, 40);
  StopCalls();
  EXPECT_GT(node_.Counter("timed_out"), 0u);
  EXPECT_EQ(filters_, 0u);
}

TEST_P(RemoteFaults, AnswersTwice) {
  const auto script = std::make_shared<FilterScript>();
  script->judge = [](const v1::Question& question, const FilterStreamPtr& stream) {
    // Two threads may take them up at the same time, so that the second one may count.
    stream->Send(Judge(question));
    stream->Send(Judge(question));
  };
  FilterServer server("127.0.0.1:0", script);
  Plug(server.address(), {});
  StartCalls();
  WaitForSome(&filters_, 100);
  StopCalls();
  EXPECT_TRUE(node_.WaitForCounter("late", 100));
}

TEST_P(RemoteFaults, AnswersTicketsThatNobodyHas) {
  const auto script = std::make_shared<FilterScript>();
  script->judge = [](const v1::Question& question, const FilterStreamPtr& stream) {
    v1::Answer other;
    for (const uint64_t ticket : {uint64_t{0}, question.ticket() + 1'000'000, ~uint64_t{0}}) {
      other.set_ticket(ticket);
      other.mutable_system_exception()->set_name("BAD_INV_ORDER");
      stream->Send(other);
    }
    // Not every other one: of calls that run in step, each fourth is judged, and that could be
    // never.
    if (question.ticket() % 3 != 0) stream->Send(Judge(question));
  };
  FilterServer server("127.0.0.1:0", script);
  Run(server.address(), true, {{"timeout", "60ms"}});
  EXPECT_GE(node_.Counter("late"), 100u);
}

TEST_P(RemoteFaults, AnswersWithoutAVerdictOrWithAFailure) {
  const auto script = std::make_shared<FilterScript>();
  script->judge = [](const v1::Question& question, const FilterStreamPtr& stream) {
    v1::Answer answer;
    answer.set_ticket(question.ticket());
    if (question.ticket() % 3 == 0) answer.set_failure("cannot\njudge");
    stream->Send(question.ticket() % 3 == 1 ? Judge(question) : answer);
  };
  FilterServer server("127.0.0.1:0", script);
  Run(server.address(), true);
  EXPECT_EQ(node_.Counter("failures") + node_.Counter("absent"), node_.Counter("policy_taken"));
  EXPECT_GT(node_.Counter("failures"), 0u);
  EXPECT_EQ(node_.Counter("timed_out"), 0u);
}

TEST_P(RemoteFaults, EndsTheStreamNowAndThen) {
  const auto script = std::make_shared<FilterScript>();
  std::atomic<uint64_t> n{0};
  script->judge = [&](const v1::Question& question, const FilterStreamPtr& stream) {
    const uint64_t i = ++n;
    if (i % 50 > 45) return;  // so that some wait when it ends
    i % 50 == 0 ? stream->End() : stream->Send(Judge(question));
  };
  FilterServer server("127.0.0.1:0", script);
  Run(server.address(), true);
  EXPECT_GT(node_.Counter("lost"), 0u);
  EXPECT_TRUE(node_.WaitForCounter("connects", 2));
}

TEST_P(RemoteFaults, EndsEveryStreamAtOnceAndThenNoMore) {
  const auto script = std::make_shared<FilterScript>();
  script->streams_end = true;
  FilterServer server("127.0.0.1:0", script);
  Plug(server.address(), {});
  StartCalls();
  WaitForSome(&policy_, 100);
  EXPECT_TRUE(node_.WaitFor([&] { return server.streams() >= 3; }));
  script->streams_end = false;
  WaitForSome(&filters_, 40);
  StopCalls();
}

TEST_P(RemoteFaults, SendsAMessageThatIsNone) {
  BrokenProtobufServer server;
  Plug(server.address(), {});
  StartCalls();
  WaitForSome(&policy_, 40);
  // It is not stuck with a stream that nobody reads.
  EXPECT_TRUE(node_.WaitFor([&] { return server.streams() >= 3; }));
  StopCalls();
  EXPECT_EQ(filters_, 0u);
}

TEST_P(RemoteFaults, SpeaksSomethingElse) {
  NonsenseListener nonsense;
  Run("127.0.0.1:" + std::to_string(nonsense.port()), false);
  EXPECT_EQ(filters_, 0u);
  EXPECT_EQ(node_.Counter("absent"), node_.Counter("policy_taken"));
  EXPECT_GT(nonsense.connections(), 0);
}

// Between the node and a good filter there is a wire that is cut at any octet.
TEST_P(RemoteFaults, IsCutOffInTheMiddleOfMessages) {
  FilterServer server("127.0.0.1:0");
  CuttingRelay relay(server.address());
  Run("127.0.0.1:" + std::to_string(relay.port()), true);
  EXPECT_TRUE(node_.WaitFor([&] { return node_.Counter("connects") >= 3; }));
  EXPECT_GT(relay.cuts(), 2);
}

TEST_P(RemoteFaults, IsNotThereAtTheStartAndComesLater) {
  const std::string address = "unix:" + dir_.File("f");
  Plug(address, {});
  StartCalls();
  WaitForSome(&policy_, 100);
  EXPECT_EQ(node_.Counter("connects"), 0u);
  const FilterServer server(address);
  WaitForSome(&filters_, 40);
  StopCalls();
  EXPECT_EQ(node_.Counter("absent"), node_.Counter("policy_taken"));
}

TEST_P(RemoteFaults, DescribeLacksTheMethod) {
  const auto script = std::make_shared<FilterScript>();
  script->describe = [](v1::DescribeResponse* response) {
    v1::Method* const m = response->add_methods();
    m->set_name("something_else");
    m->set_phase(v1::PHASE_UP);
    response->add_methods()->set_name("of no phase");
  };
  const std::string address = "unix:" + dir_.File("f");
  Plug(address, {});  // which is not known to be wrong yet
  FilterServer server(address, script);
  StartCalls();
  EXPECT_TRUE(node_.WaitForCounter("connected", 1));
  WaitForMore(&policy_, 40);
  StopCalls();
  EXPECT_EQ(node_.Counter("asked"), 0u);
  // What is known to be missing can no longer be mapped.
  const auto refused = node_.registry().Prepare(
      {filters::MapChange{"r", "x", "missing", phase(), true}}, std::nullopt);
  EXPECT_TRUE(absl::IsNotFound(refused.status())) << refused.status();
}

TEST_P(RemoteFaults, DescribeHangsAndThenDoesNot) {
  const auto script = std::make_shared<FilterScript>();
  script->describe_hangs = true;
  FilterServer server("127.0.0.1:0", script);
  Plug(server.address(), {});
  StartCalls();
  WaitForSome(&policy_, 100);
  EXPECT_EQ(node_.Counter("connects"), 0u);
  script->describe_hangs = false;
  WaitForSome(&filters_, 40);
  StopCalls();
}

// The same with a process, and signals.
class RemoteProcessFaults : public RemoteFilterTest {
 protected:
  void StartFilter() {
    auto started = Process::Start(
        {.argv = {RunfilePath("tests/faults/filter_process"), "unix:" + dir_.File("f")}});
    ASSERT_TRUE(started.ok()) << started.status();
    filter_ = *std::move(started);
    const auto ready = filter_->WaitForLine("ready", std::chrono::seconds(20));
    ASSERT_TRUE(ready.ok()) << ready.status();
  }
  void PlugIt() { Plug("unix:" + dir_.File("f"), {{"timeout", "100ms"}}); }
  std::unique_ptr<Process> filter_;
};

TEST_P(RemoteProcessFaults, KilledAndStartedAgainManyTimes) {
  StartFilter();
  PlugIt();
  StartCalls();
  for (int i = 0; i < 5 && !HasFatalFailure(); ++i) {
    WaitForMore(&filters_, 20);
    filter_->Kill();
    WaitForMore(&policy_, 20);
    StartFilter();
  }
  WaitForMore(&filters_, 20);
  StopCalls();
  EXPECT_GE(node_.Counter("connects"), 6u);
}

TEST_P(RemoteProcessFaults, StoppedAndContinued) {
  StartFilter();
  PlugIt();
  StartCalls();
  for (int i = 0; i < 2 && !HasFatalFailure(); ++i) {
    WaitForMore(&filters_, 20);
    filter_->Signal(SIGSTOP);
    WaitForMore(&policy_, 20);
    filter_->Signal(SIGCONT);
  }
  WaitForMore(&filters_, 20);
  StopCalls();
  EXPECT_GT(node_.Counter("timed_out"), 0u);
}

TEST_P(RemoteProcessFaults, StoppedAndKilled) {
  StartFilter();
  PlugIt();
  StartCalls();
  WaitForMore(&filters_, 20);
  filter_->Signal(SIGSTOP);
  WaitForMore(&policy_, 20);
  filter_->Kill();
  WaitForMore(&policy_, 20);
  StartFilter();
  WaitForMore(&filters_, 20);
  StopCalls();
}

INSTANTIATE_TEST_SUITE_P(, RemoteFaults, AllPolicies(), PolicyName);
INSTANTIATE_TEST_SUITE_P(, RemoteProcessFaults, AllPolicies(), PolicyName);

}  // namespace
}  // namespace weir::testing
