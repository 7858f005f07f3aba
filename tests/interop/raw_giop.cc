#include "tests/interop/raw_giop.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace weir::testing {
namespace {

constexpr size_t kHeaderSize = 12;

void WriteContexts(const std::vector<RawContext>& contexts, RawWriter* out) {
  out->Long(static_cast<uint32_t>(contexts.size()));
  for (const RawContext& c : contexts) out->Long(c.id).Octets(c.data);
}

std::vector<RawContext> ReadContexts(RawReader* in) {
  std::vector<RawContext> contexts;
  const uint32_t count = in->Long();
  for (uint32_t i = 0; i < count && in->ok(); ++i) {
    const uint32_t id = in->Long();
    contexts.push_back({id, in->Octets()});
  }
  return contexts;
}

// An IIOP 1.2 profile's data that names `key`; nobody is to look at its address.
std::string Profile(Order order, std::string_view key) {
  RawWriter profile(order);
  profile.Octet(order == Order::kLittle).Octet(1).Octet(2);
  profile.String("127.0.0.1").Short(1).Octets(key).Long(0);
  return profile.bytes();
}

void WriteTarget(const RawRequest& r, RawWriter* out) {
  out->Short(r.addressing);
  switch (r.addressing) {
    case kKeyAddr:
      out->Octets(r.key);
      break;
    case kProfileAddr:
      out->Long(0).Octets(Profile(r.order, r.key));
      break;
    case kReferenceAddr:
      // The second profile of two is the selected one; the first one is of an unknown tag.
      out->Long(1).String("IDL:weir/Echo:1.0").Long(2);
      out->Long(0x7fff1234).Octets("unknown");
      out->Long(0).Octets(Profile(r.order, r.key));
      break;
  }
}

// Appends the body, aligned as GIOP 1.2 demands if there is one at all.
void WriteBody(int minor, const std::function<void(RawWriter*)>& body, RawWriter* out) {
  if (!body) return;
  RawWriter probe(out->order());
  body(&probe);
  if (probe.bytes().empty()) return;
  if (minor >= 2) out->Align(8);
  body(out);
}

}  // namespace

RawWriter& RawWriter::Align(size_t to) {
  while ((origin_ + bytes_.size()) % to != 0) bytes_.push_back(0);
  return *this;
}

RawWriter& RawWriter::Octet(uint8_t value) {
  bytes_.push_back(static_cast<char>(value));
  return *this;
}

RawWriter& RawWriter::Number(uint64_t value, size_t size) {
  Align(size);
  for (size_t i = 0; i < size; ++i) {
    const size_t shift = order_ == Order::kBig ? size - 1 - i : i;
    bytes_.push_back(static_cast<char>(value >> (8 * shift)));
  }
  return *this;
}

RawWriter& RawWriter::Double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return LongLong(bits);
}

RawWriter& RawWriter::String(std::string_view value) {
  Long(static_cast<uint32_t>(value.size() + 1));
  bytes_.append(value).push_back('\0');
  return *this;
}

RawWriter& RawWriter::Octets(std::string_view value) {
  Long(static_cast<uint32_t>(value.size()));
  return Raw(value);
}

RawWriter& RawWriter::Raw(std::string_view value) {
  bytes_.append(value);
  return *this;
}

void RawReader::Align(size_t to) {
  while ((origin_ + at_) % to != 0 && at_ < bytes_.size()) ++at_;
}

std::string RawReader::Take(size_t size) {
  if (!ok_ || size > left()) {
    ok_ = false;
    return "";
  }
  at_ += size;
  return bytes_.substr(at_ - size, size);
}

uint64_t RawReader::Number(size_t size) {
  Align(size);
  const std::string octets = Take(size);
  uint64_t value = 0;
  for (size_t i = 0; i < octets.size(); ++i) {
    const size_t from = order_ == Order::kBig ? i : size - 1 - i;
    value = value << 8 | static_cast<uint8_t>(octets[from]);
  }
  return value;
}

double RawReader::Double() {
  const uint64_t bits = LongLong();
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

std::string RawReader::String() {
  std::string value = Take(Long());
  if (value.empty() || value.back() != '\0') {
    ok_ = false;
    return "";
  }
  value.pop_back();
  return value;
}

std::string RawReader::Octets() { return Take(Long()); }

std::string RawReader::Rest() { return Take(left()); }

std::string EncodeMessage(int minor, Order order, MessageType type, std::string_view body,
                          bool more_fragments) {
  RawWriter out(order);
  out.Raw("GIOP").Octet(1).Octet(static_cast<uint8_t>(minor));
  out.Octet((order == Order::kLittle ? 1 : 0) | (more_fragments ? 2 : 0)).Octet(type);
  out.Long(static_cast<uint32_t>(body.size())).Raw(body);
  return out.bytes();
}

std::string Encode(const RawRequest& r) {
  RawWriter out(r.order, kHeaderSize);
  if (r.minor >= 2) {
    out.Long(r.id).Octet(r.response_expected ? 3 : 0).Raw(std::string_view("\0\0\0", 3));
    WriteTarget(r, &out);
    out.String(r.operation);
    WriteContexts(r.contexts, &out);
  } else {
    WriteContexts(r.contexts, &out);
    out.Long(r.id).Octet(r.response_expected);
    if (r.minor == 1) out.Raw(std::string_view("\0\0\0", 3));
    out.Octets(r.key).String(r.operation).Octets("");
  }
  WriteBody(r.minor, r.arguments, &out);
  return EncodeMessage(r.minor, r.order, kRequest, out.bytes());
}

std::vector<std::string> EncodeInPieces(const RawRequest& r, size_t piece) {
  const std::string body = Encode(r).substr(kHeaderSize);
  std::vector<std::string> pieces;
  RawWriter id(r.order);
  id.Long(r.id);
  for (size_t at = 0; at < body.size() || at == 0;) {
    const bool first = at == 0;
    const size_t room = piece - kHeaderSize - (first ? 0 : id.bytes().size());
    const std::string data = body.substr(at, room);
    at += data.size();
    pieces.push_back(EncodeMessage(r.minor, r.order, first ? kRequest : kFragment,
                                   (first ? "" : id.bytes()) + data, at < body.size()));
  }
  return pieces;
}

absl::StatusOr<RawReply> DecodeReply(const RawMessage& m) {
  if (m.type != kReply) {
    return absl::InternalError("not a Reply but type " + std::to_string(m.type));
  }
  RawReader in(m.body, m.order, kHeaderSize);
  RawReply reply;
  if (m.minor < 2) reply.contexts = ReadContexts(&in);
  reply.id = in.Long();
  reply.status = in.Long();
  if (m.minor >= 2) {
    reply.contexts = ReadContexts(&in);
    in.Align(8);
  }
  if (!in.ok()) return absl::InternalError("a Reply that ends in its header");
  reply.body = in;
  return reply;
}

absl::StatusOr<RawCall> DecodeRequest(const RawMessage& m) {
  if (m.type != kRequest) return absl::InternalError("not a Request");
  RawReader in(m.body, m.order, kHeaderSize);
  RawCall call;
  if (m.minor >= 2) {
    call.id = in.Long();
    call.response_expected = (in.Octet() & 1) != 0;
    for (int i = 0; i < 3; ++i) in.Octet();
    if (in.Short() != kKeyAddr) return absl::InternalError("not addressed by key");
    call.key = in.Octets();
    call.operation = in.String();
    call.contexts = ReadContexts(&in);
    in.Align(8);
  } else {
    call.contexts = ReadContexts(&in);
    call.id = in.Long();
    call.response_expected = in.Octet() != 0;
    for (int i = 0; i < 3 && m.minor == 1; ++i) in.Octet();
    call.key = in.Octets();
    call.operation = in.String();
    in.Octets();  // the principal
  }
  if (!in.ok()) return absl::InternalError("a Request that ends in its header");
  call.arguments = in;
  return call;
}

std::string EncodeReply(int minor, Order order, uint32_t id, uint32_t status,
                        const std::function<void(RawWriter*)>& body,
                        const std::vector<RawContext>& contexts) {
  RawWriter out(order, kHeaderSize);
  if (minor < 2) WriteContexts(contexts, &out);
  out.Long(id).Long(status);
  if (minor >= 2) WriteContexts(contexts, &out);
  WriteBody(minor, body, &out);
  return EncodeMessage(minor, order, kReply, out.bytes());
}

absl::StatusOr<std::unique_ptr<RawConnection>> RawConnection::Tcp(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  auto connection = std::make_unique<RawConnection>(fd);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::UnavailableError("connect to port " + std::to_string(port) + ": " +
                                  strerror(errno));
  }
  return connection;
}

absl::StatusOr<std::unique_ptr<RawConnection>> RawConnection::Unix(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  auto connection = std::make_unique<RawConnection>(fd);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::UnavailableError("connect to " + path + ": " + strerror(errno));
  }
  return connection;
}

RawConnection::~RawConnection() { close(fd_); }

void RawConnection::Shutdown() { shutdown(fd_, SHUT_RDWR); }

bool RawConnection::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(n);
  }
  return true;
}

absl::StatusOr<std::string> RawConnection::ReceiveOctets(size_t size, int timeout_ms) {
  std::string result;
  char buffer[65536];
  while (result.size() < size) {
    pollfd ready = {fd_, POLLIN, 0};
    if (poll(&ready, 1, timeout_ms) <= 0) return absl::DeadlineExceededError("nothing came");
    const ssize_t n = recv(fd_, buffer, std::min(size - result.size(), sizeof(buffer)), 0);
    if (n <= 0) return absl::OutOfRangeError("the peer closed the connection");
    result.append(buffer, n);
  }
  return result;
}

absl::StatusOr<RawMessage> RawConnection::Receive(int timeout_ms) {
  RawMessage message;
  for (bool more = true, first = true; more; first = false) {
    const absl::StatusOr<std::string> header = ReceiveOctets(kHeaderSize, timeout_ms);
    if (!header.ok()) return header.status();
    if (header->compare(0, 5, "GIOP\1") != 0) return absl::InternalError("not GIOP 1");
    const auto flags = static_cast<uint8_t>((*header)[6]);
    const Order order = (flags & 1) != 0 ? Order::kLittle : Order::kBig;
    const uint8_t type = (*header)[7];
    RawReader size(header->substr(8), order);
    absl::StatusOr<std::string> body = ReceiveOctets(size.Long(), timeout_ms);
    if (!body.ok()) return body.status();
    more = (*header)[5] >= 1 && (flags & 2) != 0;
    if (first) {
      message = {(*header)[5], order, type, *std::move(body), 1};
      continue;
    }
    // One call at a time is on this connection, so that no other message comes in between.
    if (type != kFragment) return absl::InternalError("a Fragment was due");
    message.body += message.minor >= 2 ? body->substr(4) : *body;
    ++message.pieces;
  }
  return message;
}

absl::StatusOr<RawReply> RawConnection::Invoke(const RawRequest& request) {
  if (!Send(Encode(request))) return absl::UnavailableError("the peer does not read");
  const absl::StatusOr<RawMessage> message = Receive();
  if (!message.ok()) return message.status();
  absl::StatusOr<RawReply> reply = DecodeReply(*message);
  if (reply.ok() && reply->id != request.id) return absl::InternalError("another call's reply");
  return reply;
}

RawServer::RawServer(Handler handler) : handler_(std::move(handler)) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd_, 64) != 0 ||
      getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    perror("a raw server's socket");
    abort();
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

RawServer::~RawServer() {
  stopping_ = true;
  shutdown(fd_, SHUT_RDWR);
  acceptor_.join();
  close(fd_);
}

void RawServer::Accept() {
  std::vector<std::unique_ptr<RawConnection>> open;
  std::vector<std::thread> threads;
  while (!stopping_) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    open.push_back(std::make_unique<RawConnection>(fd));
    threads.emplace_back([this, connection = open.back().get(), number = connections_++] {
      for (;;) {
        const absl::StatusOr<RawMessage> message = connection->Receive(3600 * 1000);
        if (!message.ok()) break;
        std::string answer = handler_(*message, number);
        const bool hang_up = std::string_view(answer).ends_with(kHangUp);
        if (hang_up) answer.resize(answer.size() - kHangUp.size());
        const size_t pause = answer.find(kPause);
        if (!connection->Send(answer.substr(0, pause))) break;
        if (pause != answer.npos) {
          std::this_thread::sleep_for(std::chrono::microseconds(rand() % 300));
          connection->Send(answer.substr(pause + kPause.size()));
        }
        if (hang_up) break;
      }
      connection->Shutdown();
    });
  }
  for (auto& connection : open) connection->Shutdown();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace weir::testing
