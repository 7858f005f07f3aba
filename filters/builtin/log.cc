#include "filters/builtin/log.h"

#include <algorithm>

#include "filters/builtin/parameters.h"
#include "filters/log_line.h"
#include "orb/cdr/decoder.h"
#include "orb/core/system_exception.h"

namespace weir::filters {
namespace {

using orb::ReplyStatus;

std::string_view StatusName(ReplyStatus status) {
  switch (status) {
    case ReplyStatus::kNoException:
      return "NO_EXCEPTION";
    case ReplyStatus::kUserException:
      return "USER_EXCEPTION";
    case ReplyStatus::kSystemException:
      return "SYSTEM_EXCEPTION";
    case ReplyStatus::kLocationForward:
      return "LOCATION_FORWARD";
    case ReplyStatus::kLocationForwardPerm:
      return "LOCATION_FORWARD_PERM";
    case ReplyStatus::kNeedsAddressingMode:
      return "NEEDS_ADDRESSING_MODE";
  }
  return "UNKNOWN";
}

std::string_view CompletionName(orb::Completion completed) {
  switch (completed) {
    case orb::Completion::kYes:
      return "YES";
    case orb::Completion::kNo:
      return "NO";
    case orb::Completion::kMaybe:
      break;
  }
  return "MAYBE";
}

void AddCall(const orb::Call& call, std::string_view plug, LogLine* line) {
  line->Add("plug", plug);
  line->Add("call", call.id());
  line->Add("peer", call.peer().transport, call.peer().address);
  line->Add("key", call.request().object_key);
  line->Add("operation", call.request().operation);
}

void AddException(const orb::Reply& reply, LogLine* line) {
  cdr::Decoder in = reply.body.decoder();
  if (reply.status == ReplyStatus::kSystemException) {
    const orb::SystemException e = orb::DecodeSystemException(&in);
    line->Add("exception", orb::ExceptionName(e.id));
    line->Add("minor", e.minor);
    line->Add("completed", CompletionName(e.completed));
  } else if (reply.status == ReplyStatus::kUserException) {
    line->Add("exception", in.ReadString());  // the repository id
  }
}

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
    line.Add("status", StatusName(call.reply().status));
    AddException(call.reply(), &line);
    const Nanos took = context_.clock->Now() - call.gate_state().began;
    line.Add("microseconds", static_cast<uint64_t>(std::max<Nanos>(took, 0) / kMicrosecond));
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
    return "Writes a line to the log for each request, for each reply, or both: who called which "
           "operation of which object, how it ended and how long it took. Oneways have no reply.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext& context) const override {
    if (auto status = CheckKeys(parameters, name(), {}); !status.ok()) return status;
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
