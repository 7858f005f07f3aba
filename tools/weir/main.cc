// The weir command: finds the subcommand, runs it, and turns its outcome into an exit code.

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

#include "tools/weir/bench_command.h"
#include "tools/weir/calls_command.h"
#include "tools/weir/command.h"
#include "tools/weir/echo_command.h"
#include "tools/weir/enable_command.h"
#include "tools/weir/filter_command.h"
#include "tools/weir/filter_host_command.h"
#include "tools/weir/gateway_command.h"
#include "tools/weir/ior_command.h"
#include "tools/weir/list_command.h"
#include "tools/weir/map_command.h"
#include "tools/weir/ping_command.h"
#include "tools/weir/plug_command.h"
#include "tools/weir/reply_order_command.h"
#include "tools/weir/tell_command.h"
#include "tools/weir/top_command.h"
#include "tools/weir/version.h"

namespace weir::tools {
namespace {

void AddCommands(CLI::App* app, CommandContext* context) {
  // In the order of the help. Nodes: what serves calls.
  AddGatewayCommand(app, context);
  AddEchoCommand(app, context);
  AddFilterHostCommand(app, context);

  // Clients of nodes and references.
  AddIorCommand(app, context);
  AddPingCommand(app, context);

  // What can be plugged.
  AddFilterCommand(app, context);

  // Beta messages: what changes and shows a running node.
  AddPlugCommand(app, context);
  AddUnplugCommand(app, context);
  AddMapCommand(app, context);
  AddUnmapCommand(app, context);
  AddEnableCommand(app, context);
  AddDisableCommand(app, context);
  AddReplyOrderCommand(app, context);
  AddTellCommand(app, context);
  AddListCommand(app, context);
  AddWatchCommand(app, context);
  AddStatusCommand(app, context);

  // What calls meet.
  AddTopCommand(app, context);
  AddCallsCommand(app, context);
  AddExplainCommand(app, context);

  // Measuring.
  AddBenchCommand(app, context);
}

int Run(int argc, char** argv) {
  CommandContext context{std::cout, std::cerr};
  if (const char* control = getenv("WEIR_CONTROL")) context.control = control;
  CLI::App app("weir: filters on distributed objects, plugged while they run", "weir");
  app.set_version_flag("--version", std::string("weir ") + kVersion);
  app.require_subcommand(1);
  AddExamples(
      &app,
      "weir gateway --listen giop:tcp:127.0.0.1:2810 --upstream corbaloc::127.0.0.1:2809 \\\n"
      "    --control unix:/tmp/weir.sock --store memory\n"
      "export WEIR_CONTROL=unix:/tmp/weir.sock\n"
      "weir plug audit --filter log --on key:NameService\n"
      "weir map audit '*' --up request --enable\n"
      "weir list");
  AddCommands(&app, &context);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // --help and --version come here, too, with code 0.
    return app.exit(e, std::cout, std::cerr) == 0 ? kExitOk : kExitUsage;
  }
  std::cout.flush();
  if (context.status.ok() && !std::cout) {
    context.status = absl::UnknownError("cannot write to the standard output");
  }
  if (!context.status.ok()) std::cerr << "weir: " << context.status.message() << std::endl;
  return ExitCodeFor(context.status);
}

}  // namespace
}  // namespace weir::tools

int main(int argc, char** argv) {
  // gRPC's own lines on stderr repeat, in its words, what our errors say.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  return weir::tools::Run(argc, argv);
}
