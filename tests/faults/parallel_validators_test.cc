// Remote filters that change nothing and may be asked ahead are asked about one call at the same
// time; their verdicts count in the order of the chain.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tests/faults/filter_server.h"
#include "tests/faults/numbered_calls.h"

namespace weir::testing {
namespace {

using filters::Phase;

// What validator `i` answers to what it refuses.
std::string ExceptionOf(size_t i) { return i == 0 ? "NO_MEMORY" : "NO_RESOURCES"; }

class ParallelValidators : public ::testing::Test {
 protected:
  static constexpr size_t kValidators = 2;

  // `judge(i, question, stream)` is validator i's.
  using Judge = std::function<void(size_t, const v1::Question&, const FilterStreamPtr&)>;
  void Start(const Judge& judge, bool changes = false, const std::string& ahead = "yes") {
    filters::ChangeSet changes_set;
    for (size_t i = 0; i < kValidators; ++i) {
      auto script = std::make_shared<FilterScript>();
      script->describe = [changes](v1::DescribeResponse* response) {
        v1::Method* const m = response->add_methods();
        m->set_name("check");
        m->set_phase(v1::PHASE_UP);
        m->set_reads(v1::READS_BODY);
        m->set_changes(changes);
      };
      script->judge = [judge, i](const v1::Question& question, const FilterStreamPtr& stream) {
        judge(i, question, stream);
      };
      servers_.push_back(std::make_unique<FilterServer>("127.0.0.1:0", script));
      const std::string name = "v" + std::to_string(i);
      changes_set.push_back(filters::PlugChange{
          name,
          "grpc",
          {{"at", servers_[i]->address()}, {"ahead", ahead}, {"timeout", "15s"}, {"breaker", "0"}},
          "all",
          static_cast<int32_t>(i)});
      changes_set.push_back(filters::MapChange{name, "*", "check", Phase::kUp, true});
    }
    node_.Commit(changes_set);
    ASSERT_TRUE(node_.WaitFor(
        [&] { return Counter(0, "connected") == 1 && Counter(1, "connected") == 1; }));
  }
  uint64_t Counter(size_t i, const std::string& name) {
    for (const filters::FilterCounter& c : node_.registry().Counters("v" + std::to_string(i))) {
      if (c.name == name) return c.value;
    }
    ADD_FAILURE() << name;
    return 0;
  }
  static v1::Answer Refuse(size_t i, const v1::Question& question) {
    v1::Answer answer;
    answer.set_ticket(question.ticket());
    answer.mutable_system_exception()->set_name(ExceptionOf(i));
    return answer;
  }

  std::vector<std::unique_ptr<FilterServer>> servers_;
  RemoteNode node_{/*gateway=*/false};
};

// Each answers only when both are asked: one after the other, no call would ever pass.
TEST_F(ParallelValidators, AreAskedAtTheSameTime) {
  Mutex mu;
  std::map<uint64_t, std::vector<std::pair<v1::Answer, FilterStreamPtr>>> asked;
  std::atomic<int> together{0};
  Start([&](size_t, const v1::Question& question, const FilterStreamPtr& stream) {
    MutexLock lock(&mu);
    auto& both = asked[question.header().call_id()];
    both.emplace_back(PassAnswer(question), stream);
    if (both.size() < kValidators) return;
    for (const auto& [answer, to] : both) to->Send(answer);
    asked.erase(question.header().call_id());
    ++together;
  });
  std::atomic<uint64_t> passed{0};
  NumberedCalls calls(&node_, 4, 4, [&](uint64_t n, const NumberedReply& reply) {
    ASSERT_EQ(reply.kind, NumberedReply::kServants);
    ASSERT_EQ(reply.number, n);
    ++passed;
  });
  ASSERT_TRUE(node_.WaitFor([&] { return passed >= 500 || calls.failed(); }));
  calls.Stop();
  EXPECT_EQ(static_cast<uint64_t>(together), calls.answered());
  EXPECT_EQ(Counter(1, "asked_ahead"), calls.answered());
  EXPECT_EQ(Counter(1, "waiting"), 0u);
}

// Whoever answers first: the verdict is that of the first in the chain that does not pass.
TEST_F(ParallelValidators, TheFirstInTheChainThatRefusesCounts) {
  Later later;
  std::atomic<uint64_t> n{0};
  Start([&](size_t i, const v1::Question& question, const FilterStreamPtr& stream) {
    const uint64_t number = NumberIn(question.body());
    const bool refuse = number % (i == 0 ? 2 : 3) == 0;
    const v1::Answer answer = refuse ? Refuse(i, question) : PassAnswer(question);
    // Now one is first, now the other.
    if (++n % 3 == 0) {
      later.Do(static_cast<Nanos>(n % 7) * kMillisecond,
               [stream, answer] { stream->Send(answer); });
    } else {
      stream->Send(answer);
    }
  });
  std::atomic<uint64_t> seen[3] = {};
  NumberedCalls calls(&node_, 4, 4, [&](uint64_t number, const NumberedReply& reply) {
    const bool first = number % 2 == 0, second = number % 3 == 0;
    ASSERT_EQ(node_.executions().of(number), first || second ? 0 : 1);
    if (first || second) {
      ASSERT_EQ(reply.kind, NumberedReply::kSystem);
      ASSERT_EQ(reply.name, ExceptionOf(first ? 0 : 1));
      ASSERT_EQ(reply.completed, 1u);
    } else {
      ASSERT_EQ(reply.kind, NumberedReply::kServants);
      ASSERT_EQ(reply.number, number);
    }
    ++seen[first ? 0 : second ? 1 : 2];
  });
  ASSERT_TRUE(node_.WaitFor(
      [&] { return calls.failed() || (seen[0] > 200 && seen[1] > 100 && seen[2] > 100); }));
  calls.Stop();
  EXPECT_EQ(calls.sent(), calls.answered());
  EXPECT_EQ(Counter(0, "waiting") + Counter(1, "waiting"), 0u) << "nothing is left of refused ones";
  EXPECT_EQ(Counter(1, "forgotten"), seen[0]) << "asked about in vain";
  EXPECT_EQ(Counter(0, "policy_taken") + Counter(1, "policy_taken"), 0u);
  for (const char* name : {"v0", "v1"}) node_.Commit({filters::UnplugChange{name}});
  EXPECT_TRUE(node_.registry().Drain(node_.clock().Now() + 20 * kSecond).ok());
}

// The second may only be asked when it is known what the first has made of the call, or when its
// plug does not want it to see what the first refuses.
TEST_F(ParallelValidators, AFilterBehindOneThatMayChangeIsAskedAfterIt) {
  Start(
      [&](size_t i, const v1::Question& question, const FilterStreamPtr& stream) {
        v1::Answer answer = PassAnswer(question);
        if (i == 0) {
          *answer.mutable_pass()->mutable_body() = NumberBody(NumberIn(question.body()) + 1000);
        } else {
          EXPECT_GE(NumberIn(question.body()), 1000u);
        }
        stream->Send(answer);
      },
      /*changes=*/true);
  auto connection = RawConnection::Tcp(node_.port());
  ASSERT_TRUE(connection.ok());
  for (uint32_t i = 0; i < 20; ++i) {
    auto reply = (*connection)->Invoke(NumberedRequest(i, i));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(ReadNumberedReply(*std::move(reply)).number, 1000 + i);
  }
  EXPECT_EQ(Counter(1, "asked_ahead"), 0u);
}

TEST_F(ParallelValidators, WithoutTheOptionNobodySeesWhatTheFirstRefuses) {
  Start([&](size_t i, const v1::Question& question,
            const FilterStreamPtr& stream) { stream->Send(Refuse(i, question)); },
        /*changes=*/false, "no");
  auto connection = RawConnection::Tcp(node_.port());
  ASSERT_TRUE(connection.ok());
  for (uint32_t i = 0; i < 20; ++i) {
    auto reply = (*connection)->Invoke(NumberedRequest(i, i));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(ReadNumberedReply(*std::move(reply)).name, ExceptionOf(0));
  }
  EXPECT_EQ(servers_[1]->questions(), 0u);
}

// What becomes of the one behind is of no concern to the one before.
TEST_F(ParallelValidators, OneThatIsGoneIsItsPolicyInItsTurn) {
  Start([&](size_t i, const v1::Question& question, const FilterStreamPtr& stream) {
    if (i == 1 && NumberIn(question.body()) == 5) return stream->End();
    stream->Send(i == 0 && NumberIn(question.body()) == 7 ? Refuse(0, question)
                                                          : PassAnswer(question));
  });
  auto connection = RawConnection::Tcp(node_.port());
  ASSERT_TRUE(connection.ok());
  for (uint32_t i = 0; i < 10; ++i) {
    auto reply = (*connection)->Invoke(NumberedRequest(i, i));
    ASSERT_TRUE(reply.ok()) << reply.status();
    const NumberedReply read = ReadNumberedReply(*std::move(reply));
    if (i == 5) {
      EXPECT_EQ(read.name, "NO_PERMISSION") << "closed";
      ASSERT_TRUE(node_.WaitFor([&] { return Counter(1, "connected") == 1; }));
    } else if (i == 7) {
      EXPECT_EQ(read.name, ExceptionOf(0));
    } else {
      EXPECT_EQ(read.number, i);
    }
  }
}

}  // namespace
}  // namespace weir::testing
