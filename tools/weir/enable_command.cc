#include "tools/weir/enable_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/weir/beta.h"

namespace weir::tools {
namespace {

namespace v1 = control::v1;

struct Flags {
  std::string plug;
  std::string operation;
  bool up = false;
  bool down = false;
  std::string up_method;
  std::string down_method;
  std::optional<uint64_t> expected_revision;
};

template <typename Message>
void Fill(const Flags& flags, v1::Phase phase, Message* message) {
  message->set_plug(flags.plug);
  message->set_operation(flags.operation);
  message->set_phase(phase);
  message->set_method(phase == v1::PHASE_UP ? flags.up_method : flags.down_method);
}

std::string Doing(const char* verb, const Flags& flags) {
  return absl::StrCat(verb, flags.operation.empty() ? "" : " ", flags.operation, " of plug ",
                      flags.plug);
}

absl::Status RunEnable(const Flags& flags, CommandContext* context) {
  const std::string doing = Doing("enable", flags);
  if (!flags.up && !flags.down) {
    return absl::InvalidArgumentError(
        absl::StrCat(doing, ": which phase? Give --up [METHOD] or --down [METHOD]"));
  }
  v1::ApplyRequest request;
  if (flags.expected_revision) request.set_expected_revision(*flags.expected_revision);
  v1::ChangeSet* changes = request.mutable_change_set();
  if (flags.up) Fill(flags, v1::PHASE_UP, changes->add_changes()->mutable_enable());
  if (flags.down) Fill(flags, v1::PHASE_DOWN, changes->add_changes()->mutable_enable());
  return Commit(request, doing, context);
}

// The phases in which the plug maps the operation: disabling "both" must not fail where only one is
// mapped.
absl::Status FindPhases(const std::string& doing, CommandContext* context, Flags* flags) {
  absl::StatusOr<std::unique_ptr<ControlClient>> client =
      ControlClient::Connect(context->control, context->timeout, doing);
  if (!client.ok()) return client.status();
  v1::ListRequest request;
  request.set_plug(flags->plug);
  request.set_without_counters(true);
  absl::StatusOr<v1::ListResponse> list = (*client)->List(request);
  if (!list.ok()) return list.status();
  for (const v1::Mapping& mapping : list->plugs(0).mappings()) {
    if (!flags->operation.empty() && mapping.operation() != flags->operation) continue;
    (mapping.phase() == v1::PHASE_UP ? flags->up : flags->down) = true;
  }
  if (flags->up || flags->down) return absl::OkStatus();
  // All of nothing is disabled already.
  flags->up = flags->operation.empty();
  if (flags->up) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(doing, ": the plug does not map operation '",
                                          flags->operation, "'; 'weir list ", flags->plug,
                                          "' shows what it maps"));
}

absl::Status RunDisable(Flags flags, CommandContext* context) {
  const std::string doing = Doing("disable", flags);
  if (!flags.up && !flags.down) {
    absl::Status found = FindPhases(doing, context, &flags);
    if (!found.ok()) return found;
  }
  v1::ApplyRequest request;
  if (flags.expected_revision) request.set_expected_revision(*flags.expected_revision);
  v1::ChangeSet* changes = request.mutable_change_set();
  if (flags.up) Fill(flags, v1::PHASE_UP, changes->add_changes()->mutable_disable());
  if (flags.down) Fill(flags, v1::PHASE_DOWN, changes->add_changes()->mutable_disable());
  return Commit(request, doing, context);
}

std::shared_ptr<Flags> AddFlags(CLI::App* command, CommandContext* context) {
  auto flags = std::make_shared<Flags>();
  command->add_option("plug", flags->plug, "The plug's name")->required()->type_name("PLUG");
  command
      ->add_option("operation", flags->operation,
                   "The operation, as it was mapped; all of them if left out")
      ->type_name("OPERATION");
  AddExpectRevisionOption(command, &flags->expected_revision);
  AddClientOptions(command, context);
  return flags;
}

}  // namespace

void AddEnableCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command = app->add_subcommand("enable", "Enable mappings");
  std::shared_ptr<Flags> flags = AddFlags(command, context);
  CLI::Option* up =
      command->add_option("--up", flags->up_method, "Of requests: this method, or the only one")
          ->expected(0, 1)
          ->type_name("[METHOD]");
  CLI::Option* down =
      command->add_option("--down", flags->down_method, "Of replies: this method, or the only one")
          ->expected(0, 1)
          ->type_name("[METHOD]");
  AddExamples(
      command,
      "weir enable guard unbind --up\n"
      "weir enable audit --up request --down reply",
      "At most one method per operation and phase is enabled: it takes its sibling's place.");
  command->callback([flags, up, down, context] {
    flags->up = up->count() > 0;
    flags->down = down->count() > 0;
    context->status = RunEnable(*flags, context);
  });
}

void AddDisableCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command =
      app->add_subcommand("disable", "Disable mappings; they stay, and cost calls nothing");
  std::shared_ptr<Flags> flags = AddFlags(command, context);
  command->add_flag("--up", flags->up, "Of requests");
  command->add_flag("--down", flags->down, "Of replies");
  AddExamples(command, "weir disable guard unbind\nweir disable audit --down",
              "Without --up and --down, both phases are meant.");
  command->callback([flags, context] { context->status = RunDisable(*flags, context); });
}

}  // namespace weir::tools
