// A node without an ORB, for tests of the control plane: a registry with the shipped filters, a
// store and the control listener.
//
//   control_node CONTROL STORE [QUEUED_EVENTS]
//
// Prints "ready CONTROL" with the real address on stdout, serves until SIGTERM, then shuts down
// within a second. Exits 1 with the reason on stderr if it cannot start.

#include <signal.h>

#include <iostream>
#include <memory>
#include <string>

#include "base/clock.h"
#include "control/node.h"
#include "tools/weir/filter_kinds.h"
#include "tools/weir/spdlog_logger.h"

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::cerr << "usage: control_node CONTROL STORE [QUEUED_EVENTS]\n";
    return 2;
  }
  // Before there are threads, so that all of them leave the signal to sigwait.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);

  const weir::SystemClock clock;
  const std::unique_ptr<weir::Logger> logger = weir::tools::NewStderrLogger();
  weir::filters::OrbHandle no_orb;
  weir::filters::FilterKinds kinds;
  weir::tools::AddFilterKinds(&kinds, &no_orb);

  weir::control::NodeOptions options;
  options.control = argv[1];
  options.store = argv[2];
  if (argc == 4) options.limits.queued_events = std::stoul(argv[3]);
  absl::StatusOr<std::unique_ptr<weir::control::Node>> node =
      weir::control::Node::Start(options, &kinds, &clock, logger.get());
  absl::Status status = node.status();
  if (status.ok()) {
    status = (*node)->Serve([] {
      weir::control::NodeInfo info;
      info.version = "test";
      info.role = "control_node";
      info.endpoints = {"giop:tcp:127.0.0.1:4711"};
      info.counters = {{"calls_total", 42}};
      return info;
    });
  }
  if (!status.ok()) {
    std::cerr << "control_node: " << status.message() << std::endl;
    return 1;
  }
  std::cout << "ready " << (*node)->control_address() << std::endl;
  int signal = 0;
  sigwait(&signals, &signal);
  (*node)->Shutdown(clock.Now() + weir::kSecond);
  return 0;
}
