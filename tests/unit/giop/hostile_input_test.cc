// Input that broke other ORBs, octet by octet: each has one defined answer.

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/giop/testing.h"

namespace weir::giop {
namespace {

constexpr uint32_t kWeirMalformed = static_cast<uint32_t>(orb::WeirMinor::kMalformed);

// Feeds `bytes` to a fresh server and expects it to give the connection up.
void ExpectServerError(std::string_view bytes, int farewell_minor, std::string_view text) {
  Peer server(orb::Role::kServer);
  EXPECT_EQ(server.Feed(bytes), Kind::kError);
  EXPECT_EQ(server.farewell(), MessageErrorOf(farewell_minor));
  EXPECT_NE(server.in.error.find(text), std::string::npos) << server.in.error;
}

// Feeds `bytes` to a fresh server and expects a MARSHAL answer for request `id`.
void ExpectReject(std::string_view bytes, uint32_t id, std::string_view text) {
  Peer server(orb::Role::kServer);
  ASSERT_EQ(server.Feed(bytes), Kind::kReject) << server.in.error;
  EXPECT_EQ(server.consumed, bytes.size());
  EXPECT_EQ(server.in.id, id);
  EXPECT_TRUE(server.in.request.response_expected);
  EXPECT_EQ(server.in.exception.id, orb::ExceptionId::kMarshal);
  EXPECT_EQ(server.in.exception.minor, kWeirMalformed);
  EXPECT_EQ(server.in.exception.completed, orb::Completion::kNo);
  EXPECT_NE(server.in.error.find(text), std::string::npos) << server.in.error;
  // The stream is still in step.
  EXPECT_EQ(server.Feed(Request12(99).Take()), Kind::kRequest);
}

// The front of a 1.2 request, its flags included.
Raw Front12(uint32_t id, std::string_view flags = "\x03\0\0\0"sv) {
  Raw raw(GiopMinor::k2, MessageType::kRequest);
  raw->WriteULong(id);
  raw->WriteOctets(flags);
  return raw;
}

TEST(HostileInput, WrongMagicIsRefusedAtItsFirstOctet) {
  ExpectServerError("GET / HTTP/1.1\r\n", 0, "GIOP");
  ExpectServerError("\x16\x03\x01", 0, "GIOP");
  ExpectServerError("GIX", 0, "GIOP");
}

TEST(HostileInput, NothingAndPrefixesOfAHeaderWaitForMore) {
  const std::string message = Request12(1).Take();
  for (size_t n = 0; n < kHeaderSize; ++n) {
    Peer server(orb::Role::kServer);
    EXPECT_EQ(server.Feed(std::string_view(message).substr(0, n)), Kind::kNeedMore);
    EXPECT_EQ(server.in.need, kHeaderSize);
  }
}

TEST(HostileInput, UnknownVersionIsAnsweredWithOurHighest) {
  ExpectServerError("GIOP\x01\x03\x01\0\0\0\0\0"s, 2, "version");
  ExpectServerError("GIOP\x01\xff\x01\0\0\0\0\0"s, 2, "version");
  ExpectServerError("GIOP\x02\0\x01\0\0\0\0\0"s, 2, "version");
  ExpectServerError("GIOP\0\0\x01\0\0\0\0\0"s, 2, "version");
}

TEST(HostileInput, UnknownTypeOrFlagIsAnError) {
  ExpectServerError("GIOP\x01\x02\x01\x08\0\0\0\0"s, 2, "type");
  ExpectServerError("GIOP\x01\x02\x01\xff\0\0\0\0"s, 2, "type");
  ExpectServerError("GIOP\x01\0\x01\x07\0\0\0\0"s, 0, "type");
  ExpectServerError("GIOP\x01\x02\x04\0\0\0\0\0"s, 2, "flags");
  ExpectServerError("GIOP\x01\x01\x81\0\0\0\0\0"s, 1, "flags");
  ExpectServerError("GIOP\x01\0\x02\0\0\0\0\0"s, 0, "flags");
  // "More fragments" where there can be none.
  ExpectServerError("GIOP\x01\x01\x03\x03\0\0\0\0"s, 1, "fragmented");
  ExpectServerError("GIOP\x01\x02\x03\x02\0\0\0\0"s, 2, "fragmented");
  ExpectServerError("GIOP\x01\x02\x03\x05\0\0\0\0"s, 2, "fragmented");
}

TEST(HostileInput, SizesThatWrapIn32BitsAreOverTheLimit) {
  for (uint32_t low = 0xf4; low <= 0xff; ++low) {
    for (const char type : {'\0', '\x02', '\x03', '\x05', '\x07'}) {
      const std::string big = "GIOP\x01\x02\0"s + type + "\xff\xff\xff"s + static_cast<char>(low);
      ExpectServerError(big, 2, "over the limit");
      const std::string little =
          "GIOP\x01\x02\x01"s + type + static_cast<char>(low) + "\xff\xff\xff"s;
      ExpectServerError(little, 2, "over the limit");
    }
  }
}

TEST(HostileInput, SizeLimitHoldsTheHeaderToo) {
  Limits limits;
  limits.max_message_size = 100;
  Peer server(orb::Role::kServer, limits);
  EXPECT_EQ(server.Feed(Raw(GiopMinor::k2, MessageType::kRequest).TakeWithSize(88)),
            Kind::kNeedMore);
  EXPECT_EQ(server.in.need, 100u);
  EXPECT_EQ(server.Feed(Raw(GiopMinor::k2, MessageType::kRequest).TakeWithSize(89)), Kind::kError);
}

TEST(HostileInput, SizeZeroOnWhatNeedsABodyIsAnError) {
  ExpectServerError("GIOP\x01\x02\x01\0\0\0\0\0"s, 2, "request id");
  ExpectServerError("GIOP\x01\x02\x03\0\0\0\0\0"s, 2, "request id");
  ExpectServerError("GIOP\x01\x02\x01\x02\0\0\0\0"s, 2, "request id");
  ExpectServerError("GIOP\x01\x02\x01\x03\0\0\0\0"s, 2, "request id");
  ExpectServerError("GIOP\x01\x02\x01\x07\0\0\0\0"s, 2, "request id");
  ExpectServerError("GIOP\x01\0\x01\0\0\0\0\0"s, 0, "service contexts");
  Peer client(orb::Role::kClient);
  EXPECT_EQ(client.Feed("GIOP\x01\x02\x01\x01\0\0\0\0"s), Kind::kError);
  EXPECT_EQ(client.Feed("GIOP\x01\x02\x01\x04\0\0\0\0"s), Kind::kError);
}

TEST(HostileInput, ServerIsNotSentReplies) {
  ExpectServerError("GIOP\x01\x02\x01\x01\0\0\0\0"s, 2, "Reply sent to a server");
  ExpectServerError("GIOP\x01\0\x01\x04\0\0\0\0"s, 0, "LocateReply sent to a server");
}

TEST(HostileInput, ClientIsNotSentRequests) {
  for (const char type : {'\0', '\x02', '\x03'}) {
    Peer client(orb::Role::kClient);
    EXPECT_EQ(client.Feed("GIOP\x01\x02\x01"s + type + "\0\0\0\0"s), Kind::kError);
    EXPECT_NE(client.in.error.find("sent to a client"), std::string::npos);
    EXPECT_EQ(client.farewell(), MessageErrorOf(2));
  }
}

TEST(HostileInput, MessageErrorEndsTheConnectionWithoutAnAnswer) {
  for (const orb::Role role : {orb::Role::kServer, orb::Role::kClient}) {
    Peer peer(role);
    EXPECT_EQ(peer.Feed(MessageErrorOf(1)), Kind::kError);
    EXPECT_EQ(peer.farewell(), "");
    EXPECT_NE(peer.in.error.find("MessageError"), std::string::npos);
  }
}

TEST(HostileInput, OperationWithoutItsNulIsRejected) {
  Raw raw = Front12(1);
  raw->WriteUShort(0);
  raw->WriteOctetSequence("key");
  raw->WriteOctetSequence("ping");
  raw->WriteULong(0);
  ExpectReject(raw.Take(), 1, "operation: string without its terminating NUL");
}

TEST(HostileInput, OperationOfLengthZeroIsRejected) {
  Raw raw = Front12(2);
  raw->WriteUShort(0);
  raw->WriteOctetSequence("key");
  raw->WriteULong(0);
  raw->WriteULong(0);
  ExpectReject(raw.Take(), 2, "operation");
}

TEST(HostileInput, OperationWithANulInsideIsRejected) {
  Raw raw = Front12(2);
  raw->WriteUShort(0);
  raw->WriteOctetSequence("key");
  raw->WriteOctetSequence("pi\0ng\0"sv);
  raw->WriteULong(0);
  ExpectReject(raw.Take(), 2, "operation");
}

TEST(HostileInput, OperationOneOctetPastTheEndIsRejected) {
  Raw raw = Front12(3);
  raw->WriteUShort(0);
  raw->WriteOctetSequence("key");
  raw->WriteULong(6);
  raw->WriteOctets("ping\0"sv);
  ExpectReject(raw.Take(), 3, "operation: data ends");
}

TEST(HostileInput, ObjectKeyOfAllOnesLengthIsRejected) {
  Raw raw = Front12(4);
  raw->WriteUShort(0);
  raw->WriteULong(0xffffffff);
  raw->WriteOctets(std::string(64, 'x'));
  ExpectReject(raw.Take(), 4, "object key: data ends");
}

TEST(HostileInput, ServiceContextCountOfAllOnesIsRejectedIn12) {
  Raw raw = Front12(5);
  raw->WriteUShort(0);
  raw->WriteOctetSequence("key");
  raw->WriteString("op");
  raw->WriteULong(0xffffffff);
  raw->WriteOctets(std::string(64, '\0'));
  ExpectReject(raw.Take(), 5, "service contexts");
}

TEST(HostileInput, ServiceContextCountOfAllOnesIsAnErrorBefore12) {
  for (const GiopMinor minor : {GiopMinor::k0, GiopMinor::k1}) {
    Raw raw(minor, MessageType::kRequest);
    raw->WriteULong(0xffffffff);
    raw->WriteOctets(std::string(64, '\0'));
    ExpectServerError(raw.Take(), static_cast<int>(minor), "service contexts");
  }
}

TEST(HostileInput, OneServiceContextOverTheLimitIsRejected) {
  Limits limits;
  limits.max_service_contexts = 2;
  for (const uint32_t count : {2u, 3u}) {
    Raw raw = Front12(6);
    raw->WriteUShort(0);
    raw->WriteOctetSequence("key");
    raw->WriteString("op");
    raw->WriteULong(count);
    for (uint32_t i = 0; i < count; ++i) {
      raw->WriteULong(i);
      raw->WriteOctetSequence("");
    }
    Peer server(orb::Role::kServer, limits);
    EXPECT_EQ(server.Feed(raw.Take()), count == 2 ? Kind::kRequest : Kind::kReject);
  }
}

TEST(HostileInput, KeyAndOperationOverTheirLimitsAreRejected) {
  Limits limits;
  limits.max_key_size = 8;
  limits.max_operation_size = 4;
  Peer server(orb::Role::kServer, limits);
  EXPECT_EQ(server.Feed(Request12(1, "12345678", "ping").Take()), Kind::kRequest);
  EXPECT_EQ(server.Feed(Request12(1, "123456789", "ping").Take()), Kind::kReject);
  EXPECT_EQ(server.Feed(Request12(1, "12345678", "pings").Take()), Kind::kReject);
}

TEST(HostileInput, UnknownResponseFlagsAreRejected) {
  for (const char flags : {'\x02', '\x04', '\x83', '\xff'}) {
    Raw raw = Front12(7, flags + "\0\0\0"s);
    raw->WriteUShort(0);
    raw->WriteOctetSequence("key");
    raw->WriteString("op");
    raw->WriteULong(0);
    ExpectReject(raw.Take(), 7, "response flags");
  }
}

TEST(HostileInput, MalformedOnewayIsNotToBeAnswered) {
  Raw raw = Front12(8, "\0\0\0\0"sv);
  raw->WriteUShort(9);
  Peer server(orb::Role::kServer);
  EXPECT_EQ(server.Feed(raw.Take()), Kind::kReject);
  EXPECT_FALSE(server.in.request.response_expected);
}

TEST(HostileInput, ResponseExpectedThatIsNoBooleanIsRejectedBefore12) {
  Raw raw(GiopMinor::k0, MessageType::kRequest);
  raw->WriteULong(0);
  raw->WriteULong(9);
  raw->WriteOctet(2);
  raw->WriteOctetSequence("key");
  raw->WriteString("op");
  raw->WriteULong(0);
  ExpectReject(raw.Take(), 9, "response flag");
}

TEST(HostileInput, EveryTruncationOfARequestIsRefusedAndNoneCrashes) {
  for (const GiopMinor minor : kAllMinors) {
    Peer encoder(orb::Role::kClient);
    orb::Request request;
    request.minor = minor;
    request.object_key = "key";
    request.operation = "op";
    request.contexts = {{1, "one"}, {2, "two"}};
    cdr::ByteBuffer out;
    ASSERT_TRUE(encoder.codec->EncodeRequest(77, request, &out).ok());
    for (size_t n = kHeaderSize; n < out.size(); ++n) {
      // Cut, with a size that says so.
      std::string cut(out.view().substr(0, n));
      const auto size = static_cast<uint32_t>(n - kHeaderSize);
      std::memcpy(cut.data() + 8, &size, sizeof size);
      Peer server(orb::Role::kServer);
      const Kind kind = server.Feed(cut);
      EXPECT_TRUE(kind == Kind::kReject || kind == Kind::kError) << n;
      if (kind == Kind::kReject) {
        EXPECT_EQ(server.in.id, 77u);
      }
      EXPECT_FALSE(server.in.error.empty());
    }
  }
}

TEST(HostileInput, ReplyStatusOutOfRangeIsAnError) {
  for (const GiopMinor minor : kAllMinors) {
    Raw raw(minor, MessageType::kReply);
    if (minor != GiopMinor::k2) raw->WriteULong(0);
    raw->WriteULong(1);
    raw->WriteULong(minor == GiopMinor::k2 ? 6 : 4);
    if (minor == GiopMinor::k2) raw->WriteULong(0);
    Peer client(orb::Role::kClient);
    EXPECT_EQ(client.Feed(raw.Take()), Kind::kError);
    EXPECT_NE(client.in.error.find("reply status"), std::string::npos);
  }
}

TEST(HostileInput, LocateStatusOutOfRangeIsAnError) {
  for (const GiopMinor minor : kAllMinors) {
    Raw raw(minor, MessageType::kLocateReply);
    raw->WriteULong(1);
    raw->WriteULong(minor == GiopMinor::k2 ? 6 : 3);
    Peer client(orb::Role::kClient);
    EXPECT_EQ(client.Feed(raw.Take()), Kind::kError);
  }
}

TEST(HostileInput, PaddingCutShortIsRejected) {
  Raw raw = Request12(1, "key", "op");  // ends at position 44
  raw->WriteOctets("\0\0"sv);
  ExpectReject(raw.Take(), 1, "padding");
}

TEST(HostileInput, WhatTheLastMessageSaidDoesNotLingerAfterAnError) {
  Peer server(orb::Role::kServer);
  EXPECT_EQ(server.Feed("bad"), Kind::kError);
  EXPECT_EQ(server.Feed(Request12(1).Take()), Kind::kRequest);
  EXPECT_EQ(server.in.error, "");
  EXPECT_EQ(server.farewell(), "");
}

}  // namespace
}  // namespace weir::giop
