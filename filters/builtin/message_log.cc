#include "filters/builtin/message_log.h"

#include "filters/builtin/call_log.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

class MessageLogKind : public FilterKind {
 public:
  std::string_view name() const override { return "message-log"; }
  std::string_view help() const override {
    return "Writes a line to the log for each request, for each reply, or both, with the size and "
           "the first octets of its body. Otherwise as log. Bodies may hold what is secret: keep "
           "the log accordingly.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    ParameterReader read(*this, parameters);
    const int64_t bytes = read.Integer("bytes", 0, 1024);
    if (!read.ok()) return read.status();
    return NewCallLog(static_cast<size_t>(bytes), context);
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "request",
       .phase = Phase::kUp,
       .reads = Reads::kBody,
       .help = "logs call id, peer, key, operation, and the arguments' octets"},
      {.name = "reply",
       .phase = Phase::kDown,
       .reads = Reads::kBody,
       .timed = true,
       .help = "logs call id, peer, key, operation, status, microseconds, and the result's octets"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "bytes",
       .value = "N",
       .otherwise = "64",
       .help = "how many octets of each body are shown (0 to 1024)"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewMessageLogKind() { return std::make_unique<MessageLogKind>(); }

}  // namespace weir::filters
