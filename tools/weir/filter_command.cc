#include "tools/weir/filter_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "filters/filter.h"
#include "orb/reference/describe.h"
#include "tools/weir/filter_kinds.h"

namespace weir::tools {
namespace {

using filters::CommandInfo;
using filters::FilterKind;
using filters::MethodInfo;
using filters::ParameterInfo;
using orb::JsonString;

constexpr size_t kLineWidth = 80;

std::string_view FirstSentence(std::string_view text) {
  const size_t end = text.find(". ");
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

std::string_view ReadsName(filters::Reads reads) {
  switch (reads) {
    case filters::Reads::kNothing:
      return "nothing";
    case filters::Reads::kHeader:
      return "header";
    case filters::Reads::kBody:
      break;
  }
  return "body";
}

// Lines that begin with `indent` and are as long as the screen allows.
void AppendWrapped(std::string_view text, std::string_view indent, std::string* out) {
  size_t column = 0;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (column > 0 && column + 1 + word.size() > kLineWidth) {
      *out += '\n';
      column = 0;
    }
    StrAppend(out, column == 0 ? indent : " ", word);
    column += (column == 0 ? indent.size() : 1) + word.size();
  }
  *out += '\n';
}

// Commands that plug one and map its methods.
std::vector<std::string> ExamplesOf(const FilterKind& kind) {
  std::string plug = StrCat("weir plug p --filter ", kind.name(), " --on key:NameService");
  for (const ParameterInfo& p : kind.parameters()) {
    if (!p.example.empty()) StrAppend(&plug, " --set ", p.name, "=", p.example);
  }
  std::vector<std::string> examples = {plug};
  for (const MethodInfo& m : kind.methods()) {
    examples.push_back(
        StrCat("weir map p resolve --", PhaseName(m.phase), " ", m.name, " --enable"));
  }
  return examples;
}

std::string ListText(const std::vector<const FilterKind*>& kinds) {
  size_t width = 0;
  for (const FilterKind* kind : kinds) width = std::max(width, kind->name().size());
  std::string out;
  for (const FilterKind* kind : kinds) {
    StrAppend(&out, kind->name(), std::string(width - kind->name().size() + 2, ' '),
              FirstSentence(kind->help()), "\n");
  }
  return out;
}

std::string ListJson(const std::vector<const FilterKind*>& kinds) {
  return StrCat("{\"filters\":[",
                absl::StrJoin(kinds, ",",
                              [](std::string* out, const FilterKind* kind) {
                                StrAppend(out, "{\"name\":", JsonString(kind->name()),
                                          ",\"summary\":", JsonString(FirstSentence(kind->help())),
                                          "}");
                              }),
                "]}\n");
}

std::string DescribeText(const FilterKind& kind) {
  std::string out = StrCat(kind.name(), "\n\n");
  AppendWrapped(kind.help(), "  ", &out);
  out += "\nparameters (--set):\n";
  if (kind.parameters().empty()) out += "  none\n";
  for (const ParameterInfo& p : kind.parameters()) {
    StrAppend(&out, "  ", p.name, "=", p.value);
    if (p.required) out += ", required";
    if (!p.otherwise.empty()) StrAppend(&out, ", default ", p.otherwise);
    out += '\n';
    AppendWrapped(p.help, "      ", &out);
  }
  out += "\nmethods:\n";
  if (kind.describes_itself()) out += "  the filter's own\n";
  for (const MethodInfo& m : kind.methods()) {
    StrAppend(&out, "  ", PhaseName(m.phase), " ", m.name, ", reads ", ReadsName(m.reads),
              m.changes ? ", changes what it passes" : "", "\n");
    AppendWrapped(m.help, "      ", &out);
  }
  if (!kind.commands().empty()) out += "\ncommands (weir tell):\n";
  for (const CommandInfo& c : kind.commands()) {
    StrAppend(&out, "  ", c.name, "\n");
    AppendWrapped(c.help, "      ", &out);
    for (const ParameterInfo& p : c.parameters) {
      StrAppend(&out, "      ", p.name, "=", p.value, "\n");
      AppendWrapped(p.help, "          ", &out);
    }
  }
  const std::vector<std::string> examples = ExamplesOf(kind);
  StrAppend(&out, "\nexample", examples.size() > 1 ? ", with each method on one operation" : "",
            ":\n");
  for (const std::string& line : examples) StrAppend(&out, "  ", line, "\n");
  return out;
}

std::string DescribeJson(const FilterKind& kind) {
  const auto parameter = [](std::string* out, const ParameterInfo& p) {
    StrAppend(out, "{\"name\":", JsonString(p.name), ",\"value\":", JsonString(p.value),
              ",\"required\":", p.required ? "true" : "false",
              ",\"default\":", p.otherwise.empty() ? "null" : JsonString(p.otherwise),
              ",\"help\":", JsonString(p.help), "}");
  };
  const auto method = [](std::string* out, const MethodInfo& m) {
    StrAppend(out, "{\"phase\":", JsonString(PhaseName(m.phase)), ",\"name\":", JsonString(m.name),
              ",\"reads\":", JsonString(ReadsName(m.reads)),
              ",\"changes\":", m.changes ? "true" : "false", ",\"help\":", JsonString(m.help), "}");
  };
  const auto command = [&](std::string* out, const CommandInfo& c) {
    StrAppend(out, "{\"name\":", JsonString(c.name), ",\"parameters\":[",
              absl::StrJoin(c.parameters, ",", parameter), "],\"help\":", JsonString(c.help), "}");
  };
  const auto text = [](std::string* out, const std::string& line) { *out += JsonString(line); };
  return StrCat("{\"name\":", JsonString(kind.name()), ",\"help\":", JsonString(kind.help()),
                ",\"describes_itself\":", kind.describes_itself() ? "true" : "false",
                ",\"parameters\":[", absl::StrJoin(kind.parameters(), ",", parameter),
                "],\"methods\":[", absl::StrJoin(kind.methods(), ",", method), "],\"commands\":[",
                absl::StrJoin(kind.commands(), ",", command), "],\"examples\":[",
                absl::StrJoin(ExamplesOf(kind), ",", text), "]}\n");
}

absl::Status RunList(CommandContext* context) {
  filters::OrbHandle no_orb;  // kinds are described only
  filters::FilterKinds kinds;
  AddFilterKinds(&kinds, &no_orb);
  context->out << (context->json ? ListJson(kinds.All()) : ListText(kinds.All()));
  return absl::OkStatus();
}

absl::Status RunDescribe(const std::string& name, CommandContext* context) {
  filters::OrbHandle no_orb;  // kinds are described only
  filters::FilterKinds kinds;
  AddFilterKinds(&kinds, &no_orb);
  const FilterKind* const kind = kinds.Find(name);
  if (kind == nullptr) {
    return absl::NotFoundError(StrCat(
        "filter describe: no filter is named '", Escape(name), "'; there are: ",
        absl::StrJoin(kinds.All(), ", ",
                      [](std::string* out, const FilterKind* k) { StrAppend(out, k->name()); })));
  }
  context->out << (context->json ? DescribeJson(*kind) : DescribeText(*kind));
  return absl::OkStatus();
}

void AddFilterListCommand(CLI::App* app, CommandContext* context) {
  CLI::App* const command = app->add_subcommand("list", "Name each kind and say what it is for");
  AddOutputOption(command, context);
  AddExamples(command, "weir filter list\nweir filter list -o json");
  command->callback([context] { context->status = RunList(context); });
}

void AddFilterDescribeCommand(CLI::App* app, CommandContext* context) {
  CLI::App* const command =
      app->add_subcommand("describe", "Show a kind's parameters and methods, with an example");
  auto name = std::make_shared<std::string>();
  command->add_option("kind", *name, "The kind's name")->required()->type_name("KIND");
  AddOutputOption(command, context);
  AddExamples(command, "weir filter describe rate-limit\nweir filter describe cache -o json");
  command->callback([name, context] { context->status = RunDescribe(*name, context); });
}

}  // namespace

void AddFilterCommand(CLI::App* app, CommandContext* context) {
  CLI::App* const command =
      app->add_subcommand("filter", "Show the kinds of filters that can be plugged");
  command->require_subcommand(1);
  AddFilterListCommand(command, context);
  AddFilterDescribeCommand(command, context);
  AddExamples(command, "weir filter list\nweir filter describe rate-limit",
              "These are the kinds of this program; no node is asked.");
}

}  // namespace weir::tools
