// A second GIOP, small and independent of the one under test: messages made and read by hand from
// the specification's layouts (CORBA 3.3 part 2, 9.4), in either byte order and any version, over
// a plain blocking socket. It is what omniORB cannot play: a peer of the other byte order.
//
// Wrong or missing input yields an empty or failed value, never a crash; tests check what they
// need.
//
// Thread safety: none, except that a RawServer runs its own thread.

#ifndef WEIR_TESTS_INTEROP_RAW_GIOP_H_
#define WEIR_TESTS_INTEROP_RAW_GIOP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace weir::testing {

enum class Order { kBig, kLittle };

enum MessageType : uint8_t {
  kRequest = 0,
  kReply = 1,
  kCancelRequest = 2,
  kLocateRequest = 3,
  kLocateReply = 4,
  kCloseConnection = 5,
  kMessageError = 6,
  kFragment = 7,
};

// Writes CDR. Alignment counts from `origin` octets before the first one written.
class RawWriter {
 public:
  explicit RawWriter(Order order, size_t origin = 0) : order_(order), origin_(origin) {}

  RawWriter& Align(size_t to);
  RawWriter& Octet(uint8_t value);
  RawWriter& Short(uint16_t value) { return Number(value, 2); }
  RawWriter& Long(uint32_t value) { return Number(value, 4); }
  RawWriter& LongLong(uint64_t value) { return Number(value, 8); }
  RawWriter& Double(double value);
  RawWriter& String(std::string_view value);  // with its length and NUL
  RawWriter& Octets(std::string_view value);  // with its length
  RawWriter& Raw(std::string_view value);     // as is

  Order order() const { return order_; }
  const std::string& bytes() const { return bytes_; }

 private:
  RawWriter& Number(uint64_t value, size_t size);

  Order order_;
  size_t origin_;
  std::string bytes_;
};

// Reads CDR; after a read past the end ok() is false and every value is zero.
class RawReader {
 public:
  RawReader(std::string bytes, Order order, size_t origin = 0)
      : bytes_(std::move(bytes)), order_(order), origin_(origin) {}

  bool ok() const { return ok_; }
  size_t left() const { return bytes_.size() - at_; }
  void Align(size_t to);
  uint8_t Octet() { return static_cast<uint8_t>(Number(1)); }
  uint16_t Short() { return static_cast<uint16_t>(Number(2)); }
  uint32_t Long() { return static_cast<uint32_t>(Number(4)); }
  uint64_t LongLong() { return Number(8); }
  double Double();
  std::string String();
  std::string Octets();
  std::string Rest();

 private:
  uint64_t Number(size_t size);
  std::string Take(size_t size);

  std::string bytes_;
  Order order_;
  size_t origin_;
  size_t at_ = 0;
  bool ok_ = true;
};

// A message, after reassembly. `body` is what follows the 12 octets of the header.
struct RawMessage {
  int minor = 0;
  Order order = Order::kBig;
  uint8_t type = 0;
  std::string body;
  int pieces = 1;
};

std::string EncodeMessage(int minor, Order order, MessageType type, std::string_view body,
                          bool more_fragments = false);

// How a GIOP 1.2 request names its object.
enum Addressing : uint16_t { kKeyAddr = 0, kProfileAddr = 1, kReferenceAddr = 2 };

struct RawContext {
  uint32_t id;
  std::string data;
};

struct RawRequest {
  int minor = 2;
  Order order = Order::kBig;
  uint32_t id = 1;
  bool response_expected = true;
  std::string key;
  std::string operation;
  Addressing addressing = kKeyAddr;
  std::vector<RawContext> contexts;
  // Writes the arguments, aligned as the message demands.
  std::function<void(RawWriter*)> arguments = nullptr;
};

// One unfragmented Request message.
std::string Encode(const RawRequest& request);
// The same in pieces of at most `piece` octets, headers included, a multiple of 8 and >= 24.
// REQUIRES: GIOP 1.2.
std::vector<std::string> EncodeInPieces(const RawRequest& request, size_t piece);

struct RawReply {
  uint32_t id = 0;
  uint32_t status = 0;
  std::vector<RawContext> contexts;
  RawReader body{"", Order::kBig};
};
absl::StatusOr<RawReply> DecodeReply(const RawMessage& message);

// What a server reads from a request.
struct RawCall {
  uint32_t id = 0;
  bool response_expected = true;
  std::string key;
  std::string operation;
  std::vector<RawContext> contexts;
  RawReader arguments{"", Order::kBig};
};
// Understands KeyAddr only.
absl::StatusOr<RawCall> DecodeRequest(const RawMessage& message);
std::string EncodeReply(int minor, Order order, uint32_t id, uint32_t status,
                        const std::function<void(RawWriter*)>& body,
                        const std::vector<RawContext>& contexts = {});

// A connected socket.
class RawConnection {
 public:
  static absl::StatusOr<std::unique_ptr<RawConnection>> Tcp(int port);
  static absl::StatusOr<std::unique_ptr<RawConnection>> Unix(const std::string& path);
  explicit RawConnection(int fd) : fd_(fd) {}  // takes it
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  bool Send(std::string_view bytes);
  // The next whole message, its fragments joined. OUT_OF_RANGE at the end of the stream,
  // DEADLINE_EXCEEDED after `timeout_ms`.
  absl::StatusOr<RawMessage> Receive(int timeout_ms = 20000);
  // Sends it and reads the reply to it.
  absl::StatusOr<RawReply> Invoke(const RawRequest& request);
  // Exactly so many; errors as above.
  absl::StatusOr<std::string> ReceiveOctets(size_t size, int timeout_ms);
  // From any thread: ends a Receive that waits.
  void Shutdown();

 private:
  const int fd_;
};

// A server that answers messages one after the other, each connection in its thread.
class RawServer {
 public:
  // Given a message and its connection's number (from 0): what to send; empty for nothing.
  // An answer that ends with kHangUp closes the connection after it.
  using Handler = std::function<std::string(const RawMessage&, int connection)>;
  static constexpr std::string_view kHangUp = "!hang-up!";
  // What follows it in an answer is sent a moment later.
  static constexpr std::string_view kPause = "!pause!";

  explicit RawServer(Handler handler);
  ~RawServer();

  int port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void Accept();

  const Handler handler_;
  int fd_ = -1;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread acceptor_;
};

}  // namespace weir::testing

#endif  // WEIR_TESTS_INTEROP_RAW_GIOP_H_
