#include "tools/weir/echo_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "orb/reference/ior.h"
#include "tools/weir/echo_servant.h"
#include "tools/weir/node.h"

namespace weir::tools {
namespace {

constexpr std::string_view kKey = "echo";

absl::Status RunEcho(const NodeSettings& settings, CommandContext* context) {
  return RunNode(
      settings, context,
      [](orb::Orb* orb, const Clock*, Logger*) {
        return orb->adapter().Activate(kKey, std::make_shared<EchoServant>());
      },
      [context](orb::Orb* orb) -> absl::Status {
        absl::StatusOr<orb::Ior> ior = orb->MakeReference(kEchoRepositoryId, kKey);
        if (!ior.ok()) return ior.status();
        context->out << orb::ToString(*ior) << std::endl;
        return absl::OkStatus();
      });
}

}  // namespace

void AddEchoCommand(CLI::App* app, CommandContext* context) {
  CLI::App* const command =
      app->add_subcommand("echo", "A ready server to call: IDL:weir/Echo:1.0, object key `echo`");
  const auto settings = std::make_shared<NodeSettings>();
  settings->role = "echo";
  AddNodeOptions(command, settings.get());
  AddExamples(
      command,
      "weir echo --listen giop:tcp:127.0.0.1:0 --listen giop:unix:/tmp/echo.sock\n"
      "weir ping corbaloc::1.2@127.0.0.1:PORT/echo",
      "Prints its IOR, then `ready` and its real addresses; SIGTERM or SIGINT ends it in good "
      "order.\nThe interface: long ping(in long value) (value + 1); string repeat(in string "
      "text);\nOctets bounce(in Octets data), where Octets is sequence<octet>.\n");
  command->callback([settings, context] { context->status = RunEcho(*settings, context); });
}

}  // namespace weir::tools
