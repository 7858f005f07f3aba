// A remote filter at its limits: many calls that wait at a time, too many, a breaker, back-off; and
// plugs, nodes and clients that go while calls wait.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tests/faults/faults.h"
#include "tests/faults/filter_server.h"
#include "tests/faults/numbered_calls.h"
#include "tests/faults/remote_filter_checks.h"
#include "tests/support/environment.h"

namespace weir::testing {
namespace {

using filters::Phase;

// A script that keeps what it is asked until it is told to answer.
class Held {
 public:
  std::shared_ptr<FilterScript> script() {
    auto script = std::make_shared<FilterScript>();
    script->judge = [this](const v1::Question& question, const FilterStreamPtr& stream) {
      MutexLock lock(&mu_);
      if (open_) return stream->Send(Judge(question));
      held_.emplace_back(question, stream);
    };
    return script;
  }
  size_t count() {
    MutexLock lock(&mu_);
    return held_.size();
  }
  // What is held, and what comes from now on.
  void AnswerAll() {
    MutexLock lock(&mu_);
    open_ = true;
    for (auto& [question, stream] : held_) stream->Send(Judge(question));
    held_.clear();
  }
  void DropAll() {
    MutexLock lock(&mu_);
    open_ = true;
    held_.clear();
  }

 private:
  Mutex mu_;
  std::vector<std::pair<v1::Question, FilterStreamPtr>> held_ ABSL_GUARDED_BY(mu_);
  bool open_ ABSL_GUARDED_BY(mu_) = false;
};

class RemoteLoad : public RemoteFilterTest {
 protected:
  void PlugConnected(const std::string& address, const filters::FilterParameters& more) {
    Plug(address, more);
    ASSERT_TRUE(node_.WaitForCounter("connected", 1));
  }
  // Sends calls `from` to `to` at once on a connection of their own.
  std::unique_ptr<RawConnection> Send(uint64_t from, uint64_t to) {
    auto connection = RawConnection::Tcp(node_.port());
    EXPECT_TRUE(connection.ok()) << connection.status();
    std::string bytes;
    for (uint64_t n = from; n < to; ++n) {
      bytes += Encode(NumberedRequest(static_cast<uint32_t>(n), n));
    }
    EXPECT_TRUE((*connection)->Send(bytes));
    return *std::move(connection);
  }
  // One reply to each of them, by number.
  std::map<uint64_t, NumberedReply> Receive(RawConnection* connection, uint64_t count) {
    std::map<uint64_t, NumberedReply> replies;
    for (uint64_t i = 0; i < count; ++i) {
      auto message = connection->Receive(kHangsMs);
      EXPECT_TRUE(message.ok()) << "a call hangs: " << message.status();
      if (!message.ok()) break;
      auto reply = DecodeReply(*message);
      const uint64_t n = reply->id;
      EXPECT_FALSE(replies.contains(n)) << "answered twice";
      replies[n] = ReadNumberedReply(*std::move(reply));
    }
    return replies;
  }
  bool IsFilters(const NumberedReply& reply) const {
    return up() ? reply.kind == NumberedReply::kFilters : reply.minor == kFiltersMinor;
  }
  bool IsPolicy(const NumberedReply& reply) const {
    return policy() == "open" ? reply.kind == NumberedReply::kServants
                              : reply.kind == NumberedReply::kSystem && (reply.minor & 0xfff) == 17;
  }
  uint64_t InProgress() { return node_.orb().stats().server.calls_in_progress; }

  Held held_;
};

TEST_P(RemoteLoad, AThousandCallsWaitASecondAndHoldNoThread) {
  Later later;
  const auto script = std::make_shared<FilterScript>();
  script->judge = [&](const v1::Question& question, const FilterStreamPtr& stream) {
    later.Do(kSecond, [stream, answer = Judge(question)] { stream->Send(answer); });
  };
  FilterServer server("127.0.0.1:0", script);
  PlugConnected(server.address(), {{"timeout", "15s"}});
  // The pool may grow by a few while servants, which may block, run.
  const int threads = node_.orb().stats().threads + 8;
  std::vector<std::unique_ptr<RawConnection>> connections;
  for (uint64_t c = 0; c < 4; ++c) connections.push_back(Send(c * 250, c * 250 + 250));
  ASSERT_TRUE(node_.WaitForCounter("waiting", 1000)) << "all at a time";
  EXPECT_EQ(InProgress(), 1000u);
  EXPECT_LE(node_.orb().stats().threads, threads);
  for (uint64_t c = 0; c < 4; ++c) {
    const auto replies = Receive(connections[c].get(), 250);
    EXPECT_EQ(replies.size(), 250u);
    for (const auto& [n, reply] : replies) {
      EXPECT_EQ(IsFilters(reply), n % 4 == 0) << n;
      if (n % 4 != 0) {
        EXPECT_EQ(reply.kind, NumberedReply::kServants);
        EXPECT_EQ(reply.number, n);
      }
      EXPECT_EQ(node_.executions().of(n), up() && n % 4 == 0 ? 0 : 1);
    }
  }
  EXPECT_EQ(node_.Counter("answered"), 1000u);
  EXPECT_EQ(node_.Counter("policy_taken"), 0u);
  EXPECT_LE(node_.orb().stats().threads, threads);
}

TEST_P(RemoteLoad, MoreThanMayWaitGetThePolicyAtOnce) {
  FilterServer server("127.0.0.1:0", held_.script());
  PlugConnected(server.address(), {{"timeout", "30s"}, {"max-waiting", "10"}});
  auto waiting = Send(0, 10);
  ASSERT_TRUE(node_.WaitFor([&] { return held_.count() == 10; }));
  auto refused = Send(100, 140);
  // They are answered while the others wait.
  for (const auto& [n, reply] : Receive(refused.get(), 40)) EXPECT_TRUE(IsPolicy(reply)) << n;
  EXPECT_EQ(node_.Counter("overload"), 40u);
  EXPECT_EQ(node_.Counter("policy_taken"), 40u);
  EXPECT_EQ(node_.Counter("waiting"), 10u);
  held_.AnswerAll();
  for (const auto& [n, reply] : Receive(waiting.get(), 10)) {
    EXPECT_EQ(IsFilters(reply), n % 4 == 0) << n;
  }
  EXPECT_EQ(node_.Counter("asked"), 10u);
}

TEST_P(RemoteLoad, TheBreakerOpensAndOneProbeClosesIt) {
  FilterServer server("127.0.0.1:0", held_.script());
  PlugConnected(server.address(),
                {{"timeout", "50ms"}, {"breaker", "5"}, {"breaker-pause", "300ms"}});
  auto connection = Send(0, 5);
  for (const auto& [n, reply] : Receive(connection.get(), 5)) EXPECT_TRUE(IsPolicy(reply)) << n;
  ASSERT_TRUE(node_.WaitForCounter("timed_out", 5));
  // Open. At most one probe has been admitted for each pause.
  uint64_t n = 10;
  while (node_.Counter("breaker_open") < 100 && n < 5000) {
    connection = Send(n, n + 10);
    for (const auto& [i, reply] : Receive(connection.get(), 10)) EXPECT_TRUE(IsPolicy(reply)) << i;
    n += 10;
  }
  EXPECT_GE(node_.Counter("breaker_open"), 100u);
  const uint64_t probes = node_.Counter("asked") - 5;
  EXPECT_LE(probes * 10, n) << "of each ten calls at a time no more than one";
  held_.DropAll();  // and answer what comes
  // A probe goes through, and closes it for all.
  ASSERT_TRUE(node_.WaitFor([&] {
    connection = Send(n, n + 1);
    Receive(connection.get(), 1);
    ++n;
    return node_.Counter("answered") >= 1;
  }));
  const uint64_t open = node_.Counter("breaker_open");
  n = (n + 3) / 4 * 4;
  connection = Send(n, n + 40);
  for (const auto& [i, reply] : Receive(connection.get(), 40)) {
    EXPECT_EQ(IsFilters(reply), i % 4 == 0) << i;
  }
  EXPECT_EQ(node_.Counter("breaker_open"), open);
}

TEST_P(RemoteLoad, WhileItIsAbsentAttemptsAreBoundedByTheBackOff) {
  RawListener listener([](int, int) {});  // accepts and closes
  Plug("127.0.0.1:" + std::to_string(listener.port()), {});
  const Nanos began = node_.clock().Now();
  uint64_t n = 0;
  while (node_.clock().Now() - began < 3 * kSecond) {
    auto connection = Send(n, n + 20);
    for (const auto& [i, reply] : Receive(connection.get(), 20)) EXPECT_TRUE(IsPolicy(reply)) << i;
    n += 20;
  }
  EXPECT_EQ(node_.Counter("absent"), n);
  EXPECT_EQ(node_.Counter("connects"), 0u);
  EXPECT_GE(listener.connections(), 2) << "it goes on trying";
  // Doubling from 50 ms that is 7 in 3 s; gRPC's own back-off adds some of its own, with jitter.
  const Nanos took = node_.clock().Now() - began;
  EXPECT_LE(listener.connections(), 20 + took / kSecond);
}

TEST_P(RemoteLoad, ACallThatWaitsKeepsTheFilterThatIsUnpluggedAndDrainWaits) {
  FilterServer server("127.0.0.1:0", held_.script());
  PlugConnected(server.address(), {{"timeout", "30s"}});
  auto connection = Send(0, 8);
  ASSERT_TRUE(node_.WaitFor([&] { return held_.count() == 8; }));
  node_.Commit({filters::UnplugChange{"r"}});
  // Calls that begin now are not asked about.
  auto later = Send(100, 104);
  for (const auto& [n, reply] : Receive(later.get(), 4)) {
    EXPECT_EQ(reply.kind, NumberedReply::kServants) << n;
  }
  const absl::Status early = node_.registry().Drain(node_.clock().Now() + 100 * kMillisecond);
  EXPECT_TRUE(absl::IsDeadlineExceeded(early)) << early;
  EXPECT_NE(early.message().find("8 calls"), early.message().npos) << early;
  held_.AnswerAll();
  for (const auto& [n, reply] : Receive(connection.get(), 8)) {
    EXPECT_EQ(IsFilters(reply), n % 4 == 0) << n;
  }
  const absl::Status drained = node_.registry().Drain(node_.clock().Now() + 20 * kSecond);
  EXPECT_TRUE(drained.ok()) << drained;
}

TEST_P(RemoteLoad, PluggedAndUnpluggedHundredsOfTimesWhileCallsRun) {
  FilterServer server("127.0.0.1:0");
  std::atomic<uint64_t> judged{0}, passed{0};
  NumberedCalls calls(&node_, 4, 8, [&](uint64_t n, const NumberedReply& reply) {
    if (IsFilters(reply)) {
      ASSERT_EQ(n % 4, 0u);
      ASSERT_EQ(reply.number, up() ? n : 0);
      ++judged;
    } else {
      // Or nothing was plugged, or it was not connected yet.
      ASSERT_TRUE(reply.kind == NumberedReply::kServants || IsPolicy(reply));
      ASSERT_EQ(reply.number, reply.kind == NumberedReply::kServants ? n : 0);
      ++passed;
    }
    const bool executed = reply.kind == NumberedReply::kServants || !up();
    ASSERT_EQ(node_.executions().of(n), executed ? 1 : 0);
  });
  int rounds = 0;
  for (; rounds < 300 && !HasFatalFailure(); ++rounds) {
    Plug(server.address(), {});
    // Not always long enough to be connected, and now and then long enough to judge.
    if (rounds % 10 == 0) {
      const uint64_t before = judged;
      ASSERT_TRUE(node_.WaitFor([&] { return judged > before || calls.failed(); }));
    } else if (rounds % 3 == 0) {
      node_.WaitForCounter("connected", 1);
    }
    node_.Commit({filters::UnplugChange{"r"}});
  }
  calls.Stop();
  EXPECT_EQ(calls.sent(), calls.answered());
  EXPECT_TRUE(node_.registry().Drain(node_.clock().Now() + 20 * kSecond).ok());
  printf("%d rounds, %d calls, %d judged\n", rounds, static_cast<int>(calls.sent()),
         static_cast<int>(judged));
}

TEST_P(RemoteLoad, TheNodeEndsWhileCallsWait) {
  FilterServer server("127.0.0.1:0", held_.script());
  PlugConnected(server.address(), {{"timeout", "1h"}});
  auto connection = Send(0, 50);
  ASSERT_TRUE(node_.WaitFor([&] { return held_.count() == 50; }));
  const absl::Status status = node_.Shutdown(200 * kMillisecond);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  // The ORB is gone; the filter answers now.
  held_.AnswerAll();
  const absl::Status drained = node_.registry().Drain(node_.clock().Now() + 20 * kSecond);
  EXPECT_TRUE(drained.ok()) << drained;
  EXPECT_EQ(node_.executions().total(50), up() ? 0u : 50u);
}

TEST_P(RemoteLoad, TheNodeEndsInTimeIfTheFilterAnswersMeanwhile) {
  FilterServer server("127.0.0.1:0", held_.script());
  PlugConnected(server.address(), {{"timeout", "1h"}});
  auto connection = Send(0, 50);
  ASSERT_TRUE(node_.WaitFor([&] { return held_.count() == 50; }));
  Later later;
  later.Do(200 * kMillisecond, [this] { held_.AnswerAll(); });
  const absl::Status status = node_.Shutdown(20 * kSecond);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Receive(connection.get(), 50).size(), 50u);
}

TEST_P(RemoteLoad, ClientsCancelOrGoWhileTheirCallsWait) {
  FilterServer server("127.0.0.1:0", held_.script());
  PlugConnected(server.address(), {{"timeout", "30s"}});
  auto cancelling = Send(0, 40), going = Send(100, 140), staying = Send(200, 240);
  ASSERT_TRUE(node_.WaitFor([&] { return held_.count() == 120; }));
  for (uint32_t id = 0; id < 40; ++id) {
    RawWriter cancel(Order::kLittle);
    cancel.Long(id);
    ASSERT_TRUE(cancelling->Send(EncodeMessage(2, Order::kLittle, kCancelRequest, cancel.bytes())));
  }
  going.reset();
  held_.AnswerAll();
  for (const auto& [n, reply] : Receive(staying.get(), 40)) {
    EXPECT_EQ(IsFilters(reply), n % 4 == 0) << n;
  }
  ASSERT_TRUE(node_.WaitFor([&] { return InProgress() == 0; }));
  for (uint64_t n = 0; n < 240; ++n) EXPECT_LE(node_.executions().of(n), 1) << n;
  // The connection whose calls were cancelled is as good as before.
  auto again = Send(300, 304);
  EXPECT_EQ(Receive(again.get(), 4).size(), 4u);
  EXPECT_TRUE(cancelling->Send(Encode(NumberedRequest(1000, 401))));
  // Replies to cancelled calls may have been on their way.
  for (;;) {
    auto message = cancelling->Receive(kHangsMs);
    ASSERT_TRUE(message.ok()) << message.status();
    if (DecodeReply(*message)->id == 1000) break;
  }
}

// The window between a verdict and the servant: cancels and answers at the same time, many times.
TEST_P(RemoteLoad, CancelsMeetVerdicts) {
  FilterServer server("127.0.0.1:0");
  PlugConnected(server.address(), {{"timeout", "30s"}});
  auto connection = Send(0, 0);
  for (uint32_t n = 0; n < 3000; ++n) {
    RawWriter cancel(Order::kLittle);
    cancel.Long(n);
    ASSERT_TRUE(connection->Send(Encode(NumberedRequest(n, n))));
    for (uint32_t i = 0; i < n % 40; ++i) sched_yield();
    ASSERT_TRUE(connection->Send(EncodeMessage(2, Order::kLittle, kCancelRequest, cancel.bytes())));
  }
  ASSERT_TRUE(node_.WaitFor([&] { return InProgress() == 0; }));
  for (uint64_t n = 0; n < 3000; ++n) ASSERT_LE(node_.executions().of(n), 1) << n;
  auto again = Send(4001, 4002);
  EXPECT_EQ(Receive(again.get(), 1).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(, RemoteLoad, AllPolicies(), PolicyName);

}  // namespace
}  // namespace weir::testing
