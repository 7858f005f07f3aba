#include "filters/builtin/fault.h"

#include <optional>

#include "filters/builtin/dice.h"
#include "filters/builtin/fixed_exception.h"
#include "filters/builtin/thread_counters.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

class FaultFilter : public Filter {
 public:
  FaultFilter(double probability, uint64_t seed, orb::ExceptionId id,
              std::optional<orb::Completion> completed)
      : probability_(probability),
        requests_(seed, 0),
        replies_(seed, 1),
        exception_(id),
        completed_(completed) {}

  Verdict Up(int, orb::Call& call) override {
    if (requests_.Throw() >= probability_) return Verdict::kPass;
    failed_.Add(kRequests);
    exception_.Set(completed_.value_or(orb::Completion::kNo), &call);
    return Verdict::kBounce;
  }

  Verdict Down(int, orb::Call& call) override {
    if (replies_.Throw() >= probability_) return Verdict::kPass;
    failed_.Add(kReplies);
    exception_.Set(completed_.value_or(CompletionInPlaceOf(call.reply())), &call);
    return Verdict::kRaise;
  }

  std::vector<FilterCounter> Counters() const override {
    const auto failed = failed_.Sum();
    return {{"", "requests", requests_.thrown()},
            {"", "failed_requests", failed[kRequests]},
            {"", "replies", replies_.thrown()},
            {"", "failed_replies", failed[kReplies]}};
  }

 private:
  enum Counter : size_t { kRequests, kReplies };

  const double probability_;
  Dice requests_;
  Dice replies_;
  const FixedException exception_;
  const std::optional<orb::Completion> completed_;
  ThreadCounters<2> failed_;
};

class FaultKind : public FilterKind {
 public:
  std::string_view name() const override { return "fault"; }
  std::string_view help() const override {
    return "Fails some calls with a system exception, before or after the servant has done its "
           "work. The nth request that meets the filter fails or not by the seed and n alone, and "
           "so "
           "does the nth reply: the same calls in the same order fail again.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext&) const override {
    ParameterReader read(*this, parameters);
    const double probability = read.Number("probability", 0, 1);
    const int64_t seed = read.Integer("seed", 0, INT64_MAX);
    const orb::ExceptionId exception = read.Exception("exception");
    std::optional<orb::Completion> completed;
    if (read.Has("completed")) {
      // In the order of the enumeration.
      completed = static_cast<orb::Completion>(read.Choice("completed", {"yes", "no", "maybe"}));
    }
    if (!read.ok()) return read.status();
    return std::make_unique<FaultFilter>(probability, static_cast<uint64_t>(seed), exception,
                                         completed);
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "fail",
       .phase = Phase::kUp,
       .reads = Reads::kNothing,
       .help = "answers some requests with the exception; the servant never sees them"},
      {.name = "fail_reply",
       .phase = Phase::kDown,
       .reads = Reads::kHeader,
       .help = "replaces some replies by the exception"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "probability",
       .value = "P",
       .required = true,
       .example = "0.01",
       .help = "how many fail, from 0 (none) to 1 (all)"},
      {.name = "seed",
       .value = "N",
       .otherwise = "0",
       .help = "which ones (0 to 9223372036854775807)"},
      {.name = "exception",
       .value = "NAME",
       .otherwise = "TRANSIENT",
       .help = "the system exception that the caller gets"},
      {.name = "completed",
       .value = "no|yes|maybe",
       .help = "the exception's completion status; unless set, what is true"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewFaultKind() { return std::make_unique<FaultKind>(); }

}  // namespace weir::filters
