// What TCP and Unix stream sockets share: an owned descriptor, a Stream over it, and a connect with
// a deadline.
//
// Thread safety: as Stream.

#ifndef WEIR_ORB_TRANSPORT_SOCKET_H_
#define WEIR_ORB_TRANSPORT_SOCKET_H_

#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>

#include "orb/transport/transport.h"

namespace weir::orb {

// Owns a file descriptor.
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// A Stream over a connected stream socket. The descriptor is in blocking mode; only Wait::kStay
// blocks, until it is interrupted or for the receive timeout that is set on the socket once. So a
// receive that waits is one system call.
class SocketStream : public Stream {
 public:
  SocketStream(UniqueFd fd, std::string peer_address, const TransportOptions& options);

  int fd() const override { return fd_.get(); }
  IoResult Receive(void* to, size_t size, Wait wait) override;
  IoResult Send(std::string_view bytes) override;
  bool WaitReadable(Nanos timeout) override;
  bool HasInput() override;
  void ShutdownSend() override;
  void Shutdown() override;
  std::string peer_address() const override { return peer_address_; }

 private:
  const UniqueFd fd_;
  const std::string peer_address_;
  const bool interruptible_;
};

// Connects a fresh socket to `address`. `where` is how errors name it.
absl::StatusOr<UniqueFd> ConnectSocket(const sockaddr* address, socklen_t length,
                                       std::string_view where, Nanos deadline, const Clock& clock);

// "connection refused"; errno's text without strerror's shared buffer.
std::string ErrnoText(int error);

// A status for `error` that says "WHERE: text", its code by the error.
absl::Status ErrnoStatus(int error, std::string_view where);

}  // namespace weir::orb

#endif  // WEIR_ORB_TRANSPORT_SOCKET_H_
