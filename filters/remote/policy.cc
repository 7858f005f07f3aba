#include "filters/remote/policy.h"

#include <algorithm>

#include "base/strings.h"

namespace weir::filters {
namespace {

constexpr std::string_view kAnswer = "answer=";
constexpr std::string_view kResult = "result:";
constexpr std::string_view kUser = "user:";

constexpr Nanos kLeastTime = kMillisecond;
constexpr Nanos kMostTime = 3600 * kSecond;

Nanos ReadTime(ParameterReader* read, std::string_view name) {
  return read->Duration(name, kLeastTime, kMostTime);
}

FailurePolicy ReadPolicy(ParameterReader* read, std::string_view name) {
  absl::StatusOr<FailurePolicy> policy = FailurePolicy::Parse(read->Text(name));
  if (policy.ok()) return *policy;
  read->Fail(name, ToStd(policy.status().message()));
  return FailurePolicy();
}

}  // namespace

absl::StatusOr<FailurePolicy> FailurePolicy::Parse(std::string_view text) {
  FailurePolicy policy;
  if (text == "open") {
    policy.kind = Kind::kOpen;
    return policy;
  }
  if (text == "closed") return policy;
  if (text.starts_with(kAnswer)) {
    const std::string_view answer = text.substr(kAnswer.size());
    const bool result = answer.starts_with(kResult);
    if (result || answer.starts_with(kUser)) {
      absl::StatusOr<FixedReply> reply =
          result ? FixedReply::Result(answer.substr(kResult.size()))
                 : FixedReply::UserException(answer.substr(kUser.size()));
      if (!reply.ok()) {
        return absl::InvalidArgumentError(
            StrCat("behind ", result ? kResult : kUser, " ", reply.status().message()));
      }
      policy.kind = Kind::kReply;
      policy.reply = *std::move(reply);
      return policy;
    }
    if (const auto id = orb::ExceptionIdFromName(answer); id.has_value()) {
      policy.exception = *id;
      return policy;
    }
  }
  return absl::InvalidArgumentError(
      "write open (go on without the filter), closed (NO_PERMISSION), answer=NAME with a system "
      "exception, as in answer=TRANSIENT, answer=result:HEX, or answer=user:IDL:...");
}

Verdict FailurePolicy::Apply(Phase phase, orb::Call& call) const {
  switch (kind) {
    case Kind::kOpen:
      return Verdict::kPass;
    case Kind::kReply:
      return reply.SetCopy(phase, &call);
    case Kind::kException:
      break;
  }
  const orb::Completion completed =
      phase == Phase::kUp ? orb::Completion::kNo : CompletionInPlaceOf(call.reply());
  call.SetSystemException({exception, orb::WeirMinor::kFilterFailed, completed});
  return phase == Phase::kUp ? Verdict::kBounce : Verdict::kRaise;
}

absl::StatusOr<PhaseOptions> Parse(const DeclaredPolicy& declared) {
  PhaseOptions options;
  if (declared.timeout != 0) {
    if (declared.timeout < kLeastTime || declared.timeout > kMostTime) {
      return absl::InvalidArgumentError("a timeout must be from 1ms to 1h");
    }
    options.timeout = declared.timeout;
  }
  if (!declared.on_failure.empty()) {
    absl::StatusOr<FailurePolicy> policy = FailurePolicy::Parse(declared.on_failure);
    if (!policy.ok()) return policy.status();
    options.on_failure = *std::move(policy);
  }
  return options;
}

PhasePolicy RemoteOptions::PolicyOf(Phase phase, const PhaseOptions& declared) const {
  PhasePolicy policy;
  const PhaseOptions& plug = phase == Phase::kUp ? up : down;
  for (const PhaseOptions* says : {&declared, &plug}) {
    if (says->timeout.has_value()) policy.timeout = *says->timeout;
    if (says->on_failure.has_value()) policy.on_failure = *says->on_failure;
  }
  return policy;
}

std::vector<ParameterInfo> RemoteParameters(ParameterInfo at) {
  return {
      std::move(at),
      {.name = "spare",
       .value = "ADDRESS[,ADDRESS...]",
       .help = "where replicas of the filter are (up to 7), asked in this order while the one at "
               "`at` is not there"},
      {.name = "name", .value = "NAME", .help = "which filter, where there are several"},
      {.name = "timeout",
       .value = "TIME",
       .otherwise = "1s",
       .help = "how long an answer may take (1ms to 1h); not set, the filter may declare another "
               "default, as for on-failure"},
      {.name = "timeout.down",
       .value = "TIME",
       .help = "the same for replies; as timeout if not set"},
      {.name = "on-failure",
       .value = "open|closed|answer=ANSWER",
       .otherwise = "closed",
       .help = "what a call gets if there is no answer, or no filter: open, it goes on; closed, "
               "NO_PERMISSION; answer=NAME, another system exception; answer=result:HEX or "
               "answer=user:IDL:..., as `replace` takes them"},
      {.name = "on-failure.down",
       .value = "open|closed|answer=ANSWER",
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
      {.name = "ahead",
       .value = "yes|no",
       .otherwise = "no",
       .help = "whether it may be asked about a request while remote filters before it, which "
               "change nothing, are still asked; it then sees requests that these refuse"},
  };
}

std::vector<std::string> ReadAddresses(std::initializer_list<std::string_view> beginnings,
                                       ParameterReader* read) {
  std::vector<std::string> all = {std::string(read->Text("at"))};
  if (all[0].empty()) read->Fail("at", "it must be an address");
  if (!read->Has("spare")) return all;
  const auto begins = [&](std::string_view text) {
    return text.empty() || beginnings.size() == 0 ||
           std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view beginning) {
             return StartsWithIgnoreCase(text, beginning);
           });
  };
  const std::string_view spares = read->Text("spare");
  for (size_t begin = 0; begin <= spares.size();) {
    size_t end = spares.find(',', begin);
    while (end != spares.npos && !begins(spares.substr(end + 1))) end = spares.find(',', end + 1);
    end = std::min(end, spares.size());
    all.emplace_back(spares.substr(begin, end - begin));
    begin = end + 1;
  }
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].empty()) read->Fail("spare", "an address in it is empty");
    if (std::find(all.begin(), all.begin() + i, all[i]) != all.begin() + i) {
      read->Fail("spare", StrCat("'", Escape(all[i]), "' is there already"));
    }
  }
  if (all.size() - 1 > kMostSpares) {
    read->Fail("spare", StrCat("there may be ", kMostSpares, " addresses at most"));
  }
  return all;
}

RemoteOptions ReadRemoteOptions(ParameterReader* read) {
  RemoteOptions options;
  if (read->Has("timeout")) options.up.timeout = ReadTime(read, "timeout");
  if (read->Has("on-failure")) options.up.on_failure = ReadPolicy(read, "on-failure");
  options.down = options.up;
  if (read->Has("timeout.down")) options.down.timeout = ReadTime(read, "timeout.down");
  if (read->Has("on-failure.down")) options.down.on_failure = ReadPolicy(read, "on-failure.down");
  options.max_waiting = static_cast<int>(read->Integer("max-waiting", 1, 1'000'000));
  options.breaker = static_cast<int>(read->Integer("breaker", 0, 1'000'000));
  options.breaker_pause = ReadTime(read, "breaker-pause");
  options.ahead = read->Choice("ahead", {"no", "yes"}) == 1;
  return options;
}

}  // namespace weir::filters
