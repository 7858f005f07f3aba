#include "tools/weir/calls_command.h"

#include <time.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "control/describe.h"
#include "tools/weir/beta.h"
#include "tools/weir/orb_setup.h"
#include "tools/weir/render.h"
#include "tools/weir/table.h"

namespace weir::tools {
namespace {

namespace v1 = control::v1;

using control::Printable;

// A follower asks so often, and its lease outlives some lost answers.
constexpr Nanos kPoll = 200 * kMillisecond;
constexpr Nanos kFollowLease = 10 * kSecond;
constexpr uint32_t kPage = 1000;

struct CallsFlags {
  Nanos record = 0;
  bool stop = false;
  bool follow = false;
  uint32_t last = 0;  // 0: not given
};

std::string Time(int64_t unix_nanos) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::FromUnixNanos(unix_nanos),
                          absl::UTCTimeZone());
}

std::string Micros(uint64_t nanos) {
  return absl::StrFormat("%.1f", static_cast<double>(nanos) / kMicrosecond);
}

// One line. The last word that says something may hold spaces, so it comes last.
std::string Line(const v1::RecordedCall& call) {
  std::string out = absl::StrCat(
      Time(call.time_unix_ns()), " call=", call.call(), " peer=", Printable(call.peer()),
      " key=", Printable(call.object_key()), " operation=", Printable(call.operation()),
      " us=", Micros(call.took_ns()), " steps=", call.steps_size() + call.steps_left_out());
  for (const v1::RecordedStep& step : call.steps()) {
    if (step.verdict() == "passed") continue;
    absl::StrAppend(&out, " ", Printable(step.verdict()), "_by=", Printable(step.plug()));
  }
  return absl::StrCat(out, " status=", Printable(call.status()), "\n");
}

void PrintCalls(const v1::ListCallsResponse& response, CommandContext* context) {
  if (response.missed() != 0) {
    context->err << "weir: " << response.missed()
                 << " calls came and went faster than they could be shown" << std::endl;
  }
  for (const v1::RecordedCall& call : response.calls()) {
    context->out << (context->json ? RenderJson(call, /*pretty=*/false) : Line(call));
  }
  context->out.flush();
}

absl::Status Follow(const CallsFlags& flags, ControlClient* client, CommandContext* context) {
  v1::ListCallsRequest request;
  request.set_record_ms((flags.record > kFollowLease ? flags.record : kFollowLease) / kMillisecond);
  request.set_limit(flags.last == 0 ? 1 : flags.last);
  absl::StatusOr<v1::ListCallsResponse> response = client->ListCalls(request);
  if (!response.ok()) return response.status();
  // Without --last, only what comes from now on.
  if (flags.last == 0) response->clear_calls();
  if (!context->json) context->err << "weir: recording; calls are shown as they end" << std::endl;
  request.set_limit(kPage);
  request.set_record_ms(kFollowLease / kMillisecond);
  for (;;) {
    PrintCalls(*response, context);
    if (!context->out.good()) return absl::OkStatus();
    if (response->calls_size() < static_cast<int>(kPage)) {
      const timespec pause{0, kPoll};
      nanosleep(&pause, nullptr);
    }
    request.set_after(response->next());
    response = client->ListCalls(request);
    if (!response.ok()) return response.status();
  }
}

absl::Status RunCalls(const CallsFlags& flags, CommandContext* context) {
  absl::StatusOr<std::unique_ptr<ControlClient>> client =
      ControlClient::Connect(context->control, context->timeout, "calls");
  if (!client.ok()) return client.status();
  if (flags.follow) return Follow(flags, client->get(), context);
  v1::ListCallsRequest request;
  request.set_record_ms(flags.record / kMillisecond);
  request.set_stop(flags.stop);
  request.set_limit(flags.last == 0 ? 100 : flags.last);
  absl::StatusOr<v1::ListCallsResponse> response = (*client)->ListCalls(request);
  if (!response.ok()) return response.status();
  const std::string left =
      response->recording_left_ms() == 0
          ? "recording is off; 'weir calls --record 10m' switches it on"
          : absl::StrFormat("recording goes on for %.1f s", response->recording_left_ms() / 1e3);
  if (context->json) {
    context->out << RenderJson(*response, /*pretty=*/true);
  } else if (flags.record != 0 || flags.stop) {
    context->out << left << "\n";
  } else {
    PrintCalls(*response, context);
    context->err << "weir: " << left << std::endl;
  }
  return absl::OkStatus();
}

std::string RenderCall(const v1::RecordedCall& call) {
  std::string out = absl::StrCat("call ", call.call(), "\n");
  Table head("  ");
  head.Row({"time", Time(call.time_unix_ns())});
  head.Row({"peer", Printable(call.peer())});
  head.Row({"key", Printable(call.object_key())});
  head.Row({"operation", Printable(call.operation())});
  head.Row({"revision", absl::StrCat(call.revision())});
  head.Row({"status", Printable(call.status())});
  head.Row({"took", absl::StrCat(Micros(call.took_ns()), " us")});
  head.AppendTo(&out);
  out += "\n";
  Table steps("  ");
  steps.Row({"PLUG", "PHASE", "METHOD", "VERDICT", "US"});
  for (const v1::RecordedStep& step : call.steps()) {
    steps.Row({Printable(step.plug()), PhaseName(step.phase()), Printable(step.method()),
               Printable(step.verdict()), Micros(step.took_ns())});
  }
  steps.AppendTo(&out);
  if (call.steps_left_out() != 0) {
    absl::StrAppend(&out, "  and ", call.steps_left_out(), " more\n");
  }
  return out;
}

absl::Status RunExplain(uint64_t call, CommandContext* context) {
  absl::StatusOr<std::unique_ptr<ControlClient>> client =
      ControlClient::Connect(context->control, context->timeout, absl::StrCat("explain ", call));
  if (!client.ok()) return client.status();
  v1::ExplainCallRequest request;
  request.set_call(call);
  absl::StatusOr<v1::ExplainCallResponse> response = (*client)->ExplainCall(request);
  if (!response.ok()) return response.status();
  context->out << (context->json ? RenderJson(response->call(), /*pretty=*/true)
                                 : RenderCall(response->call()));
  return absl::OkStatus();
}

}  // namespace

void AddCallsCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command = app->add_subcommand("calls", "Show the last calls that met filters");
  auto flags = std::make_shared<CallsFlags>();
  AddDurationOption(command, "--record", &flags->record,
                    "Have calls recorded for so long from now, at most 1h");
  CLI::Option* follow = command->add_flag("-f,--follow", flags->follow,
                                          "Have calls recorded, and show each as it ends");
  command->add_flag("--stop", flags->stop, "Stop recording")
      ->excludes("--record")
      ->excludes(follow);
  command->add_option("-n,--last", flags->last, "Only the last N; with --follow, N old ones first")
      ->check(CLI::Range(1u, kPage))
      ->type_name("N");
  AddClientOptions(command, context);
  AddExamples(
      command,
      "weir calls --record 10m\nweir calls\nweir calls --follow\n"
      "weir explain 1099511627787",
      "While recording is on, the node keeps the last few thousand calls that met filters;\n"
      "each takes about a microsecond longer. Recording ends by itself. With -o json and\n"
      "--follow, one call a line.");
  command->callback([flags, context] { context->status = RunCalls(*flags, context); });
}

void AddExplainCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command = app->add_subcommand(
      "explain", "Show what became of a call: which filters ran, verdicts, times");
  auto call = std::make_shared<uint64_t>(0);
  command->add_option("call", *call, "The call's id, as 'weir calls' and the log filter show it")
      ->required()
      ->check(CLI::NonNegativeNumber)
      ->type_name("CALL_ID");
  AddClientOptions(command, context);
  AddExamples(command, "weir explain 1099511627787\nweir explain 1099511627787 -o json",
              "Calls are recorded only while somebody wants that: 'weir calls --record 10m'.");
  command->callback([call, context] { context->status = RunExplain(*call, context); });
}

}  // namespace weir::tools
