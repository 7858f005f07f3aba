// What the omniORB servers share: options, the object's fixed key, the reference on stdout.
//
// Thread safety: to be called once, from main.

#ifndef WEIR_TESTS_PEERS_OMNI_SERVER_H_
#define WEIR_TESTS_PEERS_OMNI_SERVER_H_

#include <omniORB4/CORBA.h>

#include <functional>

namespace weir::peers {

// Serves the servant that `make` returns (owned by the ORB) under the object key `key`, so that
// corbaloc::HOST:PORT/KEY works. Prints the IOR on one line, then "ready"; ends on SIGTERM or
// SIGINT. Takes -ORB options; without -ORBendPoint it listens on a free port of 127.0.0.1.
// Returns the exit code of main.
int ServeUntilTerminated(int argc, char** argv, const char* key,
                         const std::function<PortableServer::Servant(CORBA::ORB_ptr)>& make);

}  // namespace weir::peers

#endif  // WEIR_TESTS_PEERS_OMNI_SERVER_H_
