#include "filters/builtin/log.h"

#include "filters/builtin/call_words.h"
#include "filters/log_line.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

class LogFilter : public Filter {
 public:
  explicit LogFilter(const FilterContext& context) : context_(context) {}

  Verdict Up(int, orb::Call& call) override {
    LogLine line("request");
    AddCall(call, context_.plug, &line);
    context_.logger->Log(LogLevel::kInfo, line.view());
    return Verdict::kPass;
  }

  Verdict Down(int, orb::Call& call) override {
    LogLine line("reply");
    AddCall(call, context_.plug, &line);
    AddOutcome(call, *context_.clock, &line);
    context_.logger->Log(LogLevel::kInfo, line.view());
    return Verdict::kPass;
  }

 private:
  const FilterContext context_;
};

class LogKind : public FilterKind {
 public:
  std::string_view name() const override { return "log"; }
  std::string_view help() const override {
    return "Writes a line to the log for each request, for each reply, or both. It says who called "
           "which operation of which object, how it ended and how long it took. Oneways have no "
           "reply.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    if (ParameterReader read(*this, parameters); !read.ok()) return read.status();
    return std::make_unique<LogFilter>(context);
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "request",
       .phase = Phase::kUp,
       .reads = Reads::kHeader,
       .help = "logs call id, peer, key and operation"},
      {.name = "reply",
       .phase = Phase::kDown,
       .reads = Reads::kHeader,
       .timed = true,
       .help = "logs these and the status, the exception and the microseconds taken"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewLogKind() { return std::make_unique<LogKind>(); }

}  // namespace weir::filters
