#include "filters/builtin/call_log.h"

#include "filters/builtin/call_words.h"
#include "filters/log_line.h"

namespace weir::filters {
namespace {

class CallLog : public Filter {
 public:
  CallLog(std::optional<size_t> body_bytes, const FilterContext& context)
      : body_bytes_(body_bytes), context_(context) {}

  Verdict Up(int, orb::Call& call) override {
    LogLine line("request");
    AddCall(call, context_.plug, &line);
    return Write(call.request().body, &line);
  }

  Verdict Down(int, orb::Call& call) override {
    LogLine line("reply");
    AddCall(call, context_.plug, &line);
    AddOutcome(call, *context_.clock, &line);
    return Write(call.reply().body, &line);
  }

 private:
  Verdict Write(const orb::Body& body, LogLine* line) {
    if (body_bytes_.has_value()) AddBody(body, *body_bytes_, line);
    context_.logger->Log(LogLevel::kInfo, line->view());
    return Verdict::kPass;
  }

  const std::optional<size_t> body_bytes_;
  const FilterContext context_;
};

}  // namespace

std::unique_ptr<Filter> NewCallLog(std::optional<size_t> body_bytes, const FilterContext& context) {
  return std::make_unique<CallLog>(body_bytes, context);
}

}  // namespace weir::filters
