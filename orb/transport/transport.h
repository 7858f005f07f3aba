// The transport interface: connected byte streams, and how to accept and open them. A transport
// knows no messages; a messaging protocol knows no sockets.
//
// To add a transport, implement Transport, Acceptor and Stream in a file set of its own and
// register it where `main` builds the Orb. Nothing else changes.

#ifndef WEIR_ORB_TRANSPORT_TRANSPORT_H_
#define WEIR_ORB_TRANSPORT_TRANSPORT_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"

namespace weir::orb {

// The outcome of one attempt to receive or send.
struct IoResult {
  enum Kind : uint8_t {
    kBytes,       // `bytes` > 0 were moved
    kWouldBlock,  // nothing now
    kEnd,         // receive only: the peer has closed its side in good order
    kError,       // `error` is an errno value
  };
  Kind kind = kBytes;
  int error = 0;
  size_t bytes = 0;
};

enum class Wait : uint8_t {
  kNo,    // return kWouldBlock at once
  kStay,  // wait for data, but not for ever (TransportOptions::stay)
};

// One connected, reliable, ordered byte stream.
//
// Thread safety: one thread may receive while another sends; Shutdown may be called by any thread
// at any time and makes both return.
class Stream {
 public:
  virtual ~Stream() = default;

  // A descriptor that epoll reports as readable when Receive can make progress, and as writable
  // when Send can.
  virtual int fd() const = 0;
  virtual IoResult Receive(void* to, size_t size, Wait wait) = 0;
  // Never blocks.
  virtual IoResult Send(std::string_view bytes) = 0;
  // Waits up to `timeout` until there is something to receive (or an end, or an error). False:
  // there is not.
  virtual bool WaitReadable(Nanos timeout) = 0;
  // Looks without consuming: true if the peer has closed or sent something unasked. For idle
  // connections.
  virtual bool HasInput() = 0;
  // Sends what was accepted, then an end of stream; receiving goes on.
  virtual void ShutdownSend() = 0;
  virtual void Shutdown() = 0;
  // As in Peer::address: "10.0.0.7:40112", "unix:pid=4711,uid=0".
  virtual std::string peer_address() const = 0;
};

class Acceptor {
 public:
  virtual ~Acceptor() = default;

  // Readable when Accept has something.
  virtual int fd() const = 0;
  // Null if nobody is waiting. RESOURCE_EXHAUSTED: out of descriptors or memory; try again later.
  // Other errors concern one connection that failed before it was accepted.
  virtual absl::StatusOr<std::unique_ptr<Stream>> Accept() = 0;
  // The real address, with the port that the system chose: "127.0.0.1:40001".
  virtual std::string address() const = 0;
  // What to put into references by default. A host of "0.0.0.0" or "::" is replaced by something
  // that a peer can reach.
  virtual std::vector<std::string> published_addresses() const = 0;
};

struct TransportOptions {
  // The defaults for transports of an Orb, whose supervisor interrupts: `stay` is 0 if this process
  // allows it.
  static TransportOptions Supervised();

  // How long Wait::kStay waits, which is how long a thread stays on a quiet connection. 0: until
  // it is interrupted (receive_interrupt.h), as the reactor's supervisor does after a tick or two;
  // this makes each receive cheaper. REQUIRES for 0: CanInterruptReceives().
  Nanos stay = 4 * kMillisecond;
  int backlog = 1024;
  // TCP keepalive: first probe after `keepalive_idle`, then every `keepalive_interval`,
  // `keepalive_count` times. Finds peers that vanished without a word.
  int keepalive_idle_seconds = 60;
  int keepalive_interval_seconds = 15;
  int keepalive_count = 4;
};

// Thread safety: safe for concurrent use.
class Transport {
 public:
  virtual ~Transport() = default;

  // As written in an endpoint: "tcp".
  virtual std::string_view name() const = 0;
  // Errors name the address and the reason: INVALID_ARGUMENT (cannot be an address), UNAVAILABLE
  // (in use, no such interface), PERMISSION_DENIED.
  virtual absl::StatusOr<std::unique_ptr<Acceptor>> Listen(std::string_view address) = 0;
  // Blocks until connected or `deadline`. Errors: INVALID_ARGUMENT, NOT_FOUND (host name has no
  // address), UNAVAILABLE (refused, unreachable), DEADLINE_EXCEEDED.
  virtual absl::StatusOr<std::unique_ptr<Stream>> Connect(std::string_view address,
                                                          Nanos deadline) = 0;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_TRANSPORT_TRANSPORT_H_
