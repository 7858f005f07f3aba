#include "tools/weir/render.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/convert.h"
#include "control/describe.h"
#include "tools/weir/table.h"

namespace weir::tools {
namespace {

namespace v1 = control::v1;

using control::Printable;

std::string Parameters(const v1::Plug& plug) {
  // Protobuf's maps have no order.
  const std::map<std::string, std::string> sorted(plug.parameters().begin(),
                                                  plug.parameters().end());
  std::string out;
  for (const auto& [key, value] : sorted) {
    absl::StrAppend(&out, out.empty() ? "" : " ", Printable(key), "=", Printable(value));
  }
  return out;
}

// What a step came to other than that it passed: "bounced 2, failed 1".
std::string NotPassed(const v1::StepCounts& counts) {
  std::string out;
  for (const auto& [name, n] :
       {std::pair("bounced", counts.bounced()), std::pair("redirected", counts.redirected()),
        std::pair("raised", counts.raised()), std::pair("failed", counts.failed()),
        std::pair("timed_out", counts.timed_out()), std::pair("refused", counts.refused()),
        std::pair("policy_taken", counts.policy_taken())}) {
    if (n != 0) absl::StrAppend(&out, out.empty() ? "" : ", ", name, " ", n);
  }
  return out.empty() ? "-" : out;
}

void AppendFigures(const v1::PlugState& state, std::string* out) {
  if (!state.steps().empty()) {
    Table table("  ");
    table.Row({"OPERATION", "PHASE", "CALLED", "PASSED", "NOT PASSED"});
    for (const v1::StepCounts& c : state.steps()) {
      table.Row({Printable(c.operation()), PhaseName(c.phase()), absl::StrCat(c.called()),
                 absl::StrCat(c.passed()), NotPassed(c)});
    }
    table.AppendTo(out);
  }
  for (const v1::Latency& l : state.latencies()) {
    absl::StrAppendFormat(out,
                          "  %s took us: mean %.1f, p50 %.1f, p90 %.1f, p99 %.1f, max %.1f, of %d "
                          "timed\n",
                          PhaseName(l.phase()), l.mean_us(), l.p50_us(), l.p90_us(), l.p99_us(),
                          l.max_us(), l.count());
  }
}

// What a plug says of its place among others, and of its conditions.
std::string Clauses(const v1::Plug& plug) {
  std::string out = absl::StrCat("priority ", plug.priority());
  if (plug.has_down_priority()) absl::StrAppend(&out, ", down priority ", plug.down_priority());
  for (const std::string& other : plug.before()) {
    absl::StrAppend(&out, ", before ", Printable(other));
  }
  for (const std::string& other : plug.after()) {
    absl::StrAppend(&out, ", after ", Printable(other));
  }
  for (const std::string& condition : plug.conditions()) {
    absl::StrAppend(&out, ", if ", Printable(condition));
  }
  return out;
}

void AppendPlug(const v1::PlugState& state, std::string* out) {
  const v1::Plug& plug = state.plug();
  const std::string parameters = Parameters(plug);
  absl::StrAppend(out, "\n", Printable(plug.name()), ": filter ", Printable(plug.filter()), " on ",
                  Printable(plug.selector()), ", ", Clauses(plug),
                  parameters.empty() ? "" : absl::StrCat(", ", parameters), "\n");
  if (state.mappings().empty()) {
    absl::StrAppend(out, "  nothing mapped\n");
  } else {
    Table table("  ");
    table.Row({"OPERATION", "PHASE", "METHOD", "STATE"});
    for (const v1::Mapping& m : state.mappings()) {
      table.Row({Printable(m.operation()), PhaseName(m.phase()), Printable(m.method()),
                 m.enabled() ? "enabled" : "disabled"});
    }
    table.AppendTo(out);
  }
  AppendFigures(state, out);
  // The sums over all operations tell nothing new beside the figures.
  const auto is_sum = [&](const v1::FilterCounter& c) {
    return !state.steps().empty() && c.operation().empty() &&
           (c.name() == "bounced" || c.name() == "raised" || c.name() == "failed");
  };
  if (!std::all_of(state.counters().begin(), state.counters().end(), is_sum)) {
    Table table("  ");
    table.Row({"OPERATION", "COUNTER", "VALUE"});
    for (const v1::FilterCounter& c : state.counters()) {
      if (is_sum(c)) continue;
      table.Row({c.operation().empty() ? "-" : Printable(c.operation()), Printable(c.name()),
                 absl::StrCat(c.value())});
    }
    table.AppendTo(out);
  }
}

std::string StateText(uint64_t revision,
                      const google::protobuf::RepeatedPtrField<v1::PlugState>& plugs,
                      const google::protobuf::RepeatedPtrField<v1::SetReplyOrder>& reply_orders) {
  std::string out = absl::StrCat("revision ", revision, ", ", plugs.size(),
                                 plugs.size() == 1 ? " plug\n" : " plugs\n");
  for (const v1::SetReplyOrder& target : reply_orders) {
    absl::StrAppend(&out, "reply order of ", Printable(target.selector()), " ",
                    target.order() == v1::REPLY_ORDER_PLUG_ORDER ? "plug-order" : "reversed", "\n");
  }
  for (const v1::PlugState& plug : plugs) AppendPlug(plug, &out);
  return out;
}

}  // namespace

std::string PhaseName(v1::Phase phase) { return phase == v1::PHASE_DOWN ? "down" : "up"; }

std::string RenderJson(const google::protobuf::Message& message, bool pretty) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  options.add_whitespace = pretty;
  std::string out;
  // Fails only for google.protobuf.Any of unknown types, which there is none of.
  if (!google::protobuf::util::MessageToJsonString(message, &out, options).ok()) out = "{}";
  if (!out.ends_with('\n')) out += '\n';
  return out;
}

std::string RenderApply(const v1::ApplyResponse& response) {
  return absl::StrCat("revision ", response.revision(),
                      response.changed() ? "" : ", it was so already",
                      response.drained() ? ", drained" : "", "\n");
}

std::string RenderList(const v1::ListResponse& response) {
  return StateText(response.revision(), response.plugs(), response.reply_orders());
}

std::string RenderStatus(const v1::GetStatusResponse& response) {
  std::string out;
  Table table("");
  table.Row({"version", Printable(response.version())});
  table.Row({"role", Printable(response.role())});
  table.Row({"pid", absl::StrCat(response.pid())});
  table.Row({"uptime", absl::StrFormat("%.1f s", response.uptime_ms() / 1e3)});
  for (const std::string& endpoint : response.endpoints()) {
    table.Row({"endpoint", Printable(endpoint)});
  }
  if (!response.upstream().empty()) table.Row({"upstream", Printable(response.upstream())});
  table.Row({"control", Printable(response.control())});
  table.Row({"store", Printable(response.store())});
  table.Row({"revision", absl::StrCat(response.revision())});
  table.Row({"plugs", absl::StrCat(response.plugs())});
  table.Row({"watchers", absl::StrCat(response.watchers())});
  for (const v1::Counter& counter : response.counters()) {
    table.Row({Printable(counter.name()), absl::StrCat(counter.value())});
  }
  table.AppendTo(&out);
  return out;
}

std::string RenderEvent(const v1::WatchResponse& event) {
  if (event.has_state()) {
    return StateText(event.revision(), event.state().plugs(), event.state().reply_orders());
  }
  const absl::StatusOr<filters::ChangeSet> changes = control::FromProto(event.change_set());
  if (!changes.ok()) {
    return absl::StrCat("revision ", event.revision(),
                        ": a newer node's: ", changes.status().message(), "\n");
  }
  std::string out;
  for (const filters::Change& change : *changes) {
    absl::StrAppend(&out, "revision ", event.revision(), ": ", control::Describe(change), "\n");
  }
  return out;
}

}  // namespace weir::tools
