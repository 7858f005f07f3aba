// weir/Echo by hand: checks of any server of it, and a server, in either byte order.
//
// Thread safety: the checks are called from a test's main thread; a handler is stateless.

#ifndef WEIR_TESTS_INTEROP_RAW_ECHO_H_
#define WEIR_TESTS_INTEROP_RAW_ECHO_H_

#include <string>

#include "tests/interop/raw_giop.h"

namespace weir::testing {

// Calls everything of the weir/Echo object `key` over `connection`, in messages of that version
// and byte order: all operations, bodies up to 1 MiB, an unknown operation and an unknown key,
// a LocateRequest, and in 1.2 fragments. Fails the running test.
void CheckEcho(RawConnection* connection, const std::string& key, int minor, Order order);

// One ping.
void CheckPing(RawConnection* connection, const std::string& key, int minor, Order order);

// Names the object in each of GIOP 1.2's addressing forms. Apart, because omniORB 4.2.5 as a server
// answers UNKNOWN to all but KeyAddr, and as a client sends only that, whatever its option
// -ORBgiopTargetAddressMode says, until a server asks for another one.
void CheckAddressing(RawConnection* connection, const std::string& key, Order order);

// Serves weir/Echo under the key "echo", always answering in `order`, and in the version of the
// request.
RawServer::Handler EchoHandler(Order order);

}  // namespace weir::testing

#endif  // WEIR_TESTS_INTEROP_RAW_ECHO_H_
