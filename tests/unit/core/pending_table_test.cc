#include "orb/core/pending_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace weir::orb {
namespace {

// The table never looks into a call.
Invocation* Fake(uintptr_t n) { return reinterpret_cast<Invocation*>(n * 64); }

TEST(PendingTable, ACallIsTakenOnceAndOnlyAfterItWasPublished) {
  PendingTable table(10);
  const uint32_t id = *table.Reserve(Fake(1), 5);
  EXPECT_EQ(id % 2, 0u);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(table.Take(id), nullptr);
  table.Publish(id);
  EXPECT_TRUE(table.Waiting(id));
  EXPECT_EQ(table.Take(id), Fake(1));
  EXPECT_EQ(table.Take(id), nullptr);
  EXPECT_FALSE(table.Waiting(id));
  EXPECT_EQ(table.size(), 0u);
}

TEST(PendingTable, ALateReplyDoesNotMeetTheSlotsNextCall) {
  PendingTable table(10);
  const uint32_t first = *table.Reserve(Fake(1), 0);
  table.Publish(first);
  table.Take(first);
  const uint32_t second = *table.Reserve(Fake(2), 0);
  table.Publish(second);
  EXPECT_NE(first, second);
  EXPECT_EQ(table.Take(first), nullptr);
  EXPECT_EQ(table.Take(second), Fake(2));
}

TEST(PendingTable, IdsThatWereNeverGivenOutAreNobodys) {
  PendingTable table(10);
  for (const uint32_t id : {0u, 1u, 2u, 0xffffffffu, 0x80000000u, 128u}) {
    EXPECT_EQ(table.Take(id), nullptr) << id;
    EXPECT_FALSE(table.Waiting(id)) << id;
  }
}

TEST(PendingTable, NoMoreThanTheLimitWait) {
  PendingTable table(3);
  std::vector<uint32_t> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(*table.Reserve(Fake(i + 1), 0));
  EXPECT_FALSE(table.Reserve(Fake(9), 0).has_value());
  table.Unreserve(ids[1]);
  EXPECT_TRUE(table.Reserve(Fake(9), 0).has_value());
}

TEST(PendingTable, EveryIdOfAFullTableIsDistinct) {
  PendingTable table(1 << 20);
  std::set<uint32_t> ids;
  for (;;) {
    const auto id = table.Reserve(Fake(1), 0);
    if (!id.has_value()) break;
    EXPECT_TRUE(ids.insert(*id).second);
  }
  EXPECT_EQ(ids.size(), 32768u);
}

TEST(PendingTable, VisitsWhatWaitsWithItsDeadline) {
  PendingTable table(1000);
  std::vector<uint32_t> ids;
  for (int i = 0; i < 200; ++i) {
    ids.push_back(*table.Reserve(Fake(1), i));
    if (i % 2 == 0) table.Publish(ids.back());
  }
  int seen = 0;
  table.ForEach([&](uint32_t id, Nanos deadline) {
    EXPECT_EQ(id, ids[deadline]);
    EXPECT_EQ(deadline % 2, 0);
    ++seen;
  });
  EXPECT_EQ(seen, 100);
}

TEST(PendingTable, IsSealedOnlyWhileNothingIsInFlight) {
  PendingTable table(10);
  const uint32_t id = *table.Reserve(Fake(1), 0);
  EXPECT_FALSE(table.SealIfEmpty());
  table.Unreserve(id);
  EXPECT_TRUE(table.SealIfEmpty());
  EXPECT_TRUE(table.SealIfEmpty());
  EXPECT_TRUE(table.sealed());
  EXPECT_EQ(table.size(), 0u);
  EXPECT_FALSE(table.Reserve(Fake(1), 0).has_value());
}

TEST(PendingTable, OfManyThreadsThatTakeACallExactlyOneGetsIt) {
  PendingTable table(256);
  constexpr int kThreads = 3, kCalls = 20'000;
  std::atomic<uint32_t> last{0};
  std::atomic<int> taken{0}, left{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 1; i <= kCalls; ++i) {
        Invocation* const call = Fake(t * kCalls + i);
        const std::optional<uint32_t> id = table.Reserve(call, 0);
        if (!id.has_value()) continue;
        table.Publish(*id);
        last.store(*id);
        if (Invocation* const got = table.Take(*id)) {
          EXPECT_EQ(got, call);
          ++taken;
        }
      }
      --left;
    });
  }
  // Takes what it can get, by id and by visiting.
  std::thread thief([&] {
    while (left.load() > 0) {
      if (table.Take(last.load()) != nullptr) ++taken;
      table.ForEach([&](uint32_t id, Nanos) {
        if (table.Take(id) != nullptr) ++taken;
      });
    }
  });
  for (std::thread& t : threads) t.join();
  thief.join();
  EXPECT_EQ(taken.load(), kThreads * kCalls);
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace weir::orb
