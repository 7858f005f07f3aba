// Where a control plane listens: "unix:PATH" or "HOST:PORT", checked before gRPC binds it, so that
// errors name the address, the cause and the way out.
//
// Thread safety: functions are safe for concurrent use, except that they must not race with another
// thread that makes or removes the same socket.

#ifndef WEIR_CONTROL_LISTEN_ADDRESS_H_
#define WEIR_CONTROL_LISTEN_ADDRESS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weir::control {

struct ListenAddress {
  bool is_unix = false;
  std::string path;  // of a Unix socket
  std::string host;  // numeric: "127.0.0.1", "::1"
  int port = 0;      // 0: any free one
  // For people: "unix:/run/weir.sock", "127.0.0.1:0", "[::1]:50051".
  std::string ToString() const;
};

// Reads `text` and looks its host up. As the control plane has no TLS yet, a TCP address that is
// not loopback is refused unless `allow_remote`. Errors: INVALID_ARGUMENT (spelling, a path too
// long for a Unix socket, an unknown host), PERMISSION_DENIED (not loopback).
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text, bool allow_remote);

// `address` ("unix:PATH" or "HOST:PORT") as a target for gRPC, which reads targets as URIs: a path
// with '%', '?' or '#' would become another one.
std::string GrpcTarget(std::string_view address);

// Makes sure that `address` can be bound: its folder exists, no living process listens there. The
// socket file of a dead process is removed. Errors: NOT_FOUND (no such folder),
// FAILED_PRECONDITION (the path is something else than a socket), ALREADY_EXISTS (in use),
// PERMISSION_DENIED, UNAVAILABLE (the address is not this machine's).
absl::Status CheckFree(const ListenAddress& address);

// Holds a lock on the folder of a Unix socket from before CheckFree to after the bind, so that of
// two nodes that start at once only one finds the path free. Does nothing for TCP.
class BindLock {
 public:
  // ABORTED: another process has held the lock for seconds.
  static absl::StatusOr<BindLock> Take(const ListenAddress& address);
  BindLock(BindLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  ~BindLock();

 private:
  explicit BindLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace weir::control

#endif  // WEIR_CONTROL_LISTEN_ADDRESS_H_
