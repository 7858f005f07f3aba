#include "filters/builtin/log.h"

#include "filters/builtin/call_log.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

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
    return NewCallLog(std::nullopt, context);
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
