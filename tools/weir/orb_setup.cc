#include "tools/weir/orb_setup.h"

#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/time/time.h"
#include "base/strings.h"
#include "orb/giop/giop.h"
#include "orb/transport/tcp.h"
#include "orb/transport/unix.h"

namespace weir::tools {

void AddDurationOption(CLI::App* app, const std::string& name, Nanos* value,
                       const std::string& help) {
  app->add_option_function<std::string>(
         name,
         [name, value](const std::string& text) {
           absl::Duration d;
           if (!absl::ParseDuration(text, &d) || d < absl::ZeroDuration() ||
               d > absl::Hours(24 * 365)) {
             throw CLI::ValidationError(
                 name, "'" + text + "' is no time span; write it as 200ms, 30s or 2m");
           }
           *value = absl::ToInt64Nanoseconds(d);
         },
         help)
      ->type_name("TIME")
      ->default_str(absl::FormatDuration(absl::Nanoseconds(*value)));
}

void AddServerOptions(CLI::App* app, OrbSettings* s) {
  app->add_option("--max-connections", s->orb.server.max_connections,
                  "Connections open at a time; more are refused")
      ->capture_default_str();
  AddDurationOption(app, "--idle-timeout", &s->orb.server.idle_timeout,
                    "Close a connection that has had no call for so long (0: never)");
  AddDurationOption(app, "--message-timeout", &s->orb.server.message_timeout,
                    "How long one message may take to arrive");
  AddDurationOption(app, "--write-timeout", &s->orb.server.write_timeout,
                    "How long a peer may read nothing of what waits for it");
  app->add_option("--max-message-size", s->giop.max_message_size,
                  "Bytes of one GIOP message, all fragments together")
      ->check(CLI::Range(size_t{1024}, size_t{1} << 30))
      ->capture_default_str();
  app->add_option("--fragment-size", s->giop.fragment_size,
                  "Send GIOP 1.2 messages above so many bytes in fragments (0: never)")
      ->capture_default_str();
  app->add_option("--max-threads", s->orb.reactor.max_threads,
                  "Threads at most; more than the cores only while servants block")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
}

std::unique_ptr<orb::Orb> NewOrb(OrbSettings settings, const Clock* clock, Logger* logger,
                                 orb::Gate* gate) {
  char hostname[256] = {};
  gethostname(hostname, sizeof hostname - 1);
  settings.orb.hostname = hostname;
  // What may be queued for a peer must hold at least one message.
  settings.orb.server.max_queued_output =
      std::max(settings.orb.server.max_queued_output, 2 * settings.giop.max_message_size);
  settings.orb.client.max_queued_output = settings.orb.server.max_queued_output;
  auto result = std::make_unique<orb::Orb>(settings.orb, clock, logger, gate);
  result->AddMessaging(std::make_unique<giop::Giop>(settings.giop));
  const auto transport = orb::TransportOptions::Supervised();
  result->AddTransport(std::make_unique<orb::TcpTransport>(clock, transport));
  result->AddTransport(std::make_unique<orb::UnixTransport>(clock, transport));
  return result;
}

void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace weir::tools
