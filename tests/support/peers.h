// Starts the real peers of the interop tests: omniORB servers and clients, omniNames, nameclt.
//
// Each function fails the running test (ADD_FAILURE, with the peer's output) and returns null or
// empty if the peer does not come up.
//
// Thread safety: to be called from the test's main thread; see process.h.

#ifndef WEIR_TESTS_SUPPORT_PEERS_H_
#define WEIR_TESTS_SUPPORT_PEERS_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/support/environment.h"
#include "tests/support/process.h"

namespace weir::testing {

using Args = std::vector<std::string>;

// A running server. `ior` is as it printed it.
struct Server {
  std::unique_ptr<Process> process;
  std::string ior;
};

// `program` is a runfile such as "tests/peers/omni_echo_server"; waits until it is ready.
Server StartOmniServer(const std::string& program, const Args& options = {});
// Its end point for a TCP port of 127.0.0.1. A server to be restarted must name a port from the
// start: omniORB lets a port be taken again (SO_REUSEADDR) only if it was named.
Args ListenOn(int port);

// What a client program did.
struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
  bool ok() const { return exit_code == 0; }
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome);

// Runs a program of PATH or a runfile to its end.
Outcome RunProgram(const std::string& program, const Args& arguments,
                   Milliseconds timeout = std::chrono::seconds(60));

// As RunProgram, but goes on with the program running, once it has printed "ready".
std::unique_ptr<Process> StartClient(const std::string& program, const Args& arguments);
// Lets a client that was started with --interactive run a case; the outcome line.
std::string RunCase(Process* client, const std::string& name,
                    Milliseconds timeout = std::chrono::seconds(60));

// omniNames on a free port with its data in a folder of its own.
class NameServer {
 public:
  NameServer();

  bool running() const { return process_ != nullptr; }
  int port() const { return port_; }
  // "corbaloc::1.2@127.0.0.1:PORT/NameService"
  std::string reference() const;
  // The root context's.
  const std::string& ior() const { return ior_; }

 private:
  TempDir data_;
  int port_;
  std::string ior_;
  std::unique_ptr<Process> process_;
};

// "corbaloc::VERSION@127.0.0.1:PORT/KEY"
std::string Corbaloc(int port, const std::string& key, const std::string& version = "1.2");

// "corbaloc:omniunix:PATH:/KEY". Its version is always 1.2: omniORB knows these addresses in no
// other.
std::string UnixCorbaloc(const std::string& path, const std::string& key);

// The TCP port in the first profile of a stringified IOR, as catior prints it; 0 if there is none.
int PortOf(const std::string& ior);

}  // namespace weir::testing

#endif  // WEIR_TESTS_SUPPORT_PEERS_H_
