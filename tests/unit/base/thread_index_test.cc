#include "base/thread_index.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace weir {
namespace {

TEST(ThreadIndexTest, LivingThreadsDifferUntilTheNumbersRunOut) {
  constexpr size_t kThreads = 30;
  Mutex mu;
  std::multiset<size_t> seen;
  std::atomic<size_t> arrived{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const size_t index = ThreadIndex();
      EXPECT_EQ(ThreadIndex(), index);
      {
        MutexLock lock(&mu);
        seen.insert(index);
      }
      arrived.fetch_add(1);
      while (arrived.load() < kThreads) std::this_thread::yield();
    });
  }
  for (std::thread& t : threads) t.join();
  for (const size_t index : seen) {
    EXPECT_LE(index, kSharedThreadIndex);
    if (index < kSharedThreadIndex) {
      EXPECT_EQ(seen.count(index), 1u) << index;
    }
  }
  EXPECT_GE(seen.count(kSharedThreadIndex), kThreads - kSharedThreadIndex);
}

TEST(ThreadIndexTest, NumbersOfEndedThreadsAreUsedAgain) {
  for (int i = 0; i < 200; ++i) {
    size_t index = kSharedThreadIndex;
    std::thread([&index] { index = ThreadIndex(); }).join();
    EXPECT_LT(index, kSharedThreadIndex);
  }
}

TEST(ThreadIndexTest, NothingThatIsAddedIsLost) {
  // More threads than numbers, and more than one generation of them.
  constexpr int kThreads = 24, kAdds = 20'000;
  std::array<std::atomic<int64_t>, kThreadIndices> places{};
  for (int generation = 0; generation < 3; ++generation) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kAdds; ++i) {
          const size_t index = ThreadIndex();
          AddToPlace<int64_t>(&places[index], index, 3);
          AddToPlace<int64_t>(&places[index], index, -1);
        }
      });
    }
    for (std::thread& t : threads) t.join();
  }
  int64_t sum = 0;
  for (const auto& place : places) sum += place.load();
  EXPECT_EQ(sum, int64_t{3} * kThreads * kAdds * 2);
}

}  // namespace
}  // namespace weir
