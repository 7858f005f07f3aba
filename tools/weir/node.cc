#include "tools/weir/node.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "control/node.h"
#include "filters/filter.h"
#include "tools/weir/filter_kinds.h"
#include "tools/weir/spdlog_logger.h"
#include "tools/weir/version.h"

namespace weir::tools {
namespace {

std::string Spell(const orb::ListeningEndpoint& e) {
  return StrCat(e.messaging, ":", e.transport, ":", e.address);
}

control::NodeInfo Info(const NodeSettings& settings, const orb::Orb& orb) {
  control::NodeInfo info;
  info.version = kVersion;
  info.role = settings.role;
  info.upstream = settings.upstream;
  for (const auto& e : orb.endpoints()) info.endpoints.push_back(Spell(e));
  const orb::OrbStats stats = orb.stats();
  info.counters = {
      {"connections", stats.server.connections},
      {"connections_accepted_total", stats.server.connections_accepted},
      {"connections_refused_total", stats.server.connections_refused},
      {"calls_total", stats.server.calls},
      {"calls_in_progress", stats.server.calls_in_progress},
      {"upstream_connections", stats.upstream_connections},
      {"threads", static_cast<uint64_t>(stats.threads)},
  };
  return info;
}

// SIGINT and SIGTERM reach only the thread that waits for them. To be called before any thread is
// started.
sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return set;
}

}  // namespace

void AddNodeOptions(CLI::App* app, NodeSettings* s, bool must_listen) {
  app->add_option("-l,--listen", s->listen,
                  "Endpoint to serve, e.g. giop:tcp:127.0.0.1:2810, giop:unix:/run/weir.sock or "
                  "giop:tcp::2810?publish=orb.example:2810; may be repeated")
      ->required(must_listen)
      ->type_name("ENDPOINT");
  app->add_option("-c,--control", s->control,
                  "Where the control plane listens: unix:PATH or HOST:PORT. Default: WEIR_CONTROL; "
                  "without that there is none");
  app->add_option("--store", s->store, "Where beta messages are kept: sqlite:FILE or memory")
      ->capture_default_str();
  app->add_flag("--allow-remote-control", s->allow_remote_control,
                "Let the control plane listen on other addresses than loopback; it has no TLS");
  AddDurationOption(app, "--interface-lifetime", &s->interfaces.lifetime,
                    "How long filters that are plugged onto interfaces go by what an object said "
                    "that it is (0: as long as its server's connections last)");
  AddServerOptions(app, &s->orb);
  AddDurationOption(app, "--shutdown-timeout", &s->shutdown_timeout,
                    "How long running calls may take at the end");
  app->add_flag("-v,--verbose", s->verbose, "Log debugging events too");
}

absl::Status RunNode(const NodeSettings& settings, CommandContext* context,
                     const std::function<absl::Status(orb::Orb*, const Clock*, Logger*)>& populate,
                     const std::function<absl::Status(orb::Orb*)>& ready,
                     filters::OrbHandle* handle) {
  const sigset_t signals = BlockSignals();
  RaiseDescriptorLimit();
  SystemClock clock;
  const std::unique_ptr<Logger> logger =
      NewStderrLogger(settings.verbose ? LogLevel::kDebug : LogLevel::kInfo);
  filters::OrbHandle orb_handle;
  filters::FilterKinds kinds;
  AddFilterKinds(&kinds, &orb_handle);

  control::NodeOptions node_options;
  node_options.store = settings.store;
  node_options.control = settings.control;
  if (settings.control.empty() && settings.control_by_variable) {
    node_options.control = context->control;
  }
  node_options.allow_remote = settings.allow_remote_control;
  node_options.interfaces = settings.interfaces;
  absl::StatusOr<std::unique_ptr<control::Node>> node =
      control::Node::Start(node_options, &kinds, &clock, logger.get());
  if (!node.ok()) return node.status();

  const std::unique_ptr<orb::Orb> orb = NewOrb(settings.orb, &clock, logger.get(), (*node)->gate());
  absl::Status status = orb->Start();
  const auto tell_filters = [&](orb::Orb* orb_or_null) {
    orb_handle.set(orb_or_null);
    if (handle != nullptr) handle->set(orb_or_null);
  };
  if (status.ok()) tell_filters(orb.get());
  if (status.ok()) status = populate(orb.get(), &clock, logger.get());
  std::string endpoints;
  for (const std::string& endpoint : settings.listen) {
    if (!status.ok()) break;
    absl::StatusOr<orb::ListeningEndpoint> open = orb->Listen(endpoint);
    status = open.status();
    if (open.ok()) StrAppend(&endpoints, " ", Spell(*open));
  }
  if (status.ok()) {
    status = (*node)->Serve([&settings, &orb] { return Info(settings, *orb); });
  }
  if (status.ok()) status = ready(orb.get());
  if (status.ok()) {
    const std::string control = (*node)->control_address();
    logger->Log(LogLevel::kInfo, StrCat("event=ready role=", settings.role, " endpoints=\"",
                                        endpoints, "\" control=", control));
    context->out << "ready" << endpoints << (control.empty() ? "" : " control ") << control
                 << std::endl;
    int signal = 0;
    sigwait(&signals, &signal);
    logger->Log(LogLevel::kInfo, StrCat("event=stopping signal=", signal));
  }
  // The control plane asks the ORB for its counters, so it goes first.
  (*node)->Shutdown(clock.Now() + settings.shutdown_timeout);
  // Calls that run are judged to their end, by filters that are objects, too.
  const absl::Status stopped = orb->StopServing(clock.Now() + settings.shutdown_timeout);
  tell_filters(nullptr);
  orb->Shutdown(clock.Now()).IgnoreError();  // nothing is left to be cut off
  if (status.ok()) status = stopped;
  return status;
}

}  // namespace weir::tools
