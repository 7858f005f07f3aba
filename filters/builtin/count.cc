#include "filters/builtin/count.h"

#include "filters/operation_table.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

enum Counter : size_t { kRequests, kReplies, kUserExceptions, kSystemExceptions };
constexpr size_t kCounters = 4;
constexpr std::string_view kCounterNames[kCounters] = {"requests", "replies", "user_exceptions",
                                                       "system_exceptions"};
using Table = OperationTable<kCounters>;

class CountFilter : public Filter {
 public:
  explicit CountFilter(size_t operations) : table_(operations) {}

  Verdict Up(int, orb::Call& call) override {
    table_.Find(call.request().operation).Add(kRequests);
    return Verdict::kPass;
  }

  Verdict Down(int, orb::Call& call) override {
    Table::Counters& counters = table_.Find(call.request().operation);
    counters.Add(kReplies);
    if (call.reply().status == orb::ReplyStatus::kUserException) counters.Add(kUserExceptions);
    if (call.reply().status == orb::ReplyStatus::kSystemException) counters.Add(kSystemExceptions);
    return Verdict::kPass;
  }

  std::vector<FilterCounter> Counters() const override {
    std::vector<FilterCounter> counters;
    for (const Table::Row& row : table_.Rows()) {
      for (size_t i = 0; i < kCounters; ++i) {
        counters.push_back({row.operation, std::string(kCounterNames[i]), row.values[i]});
      }
    }
    return counters;
  }

 private:
  Table table_;
};

class CountKind : public FilterKind {
 public:
  std::string_view name() const override { return "count"; }
  std::string_view help() const override {
    return "Counts calls by operation: requests, replies, and of those the user and system "
           "exceptions. 'weir list PLUG' shows them.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext&) const override {
    ParameterReader read(*this, parameters);
    const int64_t operations = read.Integer("operations", 1, 65536);
    if (!read.ok()) return read.status();
    return std::make_unique<CountFilter>(static_cast<size_t>(operations));
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "count", .phase = Phase::kUp, .reads = Reads::kHeader, .help = "counts requests"},
      {.name = "count",
       .phase = Phase::kDown,
       .reads = Reads::kHeader,
       .help = "counts replies and exceptions"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "operations",
       .value = "N",
       .otherwise = "1024",
       .help = "how many operations are told apart (1 to 65536); further ones, and names over 255 "
               "bytes, count as (other)"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewCountKind() { return std::make_unique<CountKind>(); }

}  // namespace weir::filters
