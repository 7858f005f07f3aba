#include "filters/builtin/replace.h"

#include <optional>
#include <string>

#include "filters/builtin/fixed_exception.h"
#include "filters/builtin/hex.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

// Octets of a result.
constexpr size_t kMaxResult = 64 * 1024;

class ResultFilter : public Filter {
 public:
  explicit ResultFilter(std::string result) : result_(std::move(result)) {}

  Verdict Up(int, orb::Call& call) override {
    call.SetBorrowedBody(orb::ReplyStatus::kNoException, result_);
    return Verdict::kBounce;
  }
  Verdict Down(int, orb::Call& call) override {
    call.SetBorrowedBody(orb::ReplyStatus::kNoException, result_);
    return Verdict::kPass;
  }

 private:
  const std::string result_;
};

class ExceptionFilter : public Filter {
 public:
  explicit ExceptionFilter(orb::ExceptionId id) : exception_(id) {}

  Verdict Up(int, orb::Call& call) override {
    exception_.Set(orb::Completion::kNo, &call);
    return Verdict::kBounce;
  }
  Verdict Down(int, orb::Call& call) override {
    exception_.Set(CompletionInPlaceOf(call.reply()), &call);
    return Verdict::kRaise;
  }

 private:
  const FixedException exception_;
};

class ReplaceKind : public FilterKind {
 public:
  std::string_view name() const override { return "replace"; }
  std::string_view help() const override {
    return "Answers with a fixed result or system exception, in the servant's place or in place of "
           "its reply. Set one of result and exception. Nothing checks that a result fits the "
           "operation.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext&) const override {
    ParameterReader read(*this, parameters);
    if (read.Has("result") == read.Has("exception")) {
      read.Fail(
          "filter 'replace' needs one of the parameters 'result' and 'exception', and not "
          "both");
    }
    if (!read.ok()) return read.status();
    if (read.Has("exception")) {
      const orb::ExceptionId exception = read.Exception("exception");
      if (!read.ok()) return read.status();
      return std::make_unique<ExceptionFilter>(exception);
    }
    std::optional<std::string> result = ParseHex(read.Text("result"), kMaxResult);
    if (!result.has_value()) {
      read.Fail("result",
                "it must be at most 65536 octets of two hexadecimal digits each, such as 01000000");
      return read.status();
    }
    return std::make_unique<ResultFilter>(*std::move(result));
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "replace",
       .phase = Phase::kUp,
       .reads = Reads::kNothing,
       .help = "answers; the servant never sees the call"},
      {.name = "replace_reply",
       .phase = Phase::kDown,
       .reads = Reads::kNothing,
       .changes = true,
       .help = "answers in place of the servant, which has done its work"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "result",
       .value = "HEX",
       .example = "01000000",
       .help = "the reply's body: CDR in this machine's byte order, aligned from position 0; "
               "empty for an operation without a result"},
      {.name = "exception", .value = "NAME", .help = "the system exception that the caller gets"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewReplaceKind() { return std::make_unique<ReplaceKind>(); }

}  // namespace weir::filters
