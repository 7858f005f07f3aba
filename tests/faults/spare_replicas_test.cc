// A filter and its spares, each a process of its own, in both forms, killed and started again while
// calls run: each call has exactly one reply, and that is a judgement as long as any of them lives.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/faults/numbered_calls.h"
#include "tests/support/environment.h"
#include "tests/support/process.h"

namespace weir::testing {
namespace {

using filters::Phase;

// What the processes answer to every call, and the policy.
constexpr char kJudgement[] = "NO_RESOURCES";
constexpr char kPolicy[] = "TRANSIENT";

class SpareReplicas : public ::testing::TestWithParam<std::tuple<const char*, Phase>> {
 protected:
  static constexpr size_t kReplicas = 2;

  SpareReplicas() : node_(/*gateway=*/std::get<1>(GetParam()) == Phase::kDown) {
    for (size_t i = 0; i < kReplicas; ++i) {
      ports_[i] = grpc() ? 0 : FreePort();
      StartReplica(i);
    }
  }

  static bool grpc() { return std::get<0>(GetParam()) == std::string("grpc"); }
  static bool up() { return std::get<1>(GetParam()) == Phase::kUp; }
  std::string Socket(size_t i) const { return dir_.File("f" + std::to_string(i)); }

  void StartReplica(size_t i) {
    std::vector<std::string> argv = {
        RunfilePath("tools/weir/weir"),        "filter-host", "--filter", "replace", "--set",
        std::string("exception=") + kJudgement};
    if (grpc()) {
      argv.insert(argv.end(), {"--grpc", "unix:" + Socket(i)});
    } else {
      argv.insert(argv.end(), {"--listen", "giop:tcp:127.0.0.1:" + std::to_string(ports_[i])});
    }
    auto started = Process::Start({.argv = argv});
    ASSERT_TRUE(started.ok()) << started.status();
    replicas_[i] = *std::move(started);
    const auto ready = replicas_[i]->WaitForLine("^ready", std::chrono::seconds(30));
    ASSERT_TRUE(ready.ok()) << ready.status();
  }
  std::string Address(size_t i) const {
    return grpc() ? "unix:" + Socket(i)
                  : "corbaloc::1.2@127.0.0.1:" + std::to_string(ports_[i]) + "/filter";
  }
  void PlugAndStartCalls() {
    node_.Commit({filters::PlugChange{"r",
                                      std::get<0>(GetParam()),
                                      {{"at", Address(0)},
                                       {"spare", Address(1)},
                                       {"on-failure", std::string("answer=") + kPolicy},
                                       {"timeout", "10s"}},
                                      "all",
                                      0},
                  filters::MapChange{"r", "*", up() ? "replace" : "replace_reply",
                                     std::get<1>(GetParam()), true}});
    ASSERT_TRUE(node_.WaitForCounter("connected", kReplicas));
    calls_ = std::make_unique<NumberedCalls>(
        &node_, 4, 4,
        [this](uint64_t number, const NumberedReply& reply) { Check(number, reply); });
  }
  void Check(uint64_t number, const NumberedReply& reply) {
    ASSERT_EQ(reply.kind, NumberedReply::kSystem);
    ASSERT_EQ(node_.executions().of(number), up() ? 0 : 1);
    ASSERT_EQ(reply.completed, up() ? 1u : 0u);
    if (reply.name == kJudgement) {
      ++judged_;
    } else {
      ASSERT_EQ(reply.name, kPolicy);
      ++policy_;
    }
  }
  void WaitForMore(const std::string& counter, uint64_t more) {
    const uint64_t least = node_.Counter(counter) + more;
    ASSERT_TRUE(node_.WaitFor([&] { return node_.Counter(counter) >= least || calls_->failed(); }));
    ASSERT_FALSE(calls_->failed());
  }
  void StopCalls() {
    calls_->Stop();
    EXPECT_EQ(calls_->sent(), calls_->answered()) << "every call was answered";
    EXPECT_EQ(judged_ + policy_, calls_->answered());
    EXPECT_EQ(node_.executions().total(calls_->sent()), up() ? 0 : calls_->sent());
    EXPECT_EQ(node_.Counter("waiting"), 0u);
    EXPECT_EQ(node_.Counter("policy_taken"), policy_);
    EXPECT_EQ(node_.Counter("asked"),
              node_.Counter("first_asked") + node_.Counter("spare_1_asked"));
    printf("%d calls: %d judged, %d failed over, %d asked again\n",
           static_cast<int>(calls_->sent()), static_cast<int>(judged_),
           static_cast<int>(node_.Counter("failed_over")),
           static_cast<int>(node_.Counter("asked_again")));
  }

  const TempDir dir_;
  int ports_[kReplicas];
  std::unique_ptr<Process> replicas_[kReplicas];
  RemoteNode node_;
  std::unique_ptr<NumberedCalls> calls_;
  std::atomic<uint64_t> judged_{0}, policy_{0};
};

TEST_P(SpareReplicas, KilledAndStartedAgainInTurnLosesNoCall) {
  PlugAndStartCalls();
  for (int round = 0; round < 3 && !HasFatalFailure(); ++round) {
    WaitForMore("first_answered", 40);
    replicas_[0]->Kill();
    WaitForMore("spare_1_answered", 40);
    StartReplica(0);
    // Back, it is asked again, and the spare is not.
    ASSERT_TRUE(node_.WaitForCounter("connected", 2));
    WaitForMore("first_answered", 40);
    // With a question on its way, its loss might be noticed only when the first one is killed.
    ASSERT_TRUE(node_.WaitFor(
        [&] { return node_.Counter("spare_1_asked") == node_.Counter("spare_1_answered"); }));
    replicas_[1]->Kill();
    WaitForMore("first_answered", 40);
    StartReplica(1);
    ASSERT_TRUE(node_.WaitForCounter("connected", 2));
  }
  StopCalls();
  EXPECT_EQ(policy_, 0u) << "one of them was always there; lost " << node_.Counter("lost")
                         << ", absent " << node_.Counter("absent") << ", breaker open "
                         << node_.Counter("breaker_open") << ", timed out "
                         << node_.Counter("timed_out") << ", failures "
                         << node_.Counter("failures");
  EXPECT_GT(node_.Counter("failed_over"), 0u);
}

TEST_P(SpareReplicas, AllDeadIsThePolicyUntilOneIsBack) {
  PlugAndStartCalls();
  WaitForMore("first_answered", 40);
  replicas_[1]->Kill();
  replicas_[0]->Kill();
  WaitForMore("absent", 40);
  StartReplica(1);
  WaitForMore("spare_1_answered", 40);
  StartReplica(0);
  WaitForMore("first_answered", 40);
  StopCalls();
  EXPECT_GE(policy_, 40u);
}

TEST_P(SpareReplicas, OneThatHangsCostsItsTimeoutsAndThenNoMore) {
  node_.Commit({filters::PlugChange{"r",
                                    std::get<0>(GetParam()),
                                    {{"at", Address(0)},
                                     {"spare", Address(1)},
                                     {"on-failure", std::string("answer=") + kPolicy},
                                     {"timeout", "200ms"},
                                     {"breaker", "3"},
                                     {"breaker-pause", "1h"}},
                                    "all",
                                    0},
                filters::MapChange{"r", "*", up() ? "replace" : "replace_reply",
                                   std::get<1>(GetParam()), true}});
  ASSERT_TRUE(node_.WaitForCounter("connected", kReplicas));
  calls_ = std::make_unique<NumberedCalls>(
      &node_, 4, 4, [this](uint64_t number, const NumberedReply& reply) { Check(number, reply); });
  WaitForMore("first_answered", 40);
  replicas_[0]->Signal(SIGSTOP);
  WaitForMore("spare_1_answered", 200);
  StopCalls();
  EXPECT_EQ(node_.Counter("timed_out"), policy_);
  EXPECT_GE(policy_, 3u);
  // Those that were on their way, and what two clients sent before the third timeout.
  EXPECT_LE(policy_, 24u);
  replicas_[0]->Signal(SIGCONT);
}

INSTANTIATE_TEST_SUITE_P(, SpareReplicas,
                         ::testing::Combine(::testing::Values("grpc", "ref"),
                                            ::testing::Values(Phase::kUp, Phase::kDown)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) +
                                  (std::get<1>(test.param) == Phase::kUp ? "Up" : "Down");
                         });

}  // namespace
}  // namespace weir::testing
