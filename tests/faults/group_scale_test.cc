// A hundred thousand objects, a thousand group plugs, and plugs that come and go while calls run:
// no call is lost or passes a filter by. How long commits and calls took is printed; on a machine
// that does other things besides it says little, so nothing is asserted of it (`weir bench
// groups`).

#include <gtest/gtest.h>

#include <cstdio>

#include "tools/bench/groups.h"

namespace weir::bench {
namespace {

TEST(GroupScale, PlugsComeAndGoAmongAHundredThousandObjectsAndNoCallIsLost) {
  GroupsOptions options;
  options.commits = 6;  // without optimization each takes a second in the second row
  const absl::StatusOr<GroupsReport> report = MeasureGroups(options);
  ASSERT_TRUE(report.ok()) << report.status();
  printf("%s", RenderTable(*report).c_str());
  ASSERT_EQ(report->rows.size(), 2u);
  for (const GroupsRow& row : report->rows) {
    EXPECT_EQ(row.commits.count, 6u) << row.name;
    EXPECT_GT(row.calls_during_commits.count, 0u) << row.name;
    EXPECT_EQ(row.answered, row.sent) << row.name;
    EXPECT_EQ(row.ups, row.expected) << row.name;
    EXPECT_EQ(row.downs, row.expected) << row.name;
  }
}

}  // namespace
}  // namespace weir::bench
