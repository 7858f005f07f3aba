// One GIOP connection's codec: takes messages out of received bytes, and says what is to be done
// about input that is no GIOP.
//
// Three answers to bad input:
//  - kReject: a Request that is malformed behind its request id. The caller is answered MARSHAL;
//    the stream is still in step, so the connection goes on.
//  - kError with MessageError as farewell: all else that is malformed, over a limit, or out of
//  turn.
//  - kError without farewell: the peer has sent MessageError itself.
//
// Thread safety: as orb::Codec.

#ifndef WEIR_ORB_GIOP_CODEC_H_
#define WEIR_ORB_GIOP_CODEC_H_

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "orb/core/codec.h"
#include "orb/giop/body.h"
#include "orb/giop/giop.h"
#include "orb/giop/reassembler.h"
#include "orb/giop/request.h"

namespace weir::giop {

class GiopCodec : public orb::Codec {
 public:
  GiopCodec(orb::Role role, std::shared_ptr<Giop::Shared> shared);

  size_t Decode(const cdr::BlockRef& block, std::string_view bytes, orb::Incoming* out) override;
  bool MidMessage() const override { return !reassembler_.empty(); }

  absl::Status EncodeRequest(uint32_t id, const orb::Request& request,
                             cdr::ByteBuffer* out) const override;
  absl::Status EncodeReply(uint32_t id, GiopMinor minor, const orb::Reply& reply,
                           cdr::ByteBuffer* out) const override;
  void EncodeLocateRequest(uint32_t id, GiopMinor minor, std::string_view object_key,
                           cdr::ByteBuffer* out) const override;
  void EncodeLocateReply(uint32_t id, GiopMinor minor, orb::LocateStatus status,
                         const orb::Body& body, cdr::ByteBuffer* out) const override;
  void EncodeCancel(uint32_t id, GiopMinor minor, cdr::ByteBuffer* out) const override;
  void EncodeClose(cdr::ByteBuffer* out) const override;

 private:
  const Limits& limits() const { return shared_->limits; }

  // What fast_path.h can decode; returns 0 for all else.
  size_t DecodeFast(const cdr::BlockRef& block, std::string_view bytes, orb::Incoming* out);
  // Whether a message of this type may come to us at all.
  bool Accepts(MessageType type) const;
  // A piece of a fragmented message. Returns true if it completes `*whole`; else `*out` is set.
  bool Gather(const Header& header, std::string_view piece, Message* whole, orb::Incoming* out);
  void DecodeWhole(const Message& message, orb::Incoming* out);
  void DecodeRequestMessage(const Message& message, orb::Incoming* out);
  // Sets kError. `minor` is the version of the farewell.
  static void Fail(GiopMinor minor, std::string error, orb::Incoming* out);
  static void FailMalformed(const Header& header, Malformed what, orb::Incoming* out);
  // After a message has been encoded from `start` on: enforces the limit and cuts it up.
  absl::Status FinishMessage(MessageType type, size_t start, GiopMinor minor, const orb::Body& body,
                             absl::Status encoded, cdr::ByteBuffer* out) const;

  const orb::Role role_;
  const std::shared_ptr<Giop::Shared> shared_;
  const size_t most_unfragmented_;
  Reassembler reassembler_;
  // Of the latest message received: the version that the peer is sure to understand.
  std::atomic<GiopMinor> peer_minor_;
};

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_CODEC_H_
