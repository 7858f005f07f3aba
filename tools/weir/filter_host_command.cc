#include "tools/weir/filter_host_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/strings.h"
#include "filters/builtin/builtin.h"
#include "filters/outgoing/repeater.h"
#include "filters/remote/filter_servant.h"
#include "filters/remote/grpc_host.h"
#include "filters/remote/hosted_filter.h"
#include "filters/remote/policy.h"
#include "orb/reference/ior.h"
#include "tools/weir/node.h"
#include "tools/weir/settings.h"

namespace weir::tools {
namespace {

constexpr std::string_view kKey = "filter";

struct HostFlags {
  NodeSettings node;
  std::string grpc;
  std::string filter;
  std::vector<std::string> parameters;
  filters::DeclaredPolicy policy;
};

absl::StatusOr<std::unique_ptr<filters::HostedFilter>> NewFilter(const HostFlags& flags,
                                                                 const filters::FilterKinds& kinds,
                                                                 const Clock* clock,
                                                                 Logger* logger) {
  const filters::FilterKind* const kind = kinds.Find(flags.filter);
  if (kind == nullptr) {
    std::string names;
    for (const filters::FilterKind* k : kinds.All()) {
      StrAppend(&names, names.empty() ? "" : ", ", k->name());
    }
    return absl::NotFoundError(
        StrCat("no filter is named '", Escape(flags.filter), "'; there are: ", names));
  }
  const absl::StatusOr<filters::FilterParameters> parameters = ParseSettings("", flags.parameters);
  if (!parameters.ok()) return parameters.status();
  if (const auto policy = filters::Parse(flags.policy); !policy.ok()) {
    return absl::InvalidArgumentError(
        StrCat("filter-host: --timeout or --on-failure: ", policy.status().message()));
  }
  auto filter = kind->New(*parameters, {clock, logger, "filter-host"});
  if (!filter.ok()) return filter.status();
  return std::make_unique<filters::HostedFilter>(kind, *std::move(filter), flags.policy);
}

absl::Status RunFilterHost(const HostFlags& flags, CommandContext* context) {
  if (flags.node.listen.empty() && flags.grpc.empty()) {
    return absl::InvalidArgumentError(
        "filter-host: say where to serve the filter, with --grpc ADDRESS, --listen ENDPOINT or "
        "both");
  }
  filters::FilterKinds kinds;
  filters::AddBuiltinFilters(&kinds);
  filters::OrbHandle orb_handle;
  kinds.Add(filters::NewRepeaterKind(&orb_handle));
  std::unique_ptr<filters::HostedFilter> filter;
  std::unique_ptr<filters::GrpcHost> grpc;
  return RunNode(
      flags.node, context,
      [&](orb::Orb* orb, const Clock* clock, Logger* logger) -> absl::Status {
        auto made = NewFilter(flags, kinds, clock, logger);
        if (!made.ok()) return made.status();
        filter = *std::move(made);
        if (!flags.grpc.empty()) {
          auto host = filters::ServeGrpcFilter(flags.grpc, filter.get());
          if (!host.ok()) return host.status();
          grpc = *std::move(host);
        }
        return orb->adapter().Activate(kKey,
                                       std::make_shared<filters::FilterServant>(filter.get()));
      },
      [&](orb::Orb* orb) -> absl::Status {
        if (grpc != nullptr) context->out << "grpc " << grpc->address() << std::endl;
        if (flags.node.listen.empty()) return absl::OkStatus();
        absl::StatusOr<orb::Ior> ior = orb->MakeReference(filters::kFilterRepositoryId, kKey);
        if (!ior.ok()) return ior.status();
        context->out << orb::ToString(*ior) << std::endl;
        return absl::OkStatus();
      },
      &orb_handle);
}

}  // namespace

void AddFilterHostCommand(CLI::App* app, CommandContext* context) {
  CLI::App* const command =
      app->add_subcommand("filter-host", "One of the shipped filters in a process of its own");
  const auto flags = std::make_shared<HostFlags>();
  flags->node.role = "filter-host";
  // Set for the node that is to ask this one, most often.
  flags->node.control_by_variable = false;
  command
      ->add_option("--filter", flags->filter, "The kind of filter: `weir filter list` shows them")
      ->required()
      ->type_name("KIND");
  command->add_option("--set", flags->parameters, "A parameter of the filter; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  command
      ->add_option(
          "--grpc", flags->grpc,
          "Serve weir.filter.v1 there, for plugs with --filter grpc: unix:PATH or HOST:PORT")
      ->type_name("ADDRESS");
  AddDurationOption(command, "--timeout", &flags->policy.timeout,
                    "Declared to nodes: how long an answer may take, where the plug does not say");
  command
      ->add_option("--on-failure", flags->policy.on_failure,
                   "Declared to nodes: what a call gets without an answer, where the plug does not "
                   "say: open, closed, answer=...")
      ->type_name("POLICY");
  AddNodeOptions(command, &flags->node, /*must_listen=*/false);
  AddExamples(
      command,
      "weir filter-host --filter deny --grpc unix:/tmp/deny.sock\n"
      "weir plug guard --filter grpc --set at=unix:/tmp/deny.sock --on all\n"
      "weir filter-host --filter deny --listen giop:tcp:127.0.0.1:7001\n"
      "weir plug guard --filter ref --set at=corbaloc::1.2@127.0.0.1:7001/filter --on all",
      "With --listen the filter is an object, key `filter`, of the interface "
      "IDL:weir/Filter:1.0; its IOR\nis printed. Then `ready`; SIGTERM or SIGINT ends it in "
      "good order.\n");
  command->callback([flags, context] { context->status = RunFilterHost(*flags, context); });
}

}  // namespace weir::tools
