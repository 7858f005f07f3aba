// The table of what is known of objects: nothing is found but what was put in, for this epoch and
// this time, while it is written, too.

#include "filters/interface_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <thread>
#include <vector>

namespace weir::filters {
namespace {

SipValue Object(uint64_t n) { return SipHash({1, 2}, n, ""); }

TEST(InterfaceTable, WhatWasNotAskedIsNotKnown) {
  InterfaceTable table(64);
  EXPECT_EQ(table.Find(Object(1), 0, 0).asked, 0u);
  table.Add(Object(1), 0, 3, true, 0, 100);
  EXPECT_EQ(table.Find(Object(2), 0, 0).asked, 0u);
  const KnownInterfaces known = table.Find(Object(1), 0, 0);
  EXPECT_EQ(known.asked, 8u);
  EXPECT_EQ(known.is, 8u);
}

TEST(InterfaceTable, AnswersAddUpAndNoIsRememberedLikeYes) {
  InterfaceTable table(64);
  table.Add(Object(1), 7, 0, true, 0, 100);
  table.Add(Object(1), 7, 1, false, 0, 100);
  table.Add(Object(1), 7, 63, true, 0, 100);
  const KnownInterfaces known = table.Find(Object(1), 7, 0);
  EXPECT_EQ(known.asked, 3u | uint64_t{1} << 63);
  EXPECT_EQ(known.is, 1u | uint64_t{1} << 63);
  // Asked again, the last answer counts.
  table.Add(Object(1), 7, 0, false, 0, 100);
  EXPECT_EQ(table.Find(Object(1), 7, 0).is, uint64_t{1} << 63);
}

TEST(InterfaceTable, NothingOutlivesItsEpochOrItsTime) {
  InterfaceTable table(64);
  table.Add(Object(1), 7, 0, true, 0, 100);
  EXPECT_EQ(table.Find(Object(1), 7, 99).asked, 1u);
  EXPECT_EQ(table.Find(Object(1), 7, 100).asked, 0u);
  EXPECT_EQ(table.Find(Object(1), 8, 0).asked, 0u);
  // Nor does it come back with the next answer, and that does not lengthen the time of the first.
  table.Add(Object(1), 8, 1, true, 50, 150);
  EXPECT_EQ(table.Find(Object(1), 8, 50).asked, 2u);
  table.Add(Object(1), 8, 2, true, 120, 220);
  EXPECT_EQ(table.Find(Object(1), 8, 120).asked, 6u);
  EXPECT_EQ(table.Find(Object(1), 8, 150).asked, 0u);
  table.Add(Object(1), 8, 3, true, 160, 260);
  EXPECT_EQ(table.Find(Object(1), 8, 160).asked, 8u);
}

TEST(InterfaceTable, AFullTableForgetsTheOldestAndMixesNothingUp) {
  InterfaceTable table(64);
  for (uint64_t i = 0; i < 10000; ++i) {
    table.Add(Object(i), 0, i % 64, i % 3 == 0, i, i + 1000000);
  }
  int found = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    const KnownInterfaces known = table.Find(Object(i), 0, 10000);
    if (known.asked == 0) continue;
    ++found;
    EXPECT_GE(i, 9000u) << "that old, among 64";
    EXPECT_EQ(known.asked, uint64_t{1} << i % 64);
    EXPECT_EQ(known.is, i % 3 == 0 ? known.asked : 0);
  }
  EXPECT_EQ(found, 64);
}

TEST(InterfaceTable, ATableThatHasForgottenNothingYetHasRoomForWhatItSays) {
  InterfaceTable table(1 << 16);
  for (uint64_t i = 0; i < 1000; ++i) table.Add(Object(i), 0, 0, true, 0, 1);
  int found = 0;
  for (uint64_t i = 0; i < 1000; ++i) found += table.Find(Object(i), 0, 0).asked == 1;
  EXPECT_EQ(found, 1000);
}

TEST(InterfaceTable, AReaderSeesWholeEntriesOnly) {
  // Eight places for a hundred objects: all are rewritten all the time. The epoch of an object is
  // its number, and what is known of it can be told from that.
  InterfaceTable table(8);
  constexpr uint64_t kObjects = 100;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> found{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      for (uint64_t i = 0; !stop; i = (i + 1) % kObjects) {
        const KnownInterfaces known = table.Find(Object(i), i, 0);
        if (known.asked == 0) continue;
        found.fetch_add(1, std::memory_order_relaxed);
        ASSERT_EQ(std::popcount(known.asked), 1);
        ASSERT_EQ(known.asked, uint64_t{1} << i % 64);
        ASSERT_EQ(known.is, i % 2 == 0 ? known.asked : 0);
      }
    });
  }
  for (uint64_t i = 0; i < 200000 || found == 0; ++i) {
    const uint64_t n = i * 7 % kObjects;
    table.Add(Object(n), n, n % 64, n % 2 == 0, 0, 1 + i);
  }
  stop = true;
  for (std::thread& t : readers) t.join();
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace weir::filters
