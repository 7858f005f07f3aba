// The three ways in which a GIOP 1.2 request may name its object.

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/giop/testing.h"

namespace weir::giop {
namespace {

// The body of an IIOP profile, an encapsulation in `order`.
std::string IiopProfile(std::string_view key, cdr::ByteOrder order = cdr::kNativeOrder,
                        uint8_t major = 1) {
  cdr::ByteBuffer buffer;
  cdr::Encoder e(&buffer, order);
  e.WriteOctet(static_cast<uint8_t>(order));
  e.WriteOctet(major);
  e.WriteOctet(2);
  e.WriteString("host.example");
  e.WriteUShort(2809);
  e.WriteOctetSequence(key);
  e.WriteULong(0);  // tagged components
  return std::string(buffer.view());
}

// A LocateRequest or Request around a TargetAddress that `write` writes.
template <typename Write>
std::string With(MessageType type, Write write, cdr::ByteOrder order = cdr::kNativeOrder) {
  Raw raw(GiopMinor::k2, type, order);
  raw->WriteULong(1);
  if (type == MessageType::kRequest) raw->WriteOctets("\x03\0\0\0"sv);
  write(raw);
  if (type == MessageType::kRequest) {
    raw->WriteString("op");
    raw->WriteULong(0);
  }
  return raw.Take();
}

TEST(Addressing, ProfileAddrYieldsTheKeyOfTheProfile) {
  for (const MessageType type : {MessageType::kRequest, MessageType::kLocateRequest}) {
    for (const cdr::ByteOrder outer : kBothOrders) {
      for (const cdr::ByteOrder inner : kBothOrders) {
        Peer server(orb::Role::kServer);
        const std::string message = With(
            type,
            [&](Raw& raw) {
              raw->WriteUShort(1);
              raw->WriteULong(0);
              raw->WriteOctetSequence(IiopProfile("the key", inner));
            },
            outer);
        const Kind kind = server.Feed(message);
        EXPECT_TRUE(kind == Kind::kRequest || kind == Kind::kLocateRequest) << server.in.error;
        EXPECT_EQ(server.in.request.object_key, "the key");
      }
    }
  }
}

std::string WithReference(uint32_t selected, uint32_t tag_of_second = 0) {
  return With(MessageType::kRequest, [=](Raw& raw) {
    raw->WriteUShort(2);
    raw->WriteULong(selected);
    raw->WriteString("IDL:weir/Echo:1.0");
    raw->WriteULong(2);
    raw->WriteULong(0);
    raw->WriteOctetSequence(IiopProfile("first"));
    raw->WriteULong(tag_of_second);
    raw->WriteOctetSequence(IiopProfile("second"));
  });
}

TEST(Addressing, ReferenceAddrYieldsTheKeyOfTheSelectedProfile) {
  Peer server(orb::Role::kServer);
  EXPECT_EQ(server.Feed(WithReference(0)), Kind::kRequest) << server.in.error;
  EXPECT_EQ(server.in.request.object_key, "first");
  EXPECT_EQ(server.Feed(WithReference(1)), Kind::kRequest) << server.in.error;
  EXPECT_EQ(server.in.request.object_key, "second");
  EXPECT_EQ(server.in.request.operation, "op");
}

TEST(Addressing, ReferenceAddrThatSelectsNoIiopProfileIsRejected) {
  Peer server(orb::Role::kServer);
  EXPECT_EQ(server.Feed(WithReference(2)), Kind::kReject);
  EXPECT_EQ(server.Feed(WithReference(0xffffffff)), Kind::kReject);
  EXPECT_EQ(server.Feed(WithReference(1, 1)), Kind::kReject);
  EXPECT_EQ(server.Feed(WithReference(0, 1)), Kind::kRequest);
}

TEST(Addressing, ReferenceAddrWithoutProfilesIsRejected) {
  Peer server(orb::Role::kServer);
  const std::string message = With(MessageType::kRequest, [](Raw& raw) {
    raw->WriteUShort(2);
    raw->WriteULong(0);
    raw->WriteString("");
    raw->WriteULong(0);
  });
  EXPECT_EQ(server.Feed(message), Kind::kReject);
}

TEST(Addressing, MalformedProfilesAreRejected) {
  const std::string whole = IiopProfile("key");
  const std::string keyless = whole.substr(0, whole.size() - 6);
  for (const std::string& profile :
       {std::string(), "\x02"s, keyless, IiopProfile("key", cdr::kNativeOrder, 2)}) {
    Peer server(orb::Role::kServer);
    const std::string message = With(MessageType::kRequest, [&](Raw& raw) {
      raw->WriteUShort(1);
      raw->WriteULong(0);
      raw->WriteOctetSequence(profile);
    });
    EXPECT_EQ(server.Feed(message), Kind::kReject) << profile.size();
    EXPECT_NE(server.in.error.find("object key"), std::string::npos) << server.in.error;
  }
}

TEST(Addressing, UnknownFormIsRejected) {
  Peer server(orb::Role::kServer);
  const std::string message = With(MessageType::kRequest, [](Raw& raw) {
    raw->WriteUShort(3);
    raw->WriteOctetSequence("key");
  });
  EXPECT_EQ(server.Feed(message), Kind::kReject);
}

TEST(Addressing, KeyAddrIsWhatIsSent) {
  Peer server(orb::Role::kServer);
  orb::Request request;
  request.object_key = "key";
  request.operation = "op";
  cdr::ByteBuffer out;
  ASSERT_TRUE(server.codec->EncodeRequest(1, request, &out).ok());
  EXPECT_EQ(out.view(), Request12(1).Take());
}

}  // namespace
}  // namespace weir::giop
