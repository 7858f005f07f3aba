// ping_driver REFERENCE N: makes N direct calls of weir/Echo::ping, then ends. tools/count.sh runs
// it under valgrind, to count what a call costs the client.

#include <cstdlib>
#include <iostream>

#include "tools/bench/echo_client.h"
#include "tools/weir/orb_setup.h"

namespace weir {
namespace {

absl::Status Drive(const char* reference, int calls) {
  SystemClock clock;
  NullLogger logger;
  const std::unique_ptr<orb::Orb> orb = tools::NewOrb({}, &clock, &logger, nullptr);
  if (absl::Status s = orb->Start(); !s.ok()) return s;
  auto client = bench::EchoClient::New(orb.get(), reference);
  if (!client.ok()) return client.status();
  const absl::Status status = (*client)->Run(calls).status();
  const absl::Status stopped = orb->Shutdown(clock.Now() + kSecond);
  return status.ok() ? stopped : status;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " REFERENCE N\n";
    return 2;
  }
  const absl::Status status = weir::Drive(argv[1], atoi(argv[2]));
  if (!status.ok()) std::cerr << argv[0] << ": " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
