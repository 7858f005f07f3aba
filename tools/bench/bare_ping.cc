#include "tools/bench/bare_ping.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <functional>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "tools/bench/child.h"

namespace weir::bench {
namespace {

// GIOP 1.2 (CORBA 3.3 part 2, 9.4): header 12, id 4, flags and reserved 4, addressing 4, key 4 + 4,
// operation 4 + 5 + 3, no service contexts 4, argument 4.
constexpr size_t kRequestSize = 52;
// Header 12, id 4, status 4, no service contexts 4, result 4.
constexpr size_t kReplySize = 28;

// Sends or receives all of it. False at the end and on errors.
bool SendAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool ReceiveAll(int fd, char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = recv(fd, data, size, 0);
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

// The first connection to `listener`, ready for small messages. -1 on errors.
int Accept(int listener) {
  const int fd = accept(listener, nullptr, nullptr);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void Serve(int listener) {
  const int fd = Accept(listener);
  char message[kRequestSize] = {};
  while (ReceiveAll(fd, message, kRequestSize) && SendAll(fd, message, kReplySize)) {
  }
}

// Passes requests from `listener` on to `server`, and replies back.
void Relay(int listener, int server) {
  const int fd = Accept(listener);
  char message[kRequestSize] = {};
  while (ReceiveAll(fd, message, kRequestSize) && SendAll(server, message, kRequestSize) &&
         ReceiveAll(server, message, kReplySize) && SendAll(fd, message, kReplySize)) {
  }
}

class BarePing : public Contender {
 public:
  BarePing(std::vector<std::unique_ptr<Child>> others, int fd)
      : others_(std::move(others)), fd_(fd) {}
  ~BarePing() override { close(fd_); }

  absl::StatusOr<Nanos> Run(int calls) override {
    char message[kRequestSize] = {};
    const Nanos began = clock_.Now();
    for (int i = 0; i < calls; ++i) {
      if (!SendAll(fd_, message, kRequestSize) || !ReceiveAll(fd_, message, kReplySize)) {
        return absl::UnavailableError("another process of the bare ping-pong is gone");
      }
    }
    return clock_.Now() - began;
  }

 private:
  const SystemClock clock_;
  const std::vector<std::unique_ptr<Child>> others_;
  const int fd_;
};

// A child process that runs `serve` on a listener, and a connection to that.
struct Served {
  std::unique_ptr<Child> child;
  int fd = -1;
};

absl::StatusOr<Served> Start(const std::string& unix_path, const std::function<void(int)>& serve) {
  sockaddr_in tcp = {};
  tcp.sin_family = AF_INET;
  tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_un local = {};
  local.sun_family = AF_UNIX;
  if (unix_path.size() >= sizeof local.sun_path) {
    return absl::InvalidArgumentError(StrCat(unix_path, " is too long for a Unix socket"));
  }
  memcpy(local.sun_path, unix_path.c_str(), unix_path.size());

  const bool is_tcp = unix_path.empty();
  sockaddr* const address =
      is_tcp ? reinterpret_cast<sockaddr*>(&tcp) : reinterpret_cast<sockaddr*>(&local);
  socklen_t size = is_tcp ? sizeof tcp : sizeof local;
  const int listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, address, size) != 0 || listen(listener, 1) != 0 ||
      (is_tcp && getsockname(listener, address, &size) != 0)) {
    return absl::UnavailableError(
        StrCat("listening for the bare ping-pong ", unix_path, ": ", strerror(errno)));
  }
  auto child = Child::Fork("bare ping-pong", [listener, &serve] { serve(listener); });
  close(listener);
  if (!child.ok()) return child.status();
  const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, address, size) != 0) {
    return absl::UnavailableError(
        StrCat("connecting the bare ping-pong ", unix_path, ": ", strerror(errno)));
  }
  const int on = 1;
  if (is_tcp) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return Served{*std::move(child), fd};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Contender>> NewBarePing(const std::string& unix_path) {
  auto server = Start(unix_path, Serve);
  if (!server.ok()) return server.status();
  std::vector<std::unique_ptr<Child>> others;
  others.push_back(std::move(server->child));
  return std::make_unique<BarePing>(std::move(others), server->fd);
}

absl::StatusOr<std::unique_ptr<Contender>> NewBareRelay() {
  auto server = Start("", Serve);
  if (!server.ok()) return server.status();
  auto relay = Start("", [&server](int listener) { Relay(listener, server->fd); });
  close(server->fd);  // the relay has it
  if (!relay.ok()) return relay.status();
  std::vector<std::unique_ptr<Child>> others;
  others.push_back(std::move(relay->child));
  others.push_back(std::move(server->child));
  return std::make_unique<BarePing>(std::move(others), relay->fd);
}

}  // namespace weir::bench
