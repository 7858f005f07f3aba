#include "tools/weir/map_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/weir/beta.h"

namespace weir::tools {
namespace {

struct MapFlags {
  std::string plug;
  std::string operation;
  std::string up;
  std::string down;
  bool enable = false;
  std::optional<uint64_t> expected_revision;
};

absl::Status Run(const MapFlags& flags, bool map, CommandContext* context) {
  const std::string doing =
      absl::StrCat(map ? "map " : "unmap ", flags.operation, " of plug ", flags.plug);
  if (flags.up.empty() && flags.down.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(doing, ": which method? Give --up METHOD or --down METHOD"));
  }
  control::v1::ApplyRequest request;
  if (flags.expected_revision) request.set_expected_revision(*flags.expected_revision);
  const auto add = [&](control::v1::Phase phase, const std::string& method) {
    if (method.empty()) return;
    control::v1::Change* change = request.mutable_change_set()->add_changes();
    const auto fill = [&](auto* c) {
      c->set_plug(flags.plug);
      c->set_operation(flags.operation);
      c->set_phase(phase);
      c->set_method(method);
    };
    if (map) {
      fill(change->mutable_map());
      change->mutable_map()->set_enable(flags.enable);
    } else {
      fill(change->mutable_unmap());
    }
  };
  add(control::v1::PHASE_UP, flags.up);
  add(control::v1::PHASE_DOWN, flags.down);
  return Commit(request, doing, context);
}

std::shared_ptr<MapFlags> AddFlags(CLI::App* command, CommandContext* context) {
  auto flags = std::make_shared<MapFlags>();
  command->add_option("plug", flags->plug, "The plug's name")->required()->type_name("PLUG");
  command
      ->add_option("operation", flags->operation,
                   "An operation, or '*' for each one not mapped otherwise")
      ->required()
      ->type_name("OPERATION");
  command->add_option("--up", flags->up, "The filter's method for requests")->type_name("METHOD");
  command->add_option("--down", flags->down, "The filter's method for replies")
      ->type_name("METHOD");
  AddExpectRevisionOption(command, &flags->expected_revision);
  AddClientOptions(command, context);
  return flags;
}

}  // namespace

void AddMapCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command =
      app->add_subcommand("map", "Lead an operation to a method of a plugged filter");
  std::shared_ptr<MapFlags> flags = AddFlags(command, context);
  command->add_flag("--enable", flags->enable, "Enable the mapping, too");
  AddExamples(command,
              "weir map audit '*' --up request --down reply --enable\n"
              "weir map guard unbind --up deny",
              "A new mapping is disabled unless --enable is given.");
  command->callback([flags, context] { context->status = Run(*flags, true, context); });
}

void AddUnmapCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command = app->add_subcommand("unmap", "Take a mapping away");
  std::shared_ptr<MapFlags> flags = AddFlags(command, context);
  AddExamples(command, "weir unmap guard unbind --up deny");
  command->callback([flags, context] { context->status = Run(*flags, false, context); });
}

}  // namespace weir::tools
