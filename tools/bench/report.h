// What a benchmark found, and how it is shown: each figure beside the budget that the design sets.

#ifndef WEIR_TOOLS_BENCH_REPORT_H_
#define WEIR_TOOLS_BENCH_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/bench/interleave.h"

namespace weir::bench {

struct Row {
  std::string name;
  Summary nanos;  // per call
  // The contender that it is compared with; empty: with none.
  std::string base;
  // Median and quartiles over the rounds of time / time of the base, or of the nanoseconds that one
  // more of something takes.
  Summary ratio;
  bool ratio_in_nanos = false;
  std::optional<double> budget;
  // The same ratio of the filter framework that this one descends from.
  std::optional<double> published;
};

struct Report {
  std::vector<Row> rows;
  std::vector<std::string> notes;  // what was left out and why; sentences
  InterleaveOptions options;
};

std::string RenderTable(const Report& report);
std::string RenderJson(const Report& report);

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_REPORT_H_
