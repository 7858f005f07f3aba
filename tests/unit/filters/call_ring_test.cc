#include "filters/call_ring.h"

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::filters {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CallRecord Record(uint64_t call, size_t key_bytes = 1) {
  CallRecord record;
  record.call = call;
  record.object_key = std::string(key_bytes, 'k');
  return record;
}

std::vector<uint64_t> Calls(const CallRing::Page& page) {
  std::vector<uint64_t> calls;
  for (const auto& record : page.calls) calls.push_back(record->call);
  return calls;
}

TEST(CallRingTest, TheOldestMakesPlaceForTheNewest) {
  CallRing ring({.entries = 3});
  for (uint64_t call = 101; call <= 105; ++call) ring.Add(Record(call));
  EXPECT_THAT(Calls(ring.Latest(10)), ElementsAre(103, 104, 105));
  EXPECT_EQ(ring.Find(102), nullptr);
  ASSERT_NE(ring.Find(103), nullptr);
  EXPECT_EQ(ring.Find(103)->sequence, 3u);
}

TEST(CallRingTest, BytesAreBoundedAsWellAsEntries) {
  const size_t each = Record(1, 1000).Bytes();
  ASSERT_GT(each, 1000u);
  CallRing ring({.entries = 1000, .bytes = 5 * each});
  for (uint64_t call = 1; call <= 20; ++call) ring.Add(Record(call, 1000));
  EXPECT_THAT(Calls(ring.Latest(1000)), ElementsAre(16, 17, 18, 19, 20));
  // Small ones afterwards: there is room for more of them.
  for (uint64_t call = 21; call <= 40; ++call) ring.Add(Record(call));
  EXPECT_GT(ring.Latest(1000).calls.size(), 10u);
}

TEST(CallRingTest, ARecordOverTheLimitIsNotKeptAndPushesNothingOut) {
  CallRing ring({.bytes = 2000});
  ring.Add(Record(1));
  ring.Add(Record(2, 3000));
  ring.Add(Record(3));
  EXPECT_THAT(Calls(ring.Latest(10)), ElementsAre(1, 3));
  EXPECT_EQ(ring.Find(3)->sequence, 2u) << "no gap";
}

TEST(CallRingTest, WhoGoesOnFromTheLastPageMissesNothing) {
  CallRing ring({.entries = 100});
  EXPECT_EQ(ring.Latest(10).next, 0u);
  for (uint64_t call = 1; call <= 5; ++call) ring.Add(Record(call));
  CallRing::Page page = ring.After(0, 2);
  EXPECT_THAT(Calls(page), ElementsAre(1, 2));
  page = ring.After(page.next, 2);
  EXPECT_THAT(Calls(page), ElementsAre(3, 4));
  page = ring.After(page.next, 2);
  EXPECT_THAT(Calls(page), ElementsAre(5));
  page = ring.After(page.next, 2);
  EXPECT_THAT(Calls(page), IsEmpty());
  ring.Add(Record(6));
  page = ring.After(page.next, 2);
  EXPECT_THAT(Calls(page), ElementsAre(6));
  EXPECT_EQ(page.missed, 0u);
}

TEST(CallRingTest, WhoComesTooLateIsToldHowManyItMissed) {
  CallRing ring({.entries = 3});
  for (uint64_t call = 1; call <= 10; ++call) ring.Add(Record(call));
  const CallRing::Page page = ring.After(2, 10);
  EXPECT_THAT(Calls(page), ElementsAre(8, 9, 10));
  EXPECT_EQ(page.missed, 5u);
  EXPECT_EQ(page.next, 10u);
}

TEST(CallRingTest, ANumberFromAnotherNodesLifeGoesOnAtTheEnd) {
  CallRing ring({.entries = 3});
  ring.Add(Record(1));
  const CallRing::Page page = ring.After(UINT64_MAX, 10);
  EXPECT_THAT(Calls(page), IsEmpty());
  EXPECT_EQ(page.next, 1u);
  EXPECT_EQ(page.missed, 0u);
}

TEST(CallRingTest, ThreadsLoseNoRecordAndNoNumber) {
  constexpr int kThreads = 4;
  constexpr uint64_t kEach = 2000;
  CallRing ring({.entries = kThreads * kEach, .bytes = 64 << 20});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kEach; ++i) ring.Add(Record(t * kEach + i));
    });
  }
  // A reader at the same time sees them in order.
  uint64_t next = 0, read = 0;
  while (read < kThreads * kEach) {
    const CallRing::Page page = ring.After(next, 100);
    for (const auto& record : page.calls) ASSERT_EQ(record->sequence, ++read);
    next = page.next;
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t call = 0; call < kThreads * kEach; call += 97) {
    EXPECT_NE(ring.Find(call), nullptr) << call;
  }
}

TEST(CallRingTest, LongTextIsCutWithAMark) {
  EXPECT_EQ(Cut("four", 4), "four");
  EXPECT_EQ(Cut("fives", 4), "five...");
}

}  // namespace
}  // namespace weir::filters
