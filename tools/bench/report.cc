#include "tools/bench/report.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace weir::bench {
namespace {

std::string Quote(const std::string& text) {
  return "\"" + absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}) + "\"";
}

std::string RatioText(const Row& row) {
  if (row.base.empty()) return "";
  if (row.ratio_in_nanos) {
    return absl::StrFormat("%.0f ns  %.0f..%.0f", row.ratio.median, row.ratio.low, row.ratio.high);
  }
  return absl::StrFormat("%.3f  %.3f..%.3f", row.ratio.median, row.ratio.low, row.ratio.high);
}

std::string BudgetText(const Row& row) {
  if (!row.budget.has_value()) return "";
  return row.ratio_in_nanos ? absl::StrFormat("<= %.0f ns", *row.budget)
                            : absl::StrFormat("<= %.2f", *row.budget);
}

}  // namespace

std::string RenderTable(const Report& report) {
  const bool published = std::any_of(report.rows.begin(), report.rows.end(),
                                     [](const Row& row) { return row.published.has_value(); });
  std::string out =
      absl::StrFormat("%-34s %8s  %-24s %-21s  %-8s  %s\n", "", "us/call", "compared with",
                      "ratio  quartiles", "budget", published ? "published" : "");
  for (const Row& row : report.rows) {
    std::string line =
        absl::StrFormat("%-34s %8.2f  %-24s %-21s  %-8s  %s", row.name, row.nanos.median / 1000,
                        row.base, RatioText(row), BudgetText(row),
                        row.published.has_value() ? absl::StrFormat("%.1f", *row.published) : "");
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  absl::StrAppendFormat(
      &out,
      "\nMedians of %d interleaved batches of %d calls, one call at a time; ratios are taken "
      "between\nbatches of the same round. The row that compares a contender with itself shows the "
      "machine's noise.\n",
      report.options.rounds, report.options.calls);
  for (const std::string& note : report.notes) absl::StrAppend(&out, "Note: ", note, "\n");
  return out;
}

std::string RenderJson(const Report& report) {
  std::string out =
      absl::StrFormat("{\"batches\":%d,\"calls\":%d,\"seed\":%d,\"rows\":[", report.options.rounds,
                      report.options.calls, report.options.seed);
  const char* separator = "";
  for (const Row& row : report.rows) {
    absl::StrAppendFormat(&out, "%s{\"name\":%s,\"us\":%.3f,\"us_quartiles\":[%.3f,%.3f]",
                          separator, Quote(row.name), row.nanos.median / 1000, row.nanos.low / 1000,
                          row.nanos.high / 1000);
    if (!row.base.empty()) {
      absl::StrAppendFormat(&out, ",\"base\":%s,\"%s\":%.4f,\"quartiles\":[%.4f,%.4f]",
                            Quote(row.base), row.ratio_in_nanos ? "ns" : "ratio", row.ratio.median,
                            row.ratio.low, row.ratio.high);
    }
    if (row.budget.has_value()) absl::StrAppendFormat(&out, ",\"budget\":%g", *row.budget);
    if (row.published.has_value()) {
      absl::StrAppendFormat(&out, ",\"published\":%g", *row.published);
    }
    out += "}";
    separator = ",";
  }
  out += "],\"notes\":[";
  separator = "";
  for (const std::string& note : report.notes) {
    absl::StrAppend(&out, separator, Quote(note));
    separator = ",";
  }
  return out + "]}\n";
}

}  // namespace weir::bench
