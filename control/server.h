// The control plane's gRPC listener: weir.control.v1.Control, health checking and reflection, on an
// address of its own.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_CONTROL_SERVER_H_
#define WEIR_CONTROL_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "control/node_info.h"
#include "control/service.h"

namespace weir::control {

struct ServerOptions {
  // "unix:PATH" (made with mode 0600) or "HOST:PORT" (port 0: any free one).
  std::string address;
  // Listen on TCP addresses other than loopback, although there is no TLS yet.
  bool allow_remote = false;
  // A request over this size, in bytes, is refused before it is read.
  int max_request_bytes = 4 << 20;
};

class Server {
 public:
  // Listens when it returns. `service` and `clock` must outlive the server. Errors: those of
  // ParseListenAddress and CheckFree, and UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       Service* service, const Clock* clock,
                                                       NodeInfoSource info);
  // As Shutdown with a deadline of now.
  ~Server();

  // Where it really listens: "unix:PATH", "127.0.0.1:43211". What `--control` of a client takes.
  const std::string& address() const;

  // Stops accepting, ends watchers, waits until `deadline` (of the clock) for calls to end, then
  // cancels them. Idempotent.
  void Shutdown(Nanos deadline);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace weir::control

#endif  // WEIR_CONTROL_SERVER_H_
