#include "filters/remote/policy.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "absl/time/time.h"
#include "base/strings.h"

namespace weir::filters {
namespace {

constexpr std::string_view kShared[] = {"timeout",         "timeout.down", "on-failure",
                                        "on-failure.down", "max-waiting",  "breaker",
                                        "breaker-pause"};
constexpr std::string_view kAnswer = "answer=";

absl::Status Bad(std::string_view key, std::string_view value, std::string_view wanted) {
  return absl::InvalidArgumentError(
      StrCat("parameter '", key, "' is '", Escape(value), "'; ", wanted));
}

absl::Status ReadTime(const FilterParameters& parameters, const char* key, Nanos* value) {
  const auto it = parameters.find(key);
  if (it == parameters.end()) return absl::OkStatus();
  absl::Duration d;
  if (!absl::ParseDuration(it->second, &d) || d < absl::Milliseconds(1) || d > absl::Hours(1)) {
    return Bad(key, it->second, "write a time from 1ms to 1h, as in 200ms or 1.5s");
  }
  *value = absl::ToInt64Nanoseconds(d);
  return absl::OkStatus();
}

absl::Status ReadNumber(const FilterParameters& parameters, const char* key, int min, int max,
                        int* value) {
  const auto it = parameters.find(key);
  if (it == parameters.end()) return absl::OkStatus();
  const std::string& text = it->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc() || end != text.data() + text.size() || *value < min || *value > max) {
    return Bad(key, text, StrCat("it must be a number from ", min, " to ", max));
  }
  return absl::OkStatus();
}

absl::Status ReadPolicy(const FilterParameters& parameters, const char* key,
                        FailurePolicy* policy) {
  const auto it = parameters.find(key);
  if (it == parameters.end()) return absl::OkStatus();
  absl::StatusOr<FailurePolicy> parsed = FailurePolicy::Parse(it->second);
  if (!parsed.ok()) return Bad(key, it->second, ToStd(parsed.status().message()));
  *policy = *parsed;
  return absl::OkStatus();
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

absl::StatusOr<RemoteOptions> ParseRemoteOptions(const FilterParameters& parameters,
                                                 std::initializer_list<std::string_view> own) {
  for (const auto& [key, value] : parameters) {
    const auto is_key = [&key = key](std::string_view known) { return known == key; };
    if (std::any_of(own.begin(), own.end(), is_key) ||
        std::any_of(std::begin(kShared), std::end(kShared), is_key)) {
      continue;
    }
    std::string names;
    for (const std::string_view name : own) StrAppend(&names, names.empty() ? "" : ", ", name);
    for (const std::string_view name : kShared) StrAppend(&names, ", ", name);
    return absl::InvalidArgumentError(
        StrCat("no parameter '", Escape(key), "'; there are: ", names));
  }
  RemoteOptions options;
  absl::Status status = ReadTime(parameters, "timeout", &options.up.timeout);
  options.down.timeout = options.up.timeout;
  if (status.ok()) status = ReadTime(parameters, "timeout.down", &options.down.timeout);
  if (status.ok()) status = ReadPolicy(parameters, "on-failure", &options.up.on_failure);
  options.down.on_failure = options.up.on_failure;
  if (status.ok()) status = ReadPolicy(parameters, "on-failure.down", &options.down.on_failure);
  if (status.ok()) {
    status = ReadNumber(parameters, "max-waiting", 1, 1'000'000, &options.max_waiting);
  }
  if (status.ok()) status = ReadNumber(parameters, "breaker", 0, 1'000'000, &options.breaker);
  if (status.ok()) status = ReadTime(parameters, "breaker-pause", &options.breaker_pause);
  if (!status.ok()) return status;
  return options;
}

std::string_view RemoteParametersHelp() {
  return "timeout=TIME (1s): how long an answer may take; timeout.down=TIME for replies. "
         "on-failure=open|closed|answer=EXCEPTION (closed): what a call gets if there is none, or "
         "no "
         "filter; on-failure.down for replies. max-waiting=N (10000): calls that may wait at a "
         "time. "
         "breaker=N (5): after so many timeouts in a row, do not ask for breaker-pause=TIME (1s).";
}

}  // namespace weir::filters
