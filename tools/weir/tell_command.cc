#include "tools/weir/tell_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/describe.h"
#include "tools/weir/beta.h"
#include "tools/weir/render.h"
#include "tools/weir/settings.h"

namespace weir::tools {
namespace {

namespace v1 = control::v1;

struct Flags {
  std::string plug;
  std::string command;
  std::vector<std::string> parameters;
};

absl::Status RunTell(const Flags& flags, CommandContext* context) {
  const std::string doing = absl::StrCat("tell ", flags.plug, " ", flags.command);
  v1::TellRequest request;
  request.set_plug(flags.plug);
  request.set_command(flags.command);
  const auto parameters = ParseSettings(absl::StrCat(doing, ": "), flags.parameters);
  if (!parameters.ok()) return parameters.status();
  request.mutable_parameters()->insert(parameters->begin(), parameters->end());
  absl::StatusOr<std::unique_ptr<ControlClient>> client =
      ControlClient::Connect(context->control, context->timeout, doing);
  if (!client.ok()) return client.status();
  absl::StatusOr<v1::TellResponse> response = (*client)->Tell(request);
  if (!response.ok()) return response.status();
  context->out << (context->json ? RenderJson(*response, /*pretty=*/true)
                                 : absl::StrCat(control::Printable(response->text()), "\n"));
  return absl::OkStatus();
}

}  // namespace

void AddTellCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command =
      app->add_subcommand("tell", "Have a plugged filter do something at once, without a change");
  auto flags = std::make_shared<Flags>();
  command->add_option("plug", flags->plug, "The plug")->required()->type_name("PLUG");
  command
      ->add_option("command", flags->command,
                   "What to do: `weir filter describe KIND` shows the kind's commands")
      ->required()
      ->type_name("COMMAND");
  command->add_option("--set", flags->parameters, "A parameter of the command; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  AddClientOptions(command, context);
  AddExamples(command,
              "weir tell results forget\n"
              "weir tell results forget --set key=NameService --set operation=resolve",
              "Nothing of it is kept: a node that starts again knows nothing of what was told.");
  command->callback([flags, context] { context->status = RunTell(*flags, context); });
}

}  // namespace weir::tools
