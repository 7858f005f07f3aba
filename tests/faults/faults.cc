#include "tests/faults/faults.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>

#include "tests/interop/raw_echo.h"
#include "tests/support/environment.h"

namespace weir::testing {

Weir StartWeir(const std::string& command, const Args& more, int descriptors) {
  Process::Options options;
  if (descriptors > 0) {
    options.argv = {"/bin/sh", "-c", "ulimit -n " + std::to_string(descriptors) + "; exec \"$@\"",
                    "sh"};
  }
  for (std::string arg :
       {RunfilePath("tools/weir/weir"), command, std::string("--listen"),
        std::string("giop:tcp:127.0.0.1:0"), std::string("--store"), std::string("memory")}) {
    options.argv.push_back(std::move(arg));
  }
  options.argv.insert(options.argv.end(), more.begin(), more.end());
  // Freed memory must be reusable, or every bound on memory would fail.
  const char* const asan = getenv("ASAN_OPTIONS");
  options.env = {{"ASAN_OPTIONS", std::string(asan ? asan : "") + ":quarantine_size_mb=1"}};
  absl::StatusOr<std::unique_ptr<Process>> process = Process::Start(options);
  if (!process.ok()) {
    ADD_FAILURE() << process.status();
    return {};
  }
  const auto ready = (*process)->WaitForLine("^ready ", std::chrono::seconds(30));
  std::smatch match;
  if (!ready.ok() || !std::regex_search(*ready, match, std::regex("giop:tcp:[^ ]*:([0-9]+)"))) {
    ADD_FAILURE() << ready.status();
    return {};
  }
  return {*std::move(process), std::stoi(match[1])};
}

Weir StartGateway(int upstream_port, Args more) {
  more.insert(more.begin(),
              {"--upstream", "corbaloc::1.2@127.0.0.1:" + std::to_string(upstream_port)});
  return StartWeir("gateway", more);
}

int64_t ProcStatus(pid_t pid, std::string_view field) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(field) && line[field.size()] == ':') {
      return std::stoll(line.substr(field.size() + 1));
    }
  }
  return 0;
}

RawRequest Ping(uint32_t id, uint32_t value, std::string key) {
  RawRequest request;
  request.id = id;
  request.key = std::move(key);
  request.operation = "ping";
  request.arguments = [value](RawWriter* out) { out->Long(value); };
  return request;
}

bool PingWorks(RawConnection* connection, uint32_t id) {
  absl::StatusOr<RawReply> reply = connection->Invoke(Ping(id, id));
  if (!reply.ok()) {
    ADD_FAILURE() << reply.status();
    return false;
  }
  return reply->status == 0 && reply->body.Long() == id + 1;
}

bool PingWorksAt(int port) {
  auto connection = RawConnection::Tcp(port);
  return connection.ok() && PingWorks(connection->get(), 4711);
}

RawException ExceptionOf(RawReply reply) {
  if (reply.status != 2) return {};
  std::string id = reply.body.String();
  RawException e;
  e.minor = reply.body.Long();
  e.completed = reply.body.Long();
  constexpr std::string_view kPrefix = "IDL:omg.org/CORBA/";
  if (!reply.body.ok() || !id.starts_with(kPrefix) || !id.ends_with(":1.0")) return {};
  e.id = id.substr(kPrefix.size(), id.size() - kPrefix.size() - 4);
  return e;
}

bool RecordingUpstream::Peer::Send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(n);
  }
  return true;
}

void RecordingUpstream::Peer::Reset() const {
  const linger at_once = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

RecordingUpstream::Handler RecordingUpstream::Echo() {
  return [echo = EchoHandler(Order::kLittle)](const RawMessage& message, const Peer& peer) {
    return message.type > kLocateReply || peer.Send(echo(message, peer.number));
  };
}

RecordingUpstream::RecordingUpstream(Handler handler) : handler_(std::move(handler)) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd_, 64) != 0 ||
      getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    perror("an upstream's socket");
    abort();
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

RecordingUpstream::~RecordingUpstream() {
  stopping_ = true;
  shutdown(fd_, SHUT_RDWR);
  acceptor_.join();
  close(fd_);
}

std::vector<std::string> RecordingUpstream::violations() const {
  MutexLock lock(&mu_);
  return violations_;
}

std::vector<std::string> RecordingUpstream::requests() const {
  MutexLock lock(&mu_);
  return requests_;
}

size_t RecordingUpstream::count(std::string_view request) const {
  MutexLock lock(&mu_);
  return std::count(requests_.begin(), requests_.end(), request);
}

void RecordingUpstream::Accept() {
  std::vector<std::thread> threads;
  while (!stopping_) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    {
      MutexLock lock(&mu_);
      open_.push_back(fd);
    }
    threads.emplace_back([this, fd, number = connections_++] { Serve({fd, number}); });
  }
  {
    MutexLock lock(&mu_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : threads) thread.join();
}

void RecordingUpstream::Serve(Peer peer) {
  const auto receive = [&](size_t size) {
    std::string bytes(size, '\0');
    size_t have = 0;
    while (have < size) {
      const ssize_t n = recv(peer.fd, bytes.data() + have, size - have, 0);
      if (n <= 0) break;
      have += n;
    }
    bytes.resize(have);
    return bytes;
  };
  const auto complain = [&](const std::string& what) {
    MutexLock lock(&mu_);
    violations_.push_back("connection " + std::to_string(peer.number) + ": " + what);
  };
  std::map<uint32_t, RawMessage> partial;  // GIOP 1.1 has one at a time: under id 0
  for (bool more = true; more;) {
    const std::string header = receive(12);
    if (header.empty()) break;
    if (header.size() < 12 || header.compare(0, 5, "GIOP\1") != 0 || header[5] > 2 ||
        static_cast<uint8_t>(header[6]) > 3 || header[7] > kFragment) {
      complain("a header that is none");
      break;
    }
    RawMessage piece;
    piece.minor = header[5];
    piece.order = header[6] & 1 ? Order::kLittle : Order::kBig;
    piece.type = header[7];
    const uint32_t size = RawReader(header.substr(8), piece.order).Long();
    if (size > 64u << 20) {
      complain("a message of " + std::to_string(size) + " octets");
      break;
    }
    piece.body = receive(size);
    if (piece.body.size() < size) {
      if (!stopping_) complain("an end in the middle of a message");
      break;
    }
    const bool last = (header[6] & 2) == 0;
    uint32_t id = 0;
    if (piece.minor == 2 && (piece.type == kFragment || !last)) {
      id = RawReader(piece.body, piece.order).Long();
    }
    if (piece.type == kFragment) {
      const auto it = partial.find(id);
      if (it == partial.end() || it->second.order != piece.order) {
        complain("a fragment of nothing");
        break;
      }
      it->second.body += piece.minor == 2 ? piece.body.substr(4) : piece.body;
      if (!last) continue;
      piece = std::move(it->second);
      partial.erase(it);
    } else if (!last) {
      partial[id] = piece;
      continue;
    }
    const std::string wrong = Check(piece);
    if (!wrong.empty()) complain(wrong);
    more = handler_(piece, peer);
  }
  MutexLock lock(&mu_);
  open_.erase(std::find(open_.begin(), open_.end(), peer.fd));
  close(peer.fd);
}

std::string RecordingUpstream::Check(const RawMessage& m) {
  RawReader in(m.body, m.order, 12);
  switch (m.type) {
    case kRequest: {
      absl::StatusOr<RawCall> call = DecodeRequest(m);
      if (!call.ok()) return std::string(call.status().message());
      if (call->operation.empty()) return "a Request without an operation";
      if (call->operation.find('\0') != std::string::npos) return "a NUL inside an operation";
      if (call->contexts.size() > 64) return "a Request with too many service contexts";
      MutexLock lock(&mu_);
      requests_.push_back(call->key + " " + call->operation);
      return "";
    }
    case kCancelRequest:
      return m.body.size() == 4 ? "" : "a CancelRequest of a wrong size";
    case kLocateRequest:
      in.Long();
      if (m.minor == 2 && in.Short() != kKeyAddr) return "a LocateRequest not addressed by key";
      in.Octets();
      return in.ok() && in.left() == 0 ? "" : "a malformed LocateRequest";
    case kCloseConnection:
    case kMessageError:
      return m.body.empty() ? "" : "a body where there is none";
    default:
      return "a message that only servers send";
  }
}

}  // namespace weir::testing
