#include "filters/builtin/replace.h"

#include <string>
#include <utility>

#include "base/strings.h"
#include "filters/builtin/fixed_exception.h"
#include "filters/fixed_reply.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

class ReplyFilter : public Filter {
 public:
  explicit ReplyFilter(FixedReply reply) : reply_(std::move(reply)) {}

  Verdict Up(int, orb::Call& call) override { return reply_.Set(Phase::kUp, &call); }
  Verdict Down(int, orb::Call& call) override { return reply_.Set(Phase::kDown, &call); }

 private:
  const FixedReply reply_;
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
    return "Answers with a fixed result, user exception or system exception, in the servant's "
           "place "
           "or in place of its reply. Set one of result, user and exception. Nothing checks that "
           "a result or a user exception fits the operation.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext&) const override {
    ParameterReader read(*this, parameters);
    const bool user = read.Has("user");
    if (read.Has("result") + user + read.Has("exception") != 1) {
      read.Fail(
          "filter 'replace' needs one of the parameters 'result', 'user' and 'exception', and "
          "no more");
    }
    if (!read.ok()) return read.status();
    if (read.Has("exception")) {
      const orb::ExceptionId exception = read.Exception("exception");
      if (!read.ok()) return read.status();
      return std::make_unique<ExceptionFilter>(exception);
    }
    absl::StatusOr<FixedReply> reply = user ? FixedReply::UserException(read.Text("user"))
                                            : FixedReply::Result(read.Text("result"));
    if (!reply.ok()) {
      read.Fail(user ? "user" : "result", ToStd(reply.status().message()));
      return read.status();
    }
    return std::make_unique<ReplyFilter>(*std::move(reply));
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
       .value = std::string(FixedReply::kResultForm),
       .example = "01000000",
       .help = "the reply's body: CDR, aligned from position 0, in this machine's byte order if it "
               "does not say which; empty for an operation without a result"},
      {.name = "user",
       .value = std::string(FixedReply::kUserExceptionForm),
       .help = "the user exception that the caller gets: its repository id, or if it has members "
               "the octets of its body"},
      {.name = "exception", .value = "NAME", .help = "the system exception that the caller gets"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewReplaceKind() { return std::make_unique<ReplaceKind>(); }

}  // namespace weir::filters
