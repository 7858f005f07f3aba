#include "filters/remote/policy.h"

#include "base/strings.h"

namespace weir::filters {
namespace {

constexpr std::string_view kAnswer = "answer=";

Nanos ReadTime(ParameterReader* read, std::string_view name) {
  return read->Duration(name, kMillisecond, 3600 * kSecond);
}

FailurePolicy ReadPolicy(ParameterReader* read, std::string_view name) {
  absl::StatusOr<FailurePolicy> policy = FailurePolicy::Parse(read->Text(name));
  if (policy.ok()) return *policy;
  read->Fail(name, ToStd(policy.status().message()));
  return FailurePolicy();
}

}  // namespace

absl::StatusOr<FailurePolicy> FailurePolicy::Parse(std::string_view text) {
  if (text == "open") return FailurePolicy{std::nullopt};
  if (text == "closed") return FailurePolicy{};
  if (text.starts_with(kAnswer)) {
    const auto id = orb::ExceptionIdFromName(text.substr(kAnswer.size()));
    if (id.has_value()) return FailurePolicy{id};
  }
  return absl::InvalidArgumentError(
      "write open (go on without the filter), closed (NO_PERMISSION), or answer=NAME with a system "
      "exception, as in answer=TRANSIENT");
}

Verdict FailurePolicy::Apply(Phase phase, orb::Call& call) const {
  if (!exception.has_value()) return Verdict::kPass;
  orb::Completion completed = orb::Completion::kNo;
  if (phase == Phase::kDown) {
    const orb::ReplyStatus status = call.reply().status;
    completed =
        status == orb::ReplyStatus::kNoException || status == orb::ReplyStatus::kUserException
            ? orb::Completion::kYes
            : orb::Completion::kMaybe;
  }
  call.SetSystemException({*exception, orb::WeirMinor::kFilterFailed, completed});
  return phase == Phase::kUp ? Verdict::kBounce : Verdict::kRaise;
}

std::vector<ParameterInfo> RemoteParameters(ParameterInfo at) {
  return {
      std::move(at),
      {.name = "name", .value = "NAME", .help = "which filter, where there are several"},
      {.name = "timeout",
       .value = "TIME",
       .otherwise = "1s",
       .help = "how long an answer may take (1ms to 1h)"},
      {.name = "timeout.down",
       .value = "TIME",
       .help = "the same for replies; as timeout if not set"},
      {.name = "on-failure",
       .value = "open|closed|answer=EXCEPTION",
       .otherwise = "closed",
       .help = "what a call gets if there is no answer, or no filter: open, it goes on; closed, "
               "NO_PERMISSION; or another system exception"},
      {.name = "on-failure.down",
       .value = "open|closed|answer=EXCEPTION",
       .help = "the same for replies; as on-failure if not set"},
      {.name = "max-waiting",
       .value = "N",
       .otherwise = "10000",
       .help = "calls that may wait at a time (1 to 1000000)"},
      {.name = "breaker",
       .value = "N",
       .otherwise = "5",
       .help = "after so many timeouts in a row the filter is not asked for a while (0 to 1000000; "
               "0: never)"},
      {.name = "breaker-pause",
       .value = "TIME",
       .otherwise = "1s",
       .help = "how long that is (1ms to 1h)"},
  };
}

RemoteOptions ReadRemoteOptions(ParameterReader* read) {
  RemoteOptions options;
  options.up = {ReadTime(read, "timeout"), ReadPolicy(read, "on-failure")};
  options.down = options.up;
  if (read->Has("timeout.down")) options.down.timeout = ReadTime(read, "timeout.down");
  if (read->Has("on-failure.down")) options.down.on_failure = ReadPolicy(read, "on-failure.down");
  options.max_waiting = static_cast<int>(read->Integer("max-waiting", 1, 1'000'000));
  options.breaker = static_cast<int>(read->Integer("breaker", 0, 1'000'000));
  options.breaker_pause = ReadTime(read, "breaker-pause");
  return options;
}

}  // namespace weir::filters
