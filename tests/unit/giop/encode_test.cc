// What is sent, and what cannot be.

#include <gtest/gtest.h>

#include <string>

#include "orb/giop/service_context.h"
#include "tests/unit/giop/testing.h"

namespace weir::giop {
namespace {

constexpr uint32_t kAlignment = static_cast<uint32_t>(orb::WeirMinor::kAlignment);

orb::Reply ReplyWith(std::string_view body, uint8_t alignment = 0) {
  orb::Reply reply;
  reply.body.bytes = body;
  reply.body.alignment = alignment;
  return reply;
}

TEST(Encode, MessagesWithoutABodyEndUnpadded) {
  Peer peer(orb::Role::kClient);
  cdr::ByteBuffer out;
  ASSERT_TRUE(peer.codec->EncodeReply(1, GiopMinor::k2, orb::Reply(), &out).ok());
  EXPECT_EQ(out.size(), 24u);
  out.Clear();
  orb::Request request;
  request.object_key = "key";
  request.operation = "op";
  request.body.alignment = 4;  // of nothing
  ASSERT_TRUE(peer.codec->EncodeRequest(1, request, &out).ok());
  EXPECT_EQ(out.size(), 44u);
}

TEST(Encode, UnalignedBodyCannotBeSentIn12) {
  Peer peer(orb::Role::kClient);
  cdr::ByteBuffer out;
  out.Append("before");
  orb::Request request;
  request.body.bytes = "body";
  request.body.alignment = 4;
  const orb::SystemException e = orb::FromStatus(peer.codec->EncodeRequest(1, request, &out));
  EXPECT_EQ(e.id, orb::ExceptionId::kMarshal);
  EXPECT_EQ(e.minor, kAlignment);
  EXPECT_EQ(e.completed, orb::Completion::kNo);
  const orb::SystemException r =
      orb::FromStatus(peer.codec->EncodeReply(1, GiopMinor::k2, ReplyWith("body", 4), &out));
  EXPECT_EQ(r.minor, kAlignment);
  EXPECT_EQ(r.completed, orb::Completion::kYes);
  EXPECT_EQ(out.view(), "before");
}

TEST(Encode, ReplyBodyThatNoContextCanMoveIsRefused) {
  Peer peer(orb::Role::kServer);
  cdr::ByteBuffer out;
  for (const uint8_t alignment : {1, 2, 3, 5, 6, 7}) {
    EXPECT_EQ(orb::FromStatus(
                  peer.codec->EncodeReply(1, GiopMinor::k0, ReplyWith("body", alignment), &out))
                  .minor,
              kAlignment);
    EXPECT_TRUE(out.empty());
  }
}

TEST(Encode, SystemExceptionMovesBy4IntoA12Reply) {
  Peer client(orb::Role::kClient);
  for (const auto status :
       {orb::ReplyStatus::kSystemException, orb::ReplyStatus::kLocationForward}) {
    orb::Reply reply = ReplyWith("body", 4);
    reply.status = status;
    cdr::ByteBuffer out;
    ASSERT_TRUE(client.codec->EncodeReply(1, GiopMinor::k2, reply, &out).ok());
    ASSERT_EQ(client.Feed(out.view()), Kind::kReply);
    EXPECT_EQ(client.in.reply.body.bytes, "body");
    reply.body.alignment = 2;
    EXPECT_FALSE(client.codec->EncodeReply(1, GiopMinor::k2, reply, &out).ok());
  }
}

TEST(Encode, PaddingContextIsAddedOnlyWhenNeeded) {
  Peer client(orb::Role::kClient);
  cdr::ByteBuffer out;
  ASSERT_TRUE(client.codec->EncodeReply(1, GiopMinor::k1, ReplyWith("body", 0), &out).ok());
  ASSERT_EQ(client.Feed(out.view()), Kind::kReply);
  EXPECT_TRUE(client.in.reply.contexts.empty());
  out.Clear();
  ASSERT_TRUE(client.codec->EncodeReply(1, GiopMinor::k1, ReplyWith("body", 4), &out).ok());
  ASSERT_EQ(client.Feed(out.view()), Kind::kReply);
  ASSERT_EQ(client.in.reply.contexts.size(), 1u);
  EXPECT_EQ(client.in.reply.contexts[0].id, kPaddingContextId);
  EXPECT_EQ(client.in.reply.body.alignment, 4);
}

TEST(Encode, MessageOverTheLimitIsNotSent) {
  Limits limits;
  limits.max_message_size = 64;
  Peer peer(orb::Role::kClient, limits);
  cdr::ByteBuffer out;
  EXPECT_TRUE(
      peer.codec->EncodeReply(1, GiopMinor::k2, ReplyWith(std::string(40, 'x')), &out).ok());
  const size_t before = out.size();
  const absl::Status status =
      peer.codec->EncodeReply(1, GiopMinor::k2, ReplyWith(std::string(41, 'x')), &out);
  EXPECT_EQ(orb::FromStatus(status).minor, static_cast<uint32_t>(orb::WeirMinor::kMessageTooBig));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(out.size(), before);
}

TEST(Encode, StatusThatAVersionLacksIsReplacedByTheNearest) {
  Peer client(orb::Role::kClient);
  orb::Reply reply = ReplyWith("reference");
  reply.status = orb::ReplyStatus::kLocationForwardPerm;
  cdr::ByteBuffer out;
  ASSERT_TRUE(client.codec->EncodeReply(1, GiopMinor::k1, reply, &out).ok());
  ASSERT_EQ(client.Feed(out.view()), Kind::kReply);
  EXPECT_EQ(client.in.reply.status, orb::ReplyStatus::kLocationForward);
  reply.status = orb::ReplyStatus::kNeedsAddressingMode;
  EXPECT_FALSE(client.codec->EncodeReply(1, GiopMinor::k1, reply, &out).ok());

  orb::Body body;
  body.bytes = "reference";
  out.Clear();
  client.codec->EncodeLocateReply(1, GiopMinor::k0, orb::LocateStatus::kObjectForwardPerm, body,
                                  &out);
  ASSERT_EQ(client.Feed(out.view()), Kind::kLocateReply);
  EXPECT_EQ(client.in.locate_status, orb::LocateStatus::kObjectForward);
  EXPECT_EQ(client.in.reply.body.bytes, "reference");
  out.Clear();
  client.codec->EncodeLocateReply(1, GiopMinor::k0, orb::LocateStatus::kSystemException, body,
                                  &out);
  ASSERT_EQ(client.Feed(out.view()), Kind::kLocateReply);
  EXPECT_EQ(client.in.locate_status, orb::LocateStatus::kUnknownObject);
  EXPECT_TRUE(client.in.reply.body.bytes.empty());
}

TEST(Encode, PiecesAreMultiplesOf8AndWithinTheirSize) {
  Limits limits;
  limits.fragment_size = 100;
  Peer peer(orb::Role::kClient, limits);
  cdr::ByteBuffer out;
  ASSERT_TRUE(
      peer.codec->EncodeReply(1, GiopMinor::k2, ReplyWith(std::string(1000, 'x')), &out).ok());
  std::string_view rest = out.view();
  Header header;
  do {
    ASSERT_EQ(DecodeHeader(rest, &header), HeaderError::kNone);
    EXPECT_LE(header.total(), 100u);
    if (header.more) {
      EXPECT_EQ(header.total() % 8, 0u);
    }
    rest.remove_prefix(header.total());
  } while (header.more);
  EXPECT_TRUE(rest.empty());
}

TEST(Encode, MessagesAreAppendedToWhatIsThere) {
  Peer client(orb::Role::kClient);
  cdr::ByteBuffer out;
  out.Append("odd");
  ASSERT_TRUE(client.codec->EncodeReply(1, GiopMinor::k2, ReplyWith("body"), &out).ok());
  ASSERT_TRUE(client.codec->EncodeReply(2, GiopMinor::k2, ReplyWith("body"), &out).ok());
  const std::string_view wire = out.view().substr(3);
  ASSERT_EQ(client.Feed(wire), Kind::kReply);
  EXPECT_EQ(client.in.id, 1u);
  ASSERT_EQ(client.Feed(wire.substr(client.consumed)), Kind::kReply);
  EXPECT_EQ(client.in.id, 2u);
  EXPECT_EQ(client.in.reply.body.bytes, "body");
}

}  // namespace
}  // namespace weir::giop
