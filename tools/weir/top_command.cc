#include "tools/weir/top_command.h"

#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "control/describe.h"
#include "control/observe.h"
#include "tools/weir/beta.h"
#include "tools/weir/orb_setup.h"
#include "tools/weir/render.h"
#include "tools/weir/table.h"

namespace weir::tools {
namespace {

namespace v1 = control::v1;

struct TopFlags {
  Nanos interval = kSecond;
  bool once = false;
  std::string plug;
};

constexpr Nanos kLeastInterval = 50 * kMillisecond;
constexpr Nanos kMostInterval = 600 * kSecond;

// The counters of StepCounts, with their names.
struct Field {
  const char* name;
  uint64_t (v1::StepCounts::*get)() const;
  void (v1::StepCounts::*set)(uint64_t);
};
constexpr Field kFields[] = {
    {"called", &v1::StepCounts::called, &v1::StepCounts::set_called},
    {"passed", &v1::StepCounts::passed, &v1::StepCounts::set_passed},
    {"bounced", &v1::StepCounts::bounced, &v1::StepCounts::set_bounced},
    {"redirected", &v1::StepCounts::redirected, &v1::StepCounts::set_redirected},
    {"raised", &v1::StepCounts::raised, &v1::StepCounts::set_raised},
    {"failed", &v1::StepCounts::failed, &v1::StepCounts::set_failed},
    {"timed_out", &v1::StepCounts::timed_out, &v1::StepCounts::set_timed_out},
    {"refused", &v1::StepCounts::refused, &v1::StepCounts::set_refused},
    {"policy_taken", &v1::StepCounts::policy_taken, &v1::StepCounts::set_policy_taken},
};

// Everything that one plug did in one phase, up to a reading.
struct Totals {
  v1::StepCounts counts;
  filters::HistogramCounts took;
};
// By name, number and phase of the plug: a plug that was plugged anew is another one.
using Key = std::tuple<std::string, uint64_t, v1::Phase>;

std::map<Key, Totals> Sum(const v1::MeasureResponse& response) {
  std::map<Key, Totals> sums;
  for (const v1::PlugFigures& plug : response.plugs()) {
    for (const v1::StepCounts& step : plug.steps()) {
      v1::StepCounts& sum = sums[{plug.plug(), plug.sequence(), step.phase()}].counts;
      for (const Field& f : kFields) (sum.*f.set)((sum.*f.get)() + (step.*f.get)());
    }
    for (const v1::Latency& latency : plug.latencies()) {
      sums[{plug.plug(), plug.sequence(), latency.phase()}].took = control::FromProto(latency);
    }
  }
  return sums;
}

double Micros(double nanos) { return nanos / kMicrosecond; }

// The next reading, with the lease renewed: it outlives two answers that do not come.
absl::StatusOr<v1::MeasureResponse> Read(const TopFlags& flags, ControlClient* client) {
  v1::MeasureRequest request;
  request.set_lease_ms((3 * flags.interval + 2 * kSecond) / kMillisecond);
  request.set_plug(flags.plug);
  return client->Measure(request);
}

absl::Status RunTop(const TopFlags& flags, CommandContext* context) {
  absl::StatusOr<std::unique_ptr<ControlClient>> client =
      ControlClient::Connect(context->control, context->timeout, "top");
  if (!client.ok()) return client.status();
  const bool clear = !context->json && !flags.once && isatty(STDOUT_FILENO) == 1;
  absl::StatusOr<v1::MeasureResponse> before = Read(flags, client->get());
  for (bool first = true; before.ok(); first = false) {
    const timespec pause{flags.interval / kSecond, static_cast<long>(flags.interval % kSecond)};
    nanosleep(&pause, nullptr);
    absl::StatusOr<v1::MeasureResponse> now = Read(flags, client->get());
    if (!now.ok()) return now.status();
    const TopScreen screen = Compare(*before, *now);
    if (clear) {
      context->out << "\x1b[H\x1b[2J";
    } else if (!first && !context->json) {
      context->out << "\n";
    }
    context->out << (context->json ? RenderTopJson(screen) : RenderTop(screen)) << std::flush;
    if (flags.once || !context->out.good()) return absl::OkStatus();
    before = std::move(now);
  }
  return before.status();
}

}  // namespace

TopScreen Compare(const v1::MeasureResponse& before, const v1::MeasureResponse& now) {
  TopScreen screen;
  screen.revision = now.revision();
  screen.seconds = static_cast<double>(now.time_ns() - before.time_ns()) / kSecond;
  const std::map<Key, Totals> old = Sum(before);
  for (const auto& [key, totals] : Sum(now)) {
    const auto it = old.find(key);
    const Totals then = it == old.end() ? Totals() : it->second;
    TopScreen::Row row{std::get<0>(key), std::get<2>(key), {}, totals.took.Since(then.took)};
    for (const Field& f : kFields) {
      (row.counts.*f.set)((totals.counts.*f.get)() - (then.counts.*f.get)());
    }
    screen.rows.push_back(std::move(row));
  }
  std::stable_sort(screen.rows.begin(), screen.rows.end(), [](const auto& a, const auto& b) {
    return a.counts.called() > b.counts.called();
  });
  return screen;
}

std::string RenderTop(const TopScreen& screen) {
  std::string out =
      absl::StrFormat("revision %d, the last %.1f s\n\n", screen.revision, screen.seconds);
  const auto rate = [&](uint64_t n) {
    return absl::StrFormat("%.1f", screen.seconds > 0 ? n / screen.seconds : 0);
  };
  Table table("");
  table.Row({"PLUG", "PHASE", "CALLS/S", "PASSED/S", "BOUNCED/S", "REDIRECTED/S", "RAISED/S",
             "FAILED/S", "P50 US", "P99 US", "MAX US"});
  for (const TopScreen::Row& row : screen.rows) {
    const v1::StepCounts& c = row.counts;
    std::vector<std::string> cells = {control::Printable(row.plug),
                                      PhaseName(row.phase),
                                      rate(c.called()),
                                      rate(c.passed()),
                                      rate(c.bounced()),
                                      rate(c.redirected()),
                                      rate(c.raised()),
                                      rate(c.failed() + c.timed_out() + c.refused())};
    if (row.took.count() == 0) {
      cells.insert(cells.end(), 3, "-");
    } else {
      for (const double nanos : {row.took.Percentile(0.5), row.took.Percentile(0.99),
                                 static_cast<double>(row.took.max)}) {
        cells.push_back(absl::StrFormat("%.2f", Micros(nanos)));
      }
    }
    table.Row(std::move(cells));
  }
  table.AppendTo(&out);
  if (screen.rows.empty()) out += "no plug has met a call yet\n";
  return out;
}

std::string RenderTopJson(const TopScreen& screen) {
  std::string out = absl::StrFormat("{\"revision\":%d,\"seconds\":%.3f,\"plugs\":[",
                                    screen.revision, screen.seconds);
  for (const TopScreen::Row& row : screen.rows) {
    // Names of plugs are letters, digits, '-', '_' and '.'.
    absl::StrAppendFormat(&out, "%s{\"plug\":\"%s\",\"phase\":\"%s\"",
                          &row == screen.rows.data() ? "" : ",", row.plug, PhaseName(row.phase));
    for (const Field& f : kFields) {
      absl::StrAppendFormat(&out, ",\"%s_per_s\":%.1f", f.name,
                            screen.seconds > 0 ? (row.counts.*f.get)() / screen.seconds : 0);
    }
    absl::StrAppendFormat(&out,
                          ",\"timed\":%d,\"mean_us\":%.3f,\"p50_us\":%.3f,\"p90_us\":%.3f,"
                          "\"p99_us\":%.3f,\"max_us\":%.3f}",
                          row.took.count(), Micros(row.took.Mean()),
                          Micros(row.took.Percentile(0.5)), Micros(row.took.Percentile(0.9)),
                          Micros(row.took.Percentile(0.99)),
                          Micros(static_cast<double>(row.took.max)));
  }
  return out + "]}\n";
}

void AddTopCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command =
      app->add_subcommand("top", "Show live what plugs decide and how long it takes");
  auto flags = std::make_shared<TopFlags>();
  command->add_option("plug", flags->plug, "Only this plug")->type_name("PLUG");
  AddDurationOption(command, "-i,--interval", &flags->interval, "How often to look, 50ms to 10m");
  command->add_flag("--once", flags->once, "Show one interval and exit");
  AddClientOptions(command, context);
  AddExamples(command, "weir top\nweir top --once --interval 5s\nweir top audit -o json",
              "Filters are timed while this runs and shortly after, which costs each some 35 ns.\n"
              "FAILED/S holds those that failed, timed out or were refused; -o json has each, one\n"
              "object per interval. Percentiles are exact to within a third, as is a maximum that\n"
              "is not the longest ever.");
  command->callback([flags, context] {
    if (flags->interval < kLeastInterval || flags->interval > kMostInterval) {
      context->status = absl::InvalidArgumentError("--interval: 50ms at least, 10m at most");
      return;
    }
    context->status = RunTop(*flags, context);
  });
}

}  // namespace weir::tools
