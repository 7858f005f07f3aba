// Requests and replies as the dispatcher, the invoker and filters see them: free of any messaging
// protocol, with headers decoded and bodies left as the peer encoded them.
//
// All views point into the body's block or into memory that the holder of the message keeps.
//
// Thread safety: none; one owner at a time.

#ifndef WEIR_ORB_CORE_MESSAGE_H_
#define WEIR_ORB_CORE_MESSAGE_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "orb/cdr/block.h"
#include "orb/cdr/byte_order.h"
#include "orb/cdr/decoder.h"

namespace weir::orb {

// GIOP version 1.`minor`; also how a client says which version it wants to send.
enum class GiopMinor : uint8_t { k0 = 0, k1 = 1, k2 = 2 };

// CORBA 3.3 part 2, 9.7. `data` is the octets as sent, usually an encapsulation.
struct ServiceContext {
  uint32_t id = 0;
  std::string_view data;
};

// Encoded arguments, results or exception members.
struct Body {
  std::string_view bytes;
  cdr::ByteOrder order = cdr::kNativeOrder;
  // Alignment position of the first byte, modulo 8. Whoever sends these bytes on must put them at a
  // position with the same remainder. 0 in every GIOP 1.2 message.
  uint8_t alignment = 0;
  // Only in a body that came in several GIOP 1.1 fragments, where alignment starts anew with each:
  // offsets into `bytes`, in memory of `block`. Such a body can be sent on only in GIOP 1.1.
  cdr::Restarts restarts;
  // Keeps `bytes` alive; empty if somebody else does.
  cdr::BlockRef block;

  void Clear() {
    bytes = {};
    order = cdr::kNativeOrder;
    alignment = 0;
    restarts = {};
    block.reset();
  }
  // Takes the other body's content; that one keeps only what may be stale.
  // REQUIRES: this one holds no block.
  void TakeFrom(Body* other) {
    bytes = other->bytes;
    order = other->order;
    alignment = other->alignment;
    restarts = other->restarts;
    block = std::move(other->block);
  }

  // Reads `bytes`, with all of the above heeded.
  cdr::Decoder decoder() const { return cdr::Decoder(bytes, order, alignment, restarts); }
};

struct Request {
  std::string_view object_key;
  std::string_view operation;
  std::vector<ServiceContext> contexts;
  Body body;
  // requesting_principal of GIOP 1.0 and 1.1; empty otherwise.
  std::string_view principal;
  // False for a oneway: nothing is ever sent back.
  bool response_expected = true;
  // The version it came in, or is to be sent in at most.
  GiopMinor minor = GiopMinor::k2;
  // Monotonic time after which nobody waits for the reply.
  Nanos deadline = kNoDeadline;

  // Forgets everything but keeps the vector's memory.
  void Clear() {
    object_key = operation = principal = {};
    contexts.clear();
    body.Clear();
    response_expected = true;
    minor = GiopMinor::k2;
    deadline = kNoDeadline;
  }
  // Becomes what the other one is, which is then to be cleared. Vectors change places, so that none
  // is allocated anew. REQUIRES: this one is clear.
  void TakeFrom(Request* other) {
    object_key = other->object_key;
    operation = other->operation;
    contexts.swap(other->contexts);
    body.TakeFrom(&other->body);
    principal = other->principal;
    response_expected = other->response_expected;
    minor = other->minor;
    deadline = other->deadline;
  }
};

// GIOP ReplyStatusType (CORBA 3.3 part 2, 9.4.3.2).
enum class ReplyStatus : uint8_t {
  kNoException = 0,
  kUserException = 1,
  kSystemException = 2,
  kLocationForward = 3,
  kLocationForwardPerm = 4,
  kNeedsAddressingMode = 5,
};

struct Reply {
  ReplyStatus status = ReplyStatus::kNoException;
  std::vector<ServiceContext> contexts;
  // By status: result, inout and out arguments; repository id and members; repository id, minor
  // code and completion status; an IOR; a short.
  Body body;

  void Clear() {
    status = ReplyStatus::kNoException;
    contexts.clear();
    body.Clear();
  }
  // As Request::TakeFrom.
  void TakeFrom(Reply* other) {
    status = other->status;
    contexts.swap(other->contexts);
    body.TakeFrom(&other->body);
  }
};

// GIOP LocateStatusType (CORBA 3.3 part 2, 9.4.6.1).
enum class LocateStatus : uint8_t {
  kUnknownObject = 0,
  kObjectHere = 1,
  kObjectForward = 2,
  kObjectForwardPerm = 3,
  kSystemException = 4,
  kNeedsAddressingMode = 5,
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_MESSAGE_H_
