#include "orb/transport/unix.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/strings.h"
#include "orb/transport/socket.h"

namespace weir::orb {
namespace {

absl::StatusOr<sockaddr_un> SocketAddress(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path[0] != '/') {
    return absl::InvalidArgumentError(StrCat(
        "unix socket '", path, "': the path must be absolute, as in giop:unix:/run/weir.sock"));
  }
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(StrCat("unix socket '", path, "': the path is ", path.size(),
                                             " bytes long, at most ", sizeof address.sun_path - 1,
                                             " are possible"));
  }
  if (path.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError("unix socket: the path contains a NUL");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

std::string PeerCredentials(int fd) {
  ucred cred{};
  socklen_t size = sizeof cred;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) != 0) return "unix";
  return StrCat("unix:pid=", cred.pid, ",uid=", cred.uid);
}

class UnixAcceptor : public Acceptor {
 public:
  UnixAcceptor(UniqueFd fd, UniqueFd lock, std::string path, const TransportOptions& options)
      : fd_(std::move(fd)), lock_(std::move(lock)), path_(std::move(path)), options_(options) {
    struct stat s;
    if (lstat(path_.c_str(), &s) == 0) inode_ = s.st_ino;
  }

  ~UnixAcceptor() override {
    // Only our own file: somebody may have put another one in its place.
    struct stat s;
    if (lstat(path_.c_str(), &s) == 0 && s.st_ino == inode_) unlink(path_.c_str());
    unlink(StrCat(path_, ".lock").c_str());
  }

  int fd() const override { return fd_.get(); }

  absl::StatusOr<std::unique_ptr<Stream>> Accept() override {
    UniqueFd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return nullptr;
      return ErrnoStatus(errno, StrCat("accepting on ", path_));
    }
    std::string peer = PeerCredentials(fd.get());
    return std::make_unique<SocketStream>(std::move(fd), std::move(peer), options_);
  }

  std::string address() const override { return path_; }
  std::vector<std::string> published_addresses() const override { return {path_}; }

 private:
  const UniqueFd fd_;
  const UniqueFd lock_;
  const std::string path_;
  const TransportOptions options_;
  ino_t inode_ = 0;
};

// Takes the lock file at `path`; the file may be removed by its last owner at any moment.
absl::StatusOr<UniqueFd> TakeLock(const std::string& path, std::string_view socket_path) {
  for (;;) {
    UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) return ErrnoStatus(errno, StrCat("cannot listen on ", socket_path, " (", path, ")"));
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      return absl::UnavailableError(
          StrCat("cannot listen on ", socket_path, ": another process serves it already"));
    }
    struct stat ours, there;
    if (fstat(lock.get(), &ours) == 0 && stat(path.c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino && ours.st_dev == there.st_dev) {
      return lock;
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> UnixTransport::Listen(std::string_view address) {
  absl::StatusOr<sockaddr_un> where = SocketAddress(address);
  if (!where.ok()) return where.status();
  const std::string path(address);

  // The lock closes the race between two processes that both find a dead socket and replace it.
  const std::string lock_path = StrCat(path, ".lock");
  absl::StatusOr<UniqueFd> lock = TakeLock(lock_path, path);
  if (!lock.ok()) return lock.status();
  const sockaddr* const raw = reinterpret_cast<const sockaddr*>(&*where);
  struct stat s;
  if (lstat(path.c_str(), &s) == 0) {
    if (!S_ISSOCK(s.st_mode)) {
      return absl::InvalidArgumentError(
          StrCat("cannot listen on ", path, ": a file that is no socket is in the way"));
    }
    UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (connect(probe.get(), raw, sizeof *where) == 0 || errno == EAGAIN) {
      return absl::UnavailableError(
          StrCat("cannot listen on ", path, ": another process serves it already"));
    }
    unlink(path.c_str());
  }

  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || bind(fd.get(), raw, sizeof *where) != 0) {
    return ErrnoStatus(errno, StrCat("cannot listen on ", path));
  }
  if (chmod(path.c_str(), mode_) != 0 || listen(fd.get(), options_.backlog) != 0) {
    return ErrnoStatus(errno, StrCat("cannot listen on ", path));
  }
  return std::make_unique<UnixAcceptor>(std::move(fd), *std::move(lock), path, options_);
}

absl::StatusOr<std::unique_ptr<Stream>> UnixTransport::Connect(std::string_view address,
                                                               Nanos deadline) {
  absl::StatusOr<sockaddr_un> where = SocketAddress(address);
  if (!where.ok()) return where.status();
  absl::StatusOr<UniqueFd> fd = ConnectSocket(reinterpret_cast<const sockaddr*>(&*where),
                                              sizeof *where, address, deadline, *clock_);
  if (!fd.ok()) return fd.status();
  return std::make_unique<SocketStream>(*std::move(fd), StrCat("unix:", address), options_);
}

}  // namespace weir::orb
