#include "orb/transport/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/strings.h"
#include "orb/transport/receive_interrupt.h"

namespace weir::orb {

namespace {

// In a process with threads, glibc's recv and send are cancellation points, which costs each of
// them some sixty instructions. Nobody cancels threads here.
#if defined(__SANITIZE_THREAD__) || !defined(SYS_recvfrom) || !defined(SYS_sendto)
ssize_t ReceiveBytes(int fd, void* to, size_t size, int flags) { return recv(fd, to, size, flags); }
ssize_t SendBytes(int fd, const void* from, size_t size, int flags) {
  return send(fd, from, size, flags);
}
#else
ssize_t ReceiveBytes(int fd, void* to, size_t size, int flags) {
  return syscall(SYS_recvfrom, fd, to, size, flags, nullptr, nullptr);
}
ssize_t SendBytes(int fd, const void* from, size_t size, int flags) {
  return syscall(SYS_sendto, fd, from, size, flags, nullptr, 0);
}
#endif

}  // namespace

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

std::string ErrnoText(int error) {
  char buffer[128];
  return strerror_r(error, buffer, sizeof buffer);
}

absl::Status ErrnoStatus(int error, std::string_view where) {
  const std::string text = StrCat(where, ": ", ErrnoText(error));
  switch (error) {
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(text);
    case EINVAL:
    case ENAMETOOLONG:
    case EAFNOSUPPORT:
      return absl::InvalidArgumentError(text);
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return absl::ResourceExhaustedError(text);
    case ETIMEDOUT:
      return absl::DeadlineExceededError(text);
    default:
      return absl::UnavailableError(text);
  }
}

TransportOptions TransportOptions::Supervised() {
  TransportOptions options;
  if (CanInterruptReceives()) options.stay = 0;
  return options;
}

SocketStream::SocketStream(UniqueFd fd, std::string peer_address, const TransportOptions& options)
    : fd_(std::move(fd)),
      peer_address_(std::move(peer_address)),
      interruptible_(options.stay == 0) {
  if (interruptible_) return;
  timeval stay;
  stay.tv_sec = options.stay / kSecond;
  stay.tv_usec = std::max<Nanos>(1, options.stay % kSecond / kMicrosecond);
  setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &stay, sizeof stay);
}

IoResult SocketStream::Receive(void* to, size_t size, Wait wait) {
  ssize_t n;
  if (wait == Wait::kStay && interruptible_) {
    const ReceiveMark mark(fd_.get());
    n = ReceiveBytes(fd_.get(), to, size, 0);
  } else {
    n = ReceiveBytes(fd_.get(), to, size, wait == Wait::kNo ? MSG_DONTWAIT : 0);
  }
  if (n > 0) [[likely]]
    return {IoResult::kBytes, 0, static_cast<size_t>(n)};
  if (n == 0) return {IoResult::kEnd};
  // A signal of the program's own (EINTR) ends the wait early, which is as good as late.
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {IoResult::kWouldBlock};
  return {IoResult::kError, errno};
}

IoResult SocketStream::Send(std::string_view bytes) {
  for (;;) {
    const ssize_t n = SendBytes(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) return {IoResult::kBytes, 0, static_cast<size_t>(n)};
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoResult::kWouldBlock};
    return {IoResult::kError, errno};
  }
}

bool SocketStream::WaitReadable(Nanos timeout) {
  pollfd p{fd_.get(), POLLIN, 0};
  timespec t{static_cast<time_t>(timeout / kSecond), static_cast<long>(timeout % kSecond)};
  return ppoll(&p, 1, &t, nullptr) != 0;
}

bool SocketStream::HasInput() {
  char c;
  const ssize_t n = recv(fd_.get(), &c, 1, MSG_PEEK | MSG_DONTWAIT);
  return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void SocketStream::ShutdownSend() { shutdown(fd_.get(), SHUT_WR); }
void SocketStream::Shutdown() { shutdown(fd_.get(), SHUT_RDWR); }

absl::StatusOr<UniqueFd> ConnectSocket(const sockaddr* address, socklen_t length,
                                       std::string_view where, Nanos deadline, const Clock& clock) {
  UniqueFd fd(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return ErrnoStatus(errno, where);
  Nanos pause = kMillisecond;
  while (connect(fd.get(), address, length) != 0) {
    // A Unix socket answers EAGAIN while the listener's queue is full. There is nothing to wait on,
    // so it is tried again from time to time.
    if (errno == EAGAIN) {
      const Nanos left = deadline == kNoDeadline ? pause : deadline - clock.Now();
      if (left <= 0) {
        return absl::DeadlineExceededError(
            StrCat(where, ": the server accepts no connections (its queue of them is full)"));
      }
      const Nanos rest = std::min(pause, left);
      const timespec t{static_cast<time_t>(rest / kSecond), static_cast<long>(rest % kSecond)};
      nanosleep(&t, nullptr);
      pause = std::min(pause * 2, 50 * kMillisecond);
      continue;
    }
    if (errno != EINPROGRESS) return ErrnoStatus(errno, where);
    for (;;) {
      const Nanos left = deadline == kNoDeadline ? kSecond : deadline - clock.Now();
      if (left <= 0) {
        return absl::DeadlineExceededError(
            StrCat(where, ": no answer to the connection attempt in time"));
      }
      pollfd p{fd.get(), POLLOUT, 0};
      timespec t{static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond)};
      if (ppoll(&p, 1, &t, nullptr) > 0) break;
    }
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return ErrnoStatus(error, where);
    break;
  }
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace weir::orb
