#include "orb/transport/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/host_port.h"
#include "base/strings.h"
#include "orb/transport/socket.h"

namespace weir::orb {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

absl::StatusOr<Addresses> Resolve(const HostPort& where, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string port = StrCat(where.port);
  const int error =
      getaddrinfo(where.host.empty() ? nullptr : where.host.c_str(), port.c_str(), &hints, &list);
  if (error != 0) {
    return absl::NotFoundError(
        StrCat("host name '", where.host, "' has no address: ", gai_strerror(error)));
  }
  return Addresses(list);
}

std::string Format(const sockaddr_storage& address) {
  char host[INET6_ADDRSTRLEN] = "";
  uint16_t port = 0;
  if (address.ss_family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
    port = ntohs(in6.sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) {
      inet_ntop(AF_INET, in6.sin6_addr.s6_addr + 12, host, sizeof host);
    } else {
      inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof host);
    }
  } else {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    port = ntohs(in.sin_port);
    inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
  }
  return FormatHostPort(host, port);
}

void Tune(int fd, const TransportOptions& options) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &options.keepalive_idle_seconds, sizeof(int));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &options.keepalive_interval_seconds, sizeof(int));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &options.keepalive_count, sizeof(int));
}

class TcpAcceptor : public Acceptor {
 public:
  TcpAcceptor(UniqueFd fd, std::string address, std::vector<std::string> published,
              const TransportOptions& options)
      : fd_(std::move(fd)),
        address_(std::move(address)),
        published_(std::move(published)),
        options_(options) {}

  int fd() const override { return fd_.get(); }

  absl::StatusOr<std::unique_ptr<Stream>> Accept() override {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    UniqueFd fd(accept4(fd_.get(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return nullptr;
      return ErrnoStatus(errno, StrCat("accepting on ", address_));
    }
    Tune(fd.get(), options_);
    return std::make_unique<SocketStream>(std::move(fd), Format(peer), options_);
  }

  std::string address() const override { return address_; }
  std::vector<std::string> published_addresses() const override { return published_; }

 private:
  const UniqueFd fd_;
  const std::string address_;
  const std::vector<std::string> published_;
  const TransportOptions options_;
};

std::string HostName() {
  char name[256] = "localhost";
  gethostname(name, sizeof name - 1);
  return name;
}

// Opens, binds and listens. A wildcard IPv6 socket takes IPv4 too.
absl::StatusOr<UniqueFd> OpenListener(const addrinfo& a, const TransportOptions& options) {
  UniqueFd fd(socket(a.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return ErrnoStatus(errno, "socket");
  const int on = 1, off = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (a.ai_family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(fd.get(), a.ai_addr, a.ai_addrlen) != 0 || listen(fd.get(), options.backlog) != 0) {
    return ErrnoStatus(errno, "bind");
  }
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> TcpTransport::Listen(std::string_view address) {
  absl::StatusOr<HostPort> where = ParseHostPort(address);
  if (!where.ok()) return where.status();
  absl::StatusOr<Addresses> list = Resolve(*where, AI_PASSIVE);
  if (!list.ok()) return list.status();

  // For an empty host, IPv6 first: that socket serves IPv4 as well. Without IPv6, IPv4 alone.
  absl::Status failure = absl::UnavailableError("no address to bind");
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* a = list->get(); a != nullptr; a = a->ai_next) {
      if (a->ai_family != family) continue;
      absl::StatusOr<UniqueFd> fd = OpenListener(*a, options_);
      if (!fd.ok()) {
        failure = fd.status();
        continue;
      }
      sockaddr_storage bound{};
      socklen_t size = sizeof bound;
      getsockname(fd->get(), reinterpret_cast<sockaddr*>(&bound), &size);
      const std::string real = Format(bound);
      const uint16_t port = ParseHostPort(real)->port;
      const bool any =
          where->host.empty() || real.starts_with("0.0.0.0:") || real.starts_with("[::]:");
      std::vector<std::string> published = {any ? FormatHostPort(HostName(), port) : real};
      return std::make_unique<TcpAcceptor>(*std::move(fd), real, std::move(published), options_);
    }
  }
  return absl::Status(failure.code(),
                      StrCat("cannot listen on tcp:", address, ": ", failure.message()));
}

absl::StatusOr<std::unique_ptr<Stream>> TcpTransport::Connect(std::string_view address,
                                                              Nanos deadline) {
  absl::StatusOr<HostPort> where = ParseHostPort(address);
  if (!where.ok()) return where.status();
  if (where->port == 0) {
    return absl::InvalidArgumentError(StrCat("cannot connect to ", address, ": port 0"));
  }
  absl::StatusOr<Addresses> list = Resolve(*where, AI_ADDRCONFIG);
  if (!list.ok()) list = Resolve(*where, 0);  // a machine with loopback alone
  if (!list.ok()) return list.status();
  absl::Status failure = absl::UnavailableError(StrCat(address, ": no address"));
  for (const addrinfo* a = list->get(); a != nullptr; a = a->ai_next) {
    absl::StatusOr<UniqueFd> fd =
        ConnectSocket(a->ai_addr, a->ai_addrlen, address, deadline, *clock_);
    if (!fd.ok()) {
      failure = fd.status();
      continue;
    }
    sockaddr_storage peer{};
    std::memcpy(&peer, a->ai_addr, a->ai_addrlen);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (getsockname(fd->get(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        Format(own) == Format(peer)) {
      // Nobody listens, and the kernel chose that very port for our end: TCP connects it to itself.
      failure = ErrnoStatus(ECONNREFUSED, address);
      continue;
    }
    Tune(fd->get(), options_);
    return std::make_unique<SocketStream>(*std::move(fd), Format(peer), options_);
  }
  return failure;
}

}  // namespace weir::orb
