#include "control/listen_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weir::control {
namespace {

constexpr size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;

absl::Status Bad(std::string_view text, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("control address '", std::string(text), "': ", why));
}

// The socket address of a TCP `address`. REQUIRES: its host is numeric.
addrinfo* Resolve(const std::string& host, int flags, int* error) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  *error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  return found;
}

bool IsLoopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24) == 127;
  }
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

absl::StatusOr<ListenAddress> ParseTcp(std::string_view text, bool allow_remote) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Bad(text, "neither unix:PATH nor HOST:PORT");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  ListenAddress address;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port < 0 ||
      address.port > 65535) {
    return Bad(text, "the port is no number from 0 to 65535");
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return Bad(text, "write an IPv6 address in brackets: [::1]:PORT");
  }
  if (host.empty()) return Bad(text, "the host is missing; write 127.0.0.1:PORT or unix:PATH");

  int failure = 0;
  addrinfo* const found = Resolve(std::string(host), 0, &failure);
  if (failure != 0) return Bad(text, absl::StrCat("host: ", gai_strerror(failure)));
  // IPv4 first: a container may know ::1 by name and yet have no IPv6.
  const addrinfo* chosen = found;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    if (a->ai_family == AF_INET) {
      chosen = a;
      break;
    }
  }
  const bool loopback = IsLoopback(chosen->ai_addr);
  char numeric[NI_MAXHOST];
  getnameinfo(chosen->ai_addr, chosen->ai_addrlen, numeric, sizeof(numeric), nullptr, 0,
              NI_NUMERICHOST);
  freeaddrinfo(found);
  address.host = numeric;
  if (!loopback && !allow_remote) {
    return absl::PermissionDeniedError(absl::StrCat(
        "control address '", std::string(text),
        "' is not loopback: whoever reaches the control plane commands it, and it has no TLS yet; "
        "listen on unix:PATH or 127.0.0.1:PORT, or allow it explicitly"));
  }
  return address;
}

absl::Status InUse(const std::string& what) {
  return absl::AlreadyExistsError(absl::StrCat(
      "control address ", what, " is in use by a running process; stop it or choose another"));
}

absl::Status CheckUnixFree(const ListenAddress& address) {
  const std::string name = absl::StrCat("unix:", address.path);
  struct stat info;
  if (lstat(address.path.c_str(), &info) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat("control address ", name, ": ", strerror(errno)));
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "control address ", name, ": there is a file that is no socket; choose another path"));
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::UnavailableError(absl::StrCat("socket: ", strerror(errno)));
  sockaddr_un sun = {};
  sun.sun_family = AF_UNIX;
  memcpy(sun.sun_path, address.path.data(), address.path.size());
  const int rc = connect(fd, reinterpret_cast<sockaddr*>(&sun), sizeof(sun));
  const int error = errno;
  close(fd);
  // Only a refusal says that nobody listens; a full backlog (EAGAIN) is a living process.
  if (rc == 0 || error == EAGAIN) return InUse(name);
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(
        absl::StrCat("control address ", name, " belongs to another user; choose another path"));
  }
  if (error == ECONNREFUSED && unlink(address.path.c_str()) != 0 && errno != ENOENT) {
    return absl::PermissionDeniedError(absl::StrCat("control address ", name,
                                                    ": the socket of a dead process cannot be "
                                                    "removed: ",
                                                    strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status CheckTcpFree(const ListenAddress& address) {
  int failure = 0;
  addrinfo* const found = Resolve(address.host, AI_NUMERICHOST, &failure);
  if (failure != 0) return Bad(address.ToString(), gai_strerror(failure));
  sockaddr_storage storage = {};
  memcpy(&storage, found->ai_addr, found->ai_addrlen);
  const socklen_t size = found->ai_addrlen;
  freeaddrinfo(found);
  if (storage.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(address.port);
  } else {
    reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = htons(address.port);
  }
  const int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::UnavailableError(absl::StrCat("socket: ", strerror(errno)));
  // As gRPC will: connections of a predecessor in TIME_WAIT are no obstacle.
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  int rc = bind(fd, reinterpret_cast<sockaddr*>(&storage), size);
  if (rc == 0) rc = listen(fd, 1);
  const int error = errno;
  close(fd);
  if (rc == 0) return absl::OkStatus();
  if (error == EADDRINUSE) return InUse(address.ToString());
  const std::string text =
      absl::StrCat("control address ", address.ToString(), " cannot be bound: ", strerror(error));
  return error == EACCES ? absl::PermissionDeniedError(text) : absl::UnavailableError(text);
}

}  // namespace

std::string ListenAddress::ToString() const {
  if (is_unix) return absl::StrCat("unix:", path);
  const bool v6 = host.find(':') != std::string::npos;
  return absl::StrCat(v6 ? "[" : "", host, v6 ? "]" : "", ":", port);
}

absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text, bool allow_remote) {
  constexpr std::string_view kUnix = "unix:";
  if (!text.starts_with(kUnix)) return ParseTcp(text, allow_remote);
  ListenAddress address;
  address.is_unix = true;
  address.path = text.substr(kUnix.size());
  if (address.path.empty()) return Bad(text, "the path is missing");
  if (address.path.size() > kMaxPath) {
    return Bad(text, absl::StrCat("the path has ", address.path.size(),
                                  " bytes, but a Unix socket's has at most ", kMaxPath,
                                  "; choose a shorter one"));
  }
  if (address.path.find('\0') != std::string::npos) return Bad(text, "a zero byte in the path");
  return address;
}

std::string GrpcTarget(std::string_view address) {
  constexpr std::string_view kUnix = "unix:";
  std::string out;
  for (const unsigned char c : address) {
    const bool plain =
        absl::ascii_isalnum(c) || std::string_view("/-._~").find(c) != std::string_view::npos;
    if (plain || !address.starts_with(kUnix) || out.size() < kUnix.size()) {
      out += static_cast<char>(c);
    } else {
      absl::StrAppendFormat(&out, "%%%02X", c);
    }
  }
  return out;
}

absl::Status CheckFree(const ListenAddress& address) {
  return address.is_unix ? CheckUnixFree(address) : CheckTcpFree(address);
}

absl::StatusOr<BindLock> BindLock::Take(const ListenAddress& address) {
  if (!address.is_unix) return BindLock(-1);
  std::filesystem::path folder = std::filesystem::path(address.path).parent_path();
  if (folder.empty()) folder = ".";
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    const std::string text = absl::StrCat("control address unix:", address.path, ": folder ",
                                          folder.string(), ": ", strerror(errno));
    return errno == EACCES ? absl::PermissionDeniedError(text)
                           : absl::NotFoundError(text + "; create it first");
  }
  BindLock lock(fd);
  // Held by others for the moment of a bind; whoever holds it longer is not one of us.
  for (int attempt = 0; attempt < 500; ++attempt) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return lock;
    usleep(10'000);
  }
  return absl::AbortedError(absl::StrCat("control address unix:", address.path,
                                         ": another process has locked the folder ",
                                         folder.string(), "; choose another path"));
}

BindLock::~BindLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace weir::control
