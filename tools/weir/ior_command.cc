#include "tools/weir/ior_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/strings.h"
#include "orb/reference/describe.h"
#include "orb/reference/reference.h"

namespace weir::tools {
namespace {

std::string LocalHostname() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "";
  return name;
}

absl::Status Show(const std::string& text, CommandContext* context) {
  const orb::ReferenceContext reference_context{LocalHostname(), {}};
  orb::Ior ior;
  std::string other;  // the same reference in the other spelling
  std::string_view other_name;
  if (StartsWithIgnoreCase(StripWhitespace(text), "IOR:")) {
    absl::StatusOr<orb::Ior> parsed = orb::ParseIor(text);
    if (!parsed.ok()) return parsed.status();
    ior = *parsed;
    // One that nobody can call, such as nil, can still be shown.
    if (const auto reference = orb::ReferenceFromIor(*std::move(parsed), reference_context);
        reference.ok()) {
      other = orb::ToCorbaloc(*reference);
    }
    other_name = "corbaloc";
  } else {
    absl::StatusOr<orb::Reference> reference = orb::ParseReference(text, reference_context);
    if (!reference.ok()) return reference.status();
    if (reference->rir) {
      if (context->json) {
        context->out << "{\"initial_reference\":" << orb::JsonString(reference->rir_name) << "}\n";
      } else {
        context->out << "initial reference: " << Escape(reference->rir_name)
                     << " (the ORB that resolves it knows where that is)\n";
      }
      return absl::OkStatus();
    }
    ior = std::move(reference->ior);
    other = orb::ToString(ior);
    other_name = "ior";
  }
  if (context->json) {
    std::string json = orb::DescribeJson(ior);
    // Both spellings are free of characters that JSON escapes.
    if (!other.empty()) {
      json.pop_back();
      StrAppend(&json, ",\"", other_name, "\":\"", other, "\"}");
    }
    context->out << json << '\n';
  } else {
    context->out << orb::Describe(ior);
    if (!other.empty()) {
      context->out << other_name << ":" << std::string(10 - other_name.size(), ' ') << other
                   << '\n';
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddIorCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command = app->add_subcommand("ior", "Show what is in an object reference");
  auto text = std::make_shared<std::string>();
  command->add_option("REFERENCE", *text, "IOR:... or corbaloc:...")->required();
  AddOutputOption(command, context);
  AddExamples(command,
              "weir ior IOR:010000001300000049444c3a776569722f4563686f...\n"
              "weir ior corbaloc::1.2@localhost:2809/NameService -o json\n"
              "weir ior \"$(cat server.ior)\"");
  command->callback([text, context] { context->status = Show(*text, context); });
}

}  // namespace weir::tools
