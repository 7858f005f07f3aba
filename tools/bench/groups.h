// `weir bench groups`: many objects, many plugs that each cover a group of them, and calls that go
// on while plugs come and go: how long a commit takes, and what the worst call meets meanwhile.

#ifndef WEIR_TOOLS_BENCH_GROUPS_H_
#define WEIR_TOOLS_BENCH_GROUPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"

namespace weir::bench {

struct GroupsOptions {
  int objects = 100'000;
  int groups = 1000;
  int commits = 200;  // of each kind of groups
  int callers = 2;    // threads, each with one call at a time
  uint64_t seed = 1;
};

// Of times in nanoseconds.
struct Times {
  uint64_t count = 0;
  Nanos median = 0, p99 = 0, worst = 0;
};

// One kind of groups.
struct GroupsRow {
  std::string name;
  Times commits;  // a plug with two enabled mappings, or its unplugging, in a store on disk
  Times calls;    // while nothing is committed
  Times calls_during_commits;
  // All calls that were made; those that got their own result; and how many up and down methods the
  // groups' filters ran, of so many that they had to.
  uint64_t sent = 0, answered = 0, ups = 0, downs = 0, expected = 0;
};

struct GroupsReport {
  GroupsOptions options;
  std::vector<GroupsRow> rows;
};

// Serves, calls and commits in this process, over TCP. Two rows: groups beside each other, and each
// within the one before, so that the plans of all change and the innermost has them all.
absl::StatusOr<GroupsReport> MeasureGroups(const GroupsOptions& options);

std::string RenderTable(const GroupsReport& report);
std::string RenderJson(const GroupsReport& report);

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_GROUPS_H_
