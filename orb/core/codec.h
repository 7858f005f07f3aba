// The interface between a connection, which knows sockets, and a messaging protocol, which knows
// messages. One Codec serves one connection, in both directions and for both roles.
//
// A protocol (GIOP; later lite and gRPC) implements Messaging, and `main` registers it with the
// Orb.
//
// Thread safety: Messaging is safe for concurrent use. Of a Codec, Decode has one caller at a time;
// the Encode functions are const, hold no state and may be called by any thread.

#ifndef WEIR_ORB_CORE_CODEC_H_
#define WEIR_ORB_CORE_CODEC_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "orb/cdr/block.h"
#include "orb/cdr/byte_buffer.h"
#include "orb/core/message.h"
#include "orb/core/system_exception.h"

namespace weir::orb {

// Which side of a connection this process is. A server is not sent replies, nor a client requests.
enum class Role : uint8_t { kServer, kClient };

struct Incoming {
  enum class Kind : uint8_t {
    kNeedMore,       // `need` says how many bytes a next attempt wants to see: what the peer
                     // announces, so no reason to allocate as much
    kRequest,        // id, request
    kReply,          // id, reply
    kLocateRequest,  // id, request.object_key, request.minor
    kLocateReply,    // id, locate_status, reply.body
    kCancel,         // id: the peer no longer wants that reply
    kClose,          // the peer closes in good order: nothing outstanding was executed
    kIgnored,        // consumed, nothing to do
    kReject,         // one message could not be decoded, yet is answerable: id, request.minor,
                     // request.response_expected, exception, error. The connection goes on
    kError,          // the connection is beyond use: send `farewell` if any, then close
  };

  Kind kind = Kind::kNeedMore;
  uint32_t id = 0;
  size_t need = 0;
  Request request;
  Reply reply;
  LocateStatus locate_status = LocateStatus::kUnknownObject;
  SystemException exception;
  std::string error;  // English, for logs: what was wrong with the input
  cdr::ByteBuffer farewell;
  // Bytes of the message on the wire, with all fragments; for counters and logs.
  size_t wire_size = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;

  // Looks at `bytes`, all that was received and is not yet consumed, inside `block`. Sets `*out`
  // and returns how many bytes it has consumed (0 for kNeedMore, except that pieces of a fragmented
  // message are consumed with kIgnored). At most one message is decoded a call. What a kRequest or
  // kReply holds points into `block` or a block of the codec's own, and its Body keeps that alive.
  virtual size_t Decode(const cdr::BlockRef& block, std::string_view bytes, Incoming* out) = 0;

  // True while a message has begun to arrive in fragments and is not complete.
  virtual bool MidMessage() const = 0;

  // Appends one whole message to `*out`, in fragments if it must be. Bodies are copied. Errors:
  // INVALID_ARGUMENT (as a MARSHAL status) if the body's alignment cannot be kept in this version,
  // or the message is over the limit; `*out` is then as before. `request.minor` is the version to
  // send.
  virtual absl::Status EncodeRequest(uint32_t id, const Request& request,
                                     cdr::ByteBuffer* out) const = 0;
  // `minor` is the version of the request that this answers.
  virtual absl::Status EncodeReply(uint32_t id, GiopMinor minor, const Reply& reply,
                                   cdr::ByteBuffer* out) const = 0;
  virtual void EncodeLocateRequest(uint32_t id, GiopMinor minor, std::string_view object_key,
                                   cdr::ByteBuffer* out) const = 0;
  // `body` is empty or as the status demands.
  virtual void EncodeLocateReply(uint32_t id, GiopMinor minor, LocateStatus status,
                                 const Body& body, cdr::ByteBuffer* out) const = 0;
  virtual void EncodeCancel(uint32_t id, GiopMinor minor, cdr::ByteBuffer* out) const = 0;
  virtual void EncodeClose(cdr::ByteBuffer* out) const = 0;
};

class Messaging {
 public:
  virtual ~Messaging() = default;
  // As written in an endpoint: "giop".
  virtual std::string_view name() const = 0;
  virtual std::unique_ptr<Codec> NewCodec(Role role) = 0;
};

}  // namespace weir::orb

#endif  // WEIR_ORB_CORE_CODEC_H_
