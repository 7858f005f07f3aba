#include "tests/support/recording_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace weir::testing {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void NoDelay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

RecordingRelay::RecordingRelay() {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(fd_, 64) == 0 &&
      getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    port_ = ntohs(address.sin_port);
  }
  acceptor_ = std::thread([this] { Accept(); });
}

RecordingRelay::~RecordingRelay() {
  stopping_ = true;
  shutdown(fd_, SHUT_RDWR);
  acceptor_.join();
  close(fd_);
  Take();
}

void RecordingRelay::Accept() {
  for (;;) {
    const int client = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
      if (stopping_) return;
      continue;
    }
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(target_);
    if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close(client);
      close(server);
      continue;
    }
    NoDelay(client);
    NoDelay(server);
    MutexLock lock(&mu_);
    Line& line = lines_.emplace_back();
    line.client = client;
    line.server = server;
    line.up = std::thread([&line] { Pump(line.client, line.server, &line.carried.requests); });
    line.down = std::thread([&line] { Pump(line.server, line.client, &line.carried.replies); });
  }
}

void RecordingRelay::Pump(int from, int to, std::string* record) {
  char buffer[65536];
  for (;;) {
    const ssize_t n = recv(from, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    record->append(buffer, static_cast<size_t>(n));
    for (ssize_t sent = 0; sent < n;) {
      const ssize_t m = send(to, buffer + sent, static_cast<size_t>(n - sent), MSG_NOSIGNAL);
      if (m <= 0) return;
      sent += m;
    }
  }
  shutdown(to, SHUT_WR);
}

std::vector<RecordingRelay::Connection> RecordingRelay::Take() {
  std::list<Line> lines;
  {
    MutexLock lock(&mu_);
    lines.swap(lines_);
  }
  std::vector<Connection> carried;
  for (Line& line : lines) {
    shutdown(line.client, SHUT_RDWR);
    shutdown(line.server, SHUT_RDWR);
    line.up.join();
    line.down.join();
    close(line.client);
    close(line.server);
    carried.push_back(std::move(line.carried));
  }
  return carried;
}

}  // namespace weir::testing
