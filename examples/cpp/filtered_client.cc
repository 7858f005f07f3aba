// A client with a control listener of its own: whoever may talk to that plugs filters onto the
// calls that this program makes, while it runs.
//
//   filtered_client REFERENCE CONTROL [INTERVAL_MS]
//
//   filtered_client corbaloc::127.0.0.1:2809/NameService unix:/tmp/client.sock
//   weir plug guard --control unix:/tmp/client.sock --filter deny --on all
//   weir map guard '*' --up deny --enable --control unix:/tmp/client.sock
//
// Asks the object whether it exists, again and again, and prints a line for each answer, until it
// is interrupted. What the selectors of plugs match is the key of the object that is called.

#include <signal.h>
#include <time.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/logger.h"
#include "control/node.h"
#include "filters/builtin/builtin.h"
#include "filters/filter.h"
#include "orb/core/orb.h"
#include "orb/core/system_exception.h"
#include "orb/giop/giop.h"
#include "orb/transport/tcp.h"
#include "orb/transport/unix.h"

namespace {

using weir::Nanos;

constexpr Nanos kTimeout = 5 * weir::kSecond;

class Call : public weir::orb::Invocation {
  void Done() override {}  // of asynchronous calls
};

// `_non_existent`, which every CORBA object answers: "it is there", or what happened instead. A
// call that a filter bounces ends as if the server had answered so.
std::string Ask(weir::orb::Orb* orb, const std::shared_ptr<weir::orb::Target>& target,
                Nanos deadline) {
  weir::orb::Request request;
  request.operation = "_non_existent";
  request.deadline = deadline;
  Call call;
  call.request = &request;
  const absl::Status status = orb->invoker().Invoke(target, &call);
  if (!status.ok()) return std::string(status.message());
  weir::cdr::Decoder in = call.reply.body.decoder();
  if (call.reply.status == weir::orb::ReplyStatus::kSystemException) {
    return weir::orb::ToString(weir::orb::DecodeSystemException(&in));
  }
  const bool gone = in.ReadBoolean();
  return gone || !in.ok() ? "it is gone" : "it is there";
}

// Waits for `pause`, or until the process is to end: then true.
bool Ends(const sigset_t& signals, Nanos pause) {
  const timespec wait{pause / weir::kSecond, pause % weir::kSecond};
  return sigtimedwait(&signals, nullptr, &wait) > 0;
}

absl::Status Run(const std::string& reference, const std::string& control, Nanos interval) {
  // Before there are threads, so that all of them leave the signals to Ends.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  // Each outlives what is made after it.
  const weir::SystemClock clock;
  weir::NullLogger logger;
  weir::filters::FilterKinds kinds;  // what can be plugged here
  weir::filters::AddBuiltinFilters(&kinds);

  // The registry of filters, with its store and its gate.
  weir::control::NodeOptions options;
  options.control = control;
  options.store = "memory";  // or sqlite:FILE: what was plugged is there again after a restart
  absl::StatusOr<std::unique_ptr<weir::control::Node>> node =
      weir::control::Node::Start(options, &kinds, &clock, &logger);
  if (!node.ok()) return node.status();

  // The ORB. It serves nothing, so only the calls that it makes are filtered.
  weir::orb::Orb orb(weir::orb::OrbOptions(), &clock, &logger, /*gate=*/nullptr);
  orb.FilterOutgoing((*node)->gate());
  orb.AddMessaging(std::make_unique<weir::giop::Giop>());
  const auto transport = weir::orb::TransportOptions::Supervised();
  orb.AddTransport(std::make_unique<weir::orb::TcpTransport>(&clock, transport));
  orb.AddTransport(std::make_unique<weir::orb::UnixTransport>(&clock, transport));
  if (absl::Status s = orb.Start(); !s.ok()) return s;

  // The control listener, once there is something to tell of.
  absl::Status status = (*node)->Serve([&orb] {
    weir::control::NodeInfo info;
    info.role = "filtered_client";
    info.counters = {{"connections", orb.stats().upstream_connections}};
    return info;
  });
  absl::StatusOr<std::shared_ptr<weir::orb::Target>> target = orb.Resolve(reference);
  if (status.ok()) status = target.status();
  if (status.ok()) {
    std::cout << "ready control " << (*node)->control_address() << std::endl;
    do {
      std::cout << Ask(&orb, *target, clock.Now() + kTimeout) << std::endl;
    } while (!Ends(signals, interval));
  }
  // The listener asks the ORB for its counters, so it goes first; the registry, which the ORB's
  // last calls ask, goes last.
  (*node)->Shutdown(clock.Now() + weir::kSecond);
  const absl::Status stopped = orb.Shutdown(clock.Now() + weir::kSecond);
  return status.ok() ? stopped : status;
}

}  // namespace

int main(int argc, char** argv) {
  const int interval_ms = argc == 4 ? std::atoi(argv[3]) : 1000;
  if ((argc != 3 && argc != 4) || interval_ms < 1) {
    std::cerr << "usage: filtered_client REFERENCE CONTROL [INTERVAL_MS]\n";
    return 2;
  }
  const absl::Status status = Run(argv[1], argv[2], interval_ms * weir::kMillisecond);
  if (status.ok()) return 0;
  std::cerr << "filtered_client: " << status.message() << std::endl;
  return 1;
}
