#include "tools/weir/list_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/weir/beta.h"
#include "tools/weir/render.h"

namespace weir::tools {
namespace {

namespace v1 = control::v1;

absl::Status RunList(const std::string& plug, CommandContext* context) {
  absl::StatusOr<std::unique_ptr<ControlClient>> client = ControlClient::Connect(
      context->control, context->timeout, plug.empty() ? "list" : absl::StrCat("list ", plug));
  if (!client.ok()) return client.status();
  v1::ListRequest request;
  request.set_plug(plug);
  absl::StatusOr<v1::ListResponse> response = (*client)->List(request);
  if (!response.ok()) return response.status();
  context->out << (context->json ? RenderJson(*response, /*pretty=*/true) : RenderList(*response));
  return absl::OkStatus();
}

absl::Status RunWatch(std::optional<uint64_t> from, CommandContext* context) {
  absl::StatusOr<std::unique_ptr<ControlClient>> client =
      ControlClient::Connect(context->control, context->timeout, "watch");
  if (!client.ok()) return client.status();
  v1::WatchRequest request;
  if (from.has_value()) request.set_from_revision(*from);
  return (*client)->Watch(request, [context](const v1::WatchResponse& event) {
    context->out << (context->json ? RenderJson(event, /*pretty=*/false) : RenderEvent(event))
                 << std::flush;
    return context->out.good();
  });
}

absl::Status RunStatus(CommandContext* context) {
  absl::StatusOr<std::unique_ptr<ControlClient>> client =
      ControlClient::Connect(context->control, context->timeout, "status");
  if (!client.ok()) return client.status();
  absl::StatusOr<v1::GetStatusResponse> response = (*client)->GetStatus();
  if (!response.ok()) return response.status();
  context->out << (context->json ? RenderJson(*response, /*pretty=*/true)
                                 : RenderStatus(*response));
  return absl::OkStatus();
}

}  // namespace

void AddListCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command =
      app->add_subcommand("list", "Show what is plugged, mapped, enabled and counted");
  auto plug = std::make_shared<std::string>();
  command->add_option("plug", *plug, "Only this plug")->type_name("PLUG");
  AddClientOptions(command, context);
  AddExamples(command, "weir list\nweir list audit -o json");
  command->callback([plug, context] { context->status = RunList(*plug, context); });
}

void AddWatchCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command =
      app->add_subcommand("watch", "Show the state, then every change as it is committed");
  auto from = std::make_shared<std::optional<uint64_t>>();
  command
      ->add_option_function<uint64_t>(
          "--from", [from](uint64_t revision) { *from = revision; },
          "Begin with the change after this revision, if the node still has it")
      ->type_name("REVISION");
  AddClientOptions(command, context);
  AddExamples(command, "weir watch\nweir watch --from 17 -o json",
              "Goes on until it is interrupted or the node ends. With -o json, one event a line.");
  command->callback([from, context] { context->status = RunWatch(*from, context); });
}

void AddStatusCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command = app->add_subcommand(
      "status", "Show the node: version, endpoints, upstream, store, revision, counters");
  AddClientOptions(command, context);
  AddExamples(command, "weir status --control 127.0.0.1:7777\nweir status -o json");
  command->callback([context] { context->status = RunStatus(context); });
}

}  // namespace weir::tools
