#include "filters/operation_table.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace weir::filters {
namespace {

using Table = OperationTable<4>;

TEST(OperationTableTest, RowsComeInOrderOfTheirNames) {
  auto table = std::make_unique<Table>(8);
  for (const char* operation : {"c", "a", "b", "a"}) table->Find(operation).Add(1);
  const auto rows = table->Rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].operation, "a");
  EXPECT_EQ(rows[0].values, (Table::Values{0, 2, 0, 0}));
  EXPECT_EQ(rows[2].operation, "c");
}

TEST(OperationTableTest, ALimitOfOneHolds) {
  auto table = std::make_unique<Table>(1);
  table->Find("a").Add(0);
  table->Find("b").Add(0);
  table->Find("a").Add(0);
  const auto rows = table->Rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].values[0], 2u);
  EXPECT_EQ(rows[1].operation, kOtherOperations);
  EXPECT_EQ(rows[1].values[0], 1u);
}

TEST(OperationTableTest, ThreadsThatMeetNewOperationsTogetherLoseNoCountAndKeepTheLimit) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  constexpr int kOperations = 200;
  constexpr size_t kLimit = 150;
  auto table = std::make_unique<Table>(kLimit);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds * kOperations; ++i) {
        table->Find("op" + std::to_string(i % kOperations)).Add(0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t total = 0;
  size_t own = 0;
  for (const Table::Row& row : table->Rows()) {
    total += row.values[0];
    if (row.operation != kOtherOperations) {
      ++own;
      EXPECT_LE(row.values[0], uint64_t{kThreads} * kRounds);
    }
  }
  EXPECT_EQ(total, uint64_t{kThreads} * kRounds * kOperations);
  EXPECT_LE(own, kLimit);
}

}  // namespace
}  // namespace weir::filters
