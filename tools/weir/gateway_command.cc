#include "tools/weir/gateway_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "orb/core/forwarder.h"
#include "tools/weir/node.h"

namespace weir::tools {
namespace {

struct GatewaySettings {
  NodeSettings node;
  orb::ForwarderOptions forwarder;
};

absl::Status RunGateway(const GatewaySettings& settings, CommandContext* context) {
  return RunNode(
      settings.node, context,
      [&settings](orb::Orb* orb, const Clock* clock, Logger* logger) -> absl::Status {
        absl::StatusOr<std::shared_ptr<orb::Target>> upstream =
            orb->Resolve(settings.node.upstream);
        if (!upstream.ok()) return upstream.status();
        orb->adapter().SetDefaultServant(
            std::make_shared<orb::Forwarder>(&orb->invoker(), *std::move(upstream), &orb->reactor(),
                                             clock, logger, settings.forwarder));
        return absl::OkStatus();
      },
      [](orb::Orb*) { return absl::OkStatus(); });
}

}  // namespace

void AddGatewayCommand(CLI::App* app, CommandContext* context) {
  CLI::App* const command = app->add_subcommand(
      "gateway", "Stand before a CORBA server: forward every call to it, through filters");
  const auto settings = std::make_shared<GatewaySettings>();
  settings->node.role = "gateway";
  command
      ->add_option(
          "-u,--upstream", settings->node.upstream,
          "The server: a corbaloc or IOR. Its addresses count; object keys pass unchanged, so "
          "a corbaloc without a key will do")
      ->required()
      ->type_name("CORBALOC|IOR");
  AddNodeOptions(command, &settings->node);
  AddDurationOption(command, "--call-timeout", &settings->forwarder.timeout,
                    "How long the upstream may take for a call (0: for ever)");
  AddDurationOption(command, "--connect-timeout", &settings->node.orb.orb.client.connect_timeout,
                    "How long connecting to the upstream may take");
  command
      ->add_option("--upstream-connections",
                   settings->node.orb.orb.client.max_connections_per_endpoint,
                   "Connections to the upstream, shared by all clients")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  const std::map<std::string, orb::ForwardPolicy> policies = {
      {"never", orb::ForwardPolicy::kNever},
      {"same-host", orb::ForwardPolicy::kSameHost},
      {"any", orb::ForwardPolicy::kAny}};
  command
      ->add_option("--follow-forwards", settings->node.orb.orb.client.forward_policy,
                   "Which LOCATION_FORWARDs of the upstream to follow: never, same-host (default) "
                   "or any")
      ->transform(CLI::CheckedTransformer(policies).description(""))
      ->type_name("POLICY");
  AddExamples(
      command,
      "weir gateway --listen giop:tcp::2810 --upstream corbaloc::1.2@127.0.0.1:2809 \\\n"
      "    --control unix:/tmp/weir.sock --store sqlite:/tmp/weir.db\n"
      "nameclt -ORBInitRef NameService=corbaloc::1.2@127.0.0.1:2810/NameService list",
      "Prints `ready` and its real addresses once it serves; SIGTERM or SIGINT ends it in good "
      "order.\n");
  command->callback([settings, context] {
    if (settings->forwarder.timeout == 0) settings->forwarder.timeout = kNoDeadline;
    settings->node.orb.orb.elsewhere = settings->forwarder;
    context->status = RunGateway(*settings, context);
  });
}

}  // namespace weir::tools
