// The limits of connections. Each bounds what a peer can make this process spend.

#ifndef WEIR_ORB_CORE_LIMITS_H_
#define WEIR_ORB_CORE_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace weir::orb {

struct ServerLimits {
  // Connections open at a time, over all endpoints. Stops a peer that opens connections without
  // end.
  size_t max_connections = 16384;
  // Calls of one connection that have not been answered. Further ones get NO_RESOURCES. Stops a
  // peer that sends requests without end to servants that answer late.
  size_t max_calls_per_connection = 16384;
  // Bytes of the requests that wait for a late answer, of one connection and of all together; they
  // are kept until then, so that they can be sent again. Further calls get NO_RESOURCES. Stops
  // peers that send large requests without end to servants that answer late.
  size_t max_pending_bytes_per_connection = 64u << 20;
  size_t max_pending_bytes = 512u << 20;
  // Bytes of replies waiting for a peer to read. Beyond, the connection is closed. Stops a peer
  // that asks for large replies and reads none.
  size_t max_queued_output = 64u << 20;
  // How long a peer may take none of the bytes that wait for it. Stops a peer that stops reading
  // for ever.
  Nanos write_timeout = 30 * kSecond;
  // How long the bytes of one message may take to arrive, plus a second for every `min_rate` bytes.
  // Stops a peer that sends one byte a second for ever.
  Nanos message_timeout = 30 * kSecond;
  size_t min_rate = 16 * 1024;
  // A connection without a call for so long is closed in good order (CloseConnection). 0: never.
  Nanos idle_timeout = 180 * kSecond;
};

// Where a LOCATION_FORWARD may lead. Stops a server, or whoever speaks for it, from making this
// process connect to addresses of its choice.
enum class ForwardPolicy : uint8_t {
  kNever,
  kSameHost,  // hosts that the reference named itself, and Unix sockets
  kAny,
};

struct ClientLimits {
  // Connections to one address. Concurrent callers get one each up to this number, then share.
  size_t max_connections_per_endpoint = 5;
  // Calls in flight on one connection. Further ones fail with NO_RESOURCES.
  size_t max_calls_per_connection = 16384;
  size_t max_queued_output = 64u << 20;
  Nanos write_timeout = 30 * kSecond;
  Nanos connect_timeout = 10 * kSecond;
  // An unused connection is closed after so long, before servers do (omniORB: 180 s). 0: never.
  Nanos idle_timeout = 120 * kSecond;
  // LOCATION_FORWARDs in a row. Stops servers that send us in a circle.
  int max_forwards = 10;
  ForwardPolicy forward_policy = ForwardPolicy::kSameHost;
  // References of objects elsewhere that filters have sent calls to, which are kept ready. Stops a
  // filter that makes up ever new ones.
  size_t max_kept_targets = 1024;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_LIMITS_H_
