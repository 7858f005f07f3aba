// Fragments as the peer sends them: in order, interleaved, cancelled, and wrong.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/giop/testing.h"

namespace weir::giop {
namespace {

// A piece behind its header: `id` first in 1.2.
std::string Fragment12(uint32_t id, std::string_view data, bool more,
                       cdr::ByteOrder order = cdr::kNativeOrder) {
  Raw raw(GiopMinor::k2, MessageType::kFragment, order, more);
  raw->WriteULong(id);
  raw->WriteOctets(data);
  return raw.Take();
}

std::string Fragment11(std::string_view data, bool more) {
  Raw raw(GiopMinor::k1, MessageType::kFragment, cdr::kNativeOrder, more);
  raw->WriteOctets(data);
  return raw.Take();
}

// First piece of a 1.2 request: its header and 8 bytes of body, 8-aligned at its end.
std::string First12(uint32_t id, std::string_view body = "8 bytes.") {
  Raw raw = Request12(id, "key", "op", true);
  raw->Align(8);
  raw->WriteOctets(body);
  return raw.Take();
}

// A 1.1 request up to its body, which would stand at position 44, or 48 with a key of 7 octets.
Raw Request11(uint32_t id, bool more, std::string_view key = "key") {
  Raw raw(GiopMinor::k1, MessageType::kRequest, cdr::kNativeOrder, more);
  raw->WriteULong(0);
  raw->WriteULong(id);
  raw->WriteBoolean(true);
  raw->WriteOctets("\0\0\0"sv);
  raw->WriteOctetSequence(key);
  raw->WriteString("op");
  raw->WriteULong(0);
  return raw;
}

TEST(Fragments, InterleavedMessagesAreToldApartByRequestId) {
  Peer server(orb::Role::kServer);
  EXPECT_EQ(server.Feed(First12(1)), Kind::kIgnored);
  EXPECT_EQ(server.Feed(First12(2)), Kind::kIgnored);
  EXPECT_EQ(server.Feed(Fragment12(1, "one, two", true)), Kind::kIgnored);
  EXPECT_EQ(server.Feed(Request12(3).Take()), Kind::kRequest);
  EXPECT_EQ(server.Feed(Fragment12(2, "second", false)), Kind::kRequest);
  EXPECT_EQ(server.in.id, 2u);
  EXPECT_EQ(server.in.request.body.bytes, "8 bytes.second");
  EXPECT_TRUE(server.codec->MidMessage());
  EXPECT_EQ(server.Feed(Fragment12(1, "", false)), Kind::kRequest);
  EXPECT_EQ(server.in.id, 1u);
  EXPECT_EQ(server.in.request.body.bytes, "8 bytes.one, two");
  EXPECT_FALSE(server.codec->MidMessage());
}

TEST(Fragments, HeaderItselfMayBeCut) {
  const std::string whole = Request12(5, "a rather long object key", "operation").Take();
  // Each cut behind the request id that leaves the first piece 8-aligned.
  for (size_t cut = 16; cut < whole.size(); cut += 8) {
    Raw first(GiopMinor::k2, MessageType::kRequest, cdr::kNativeOrder, true);
    first->WriteOctets(std::string_view(whole).substr(12, cut - 12));
    Peer server(orb::Role::kServer);
    EXPECT_EQ(server.Feed(first.Take()), Kind::kIgnored) << server.in.error;
    ASSERT_EQ(server.Feed(Fragment12(5, std::string_view(whole).substr(cut), false)),
              Kind::kRequest)
        << server.in.error;
    EXPECT_EQ(server.in.request.object_key, "a rather long object key");
  }
}

TEST(Fragments, CancelRequestMidMessageDropsWhatHasArrived) {
  Peer server(orb::Role::kServer);
  server.Feed(First12(1));
  EXPECT_GT(server.giop.partial_bytes(), 0u);
  cdr::ByteBuffer cancel;
  server.codec->EncodeCancel(1, GiopMinor::k2, &cancel);
  EXPECT_EQ(server.Feed(cancel.view()), Kind::kCancel);
  EXPECT_EQ(server.in.id, 1u);
  EXPECT_FALSE(server.codec->MidMessage());
  EXPECT_EQ(server.giop.partial_bytes(), 0u);
  // A late piece of it is of no message that is known.
  EXPECT_EQ(server.Feed(Fragment12(1, "late", false)), Kind::kIgnored);
  EXPECT_EQ(server.Feed(Request12(1).Take()), Kind::kRequest);
}

TEST(Fragments, CancelRequestOfAnotherIdLeavesThePartialMessage) {
  Peer server(orb::Role::kServer);
  server.Feed(First12(1));
  cdr::ByteBuffer cancel;
  server.codec->EncodeCancel(2, GiopMinor::k2, &cancel);
  EXPECT_EQ(server.Feed(cancel.view()), Kind::kCancel);
  EXPECT_EQ(server.Feed(Fragment12(1, "x", false)), Kind::kRequest);
}

TEST(Fragments, FragmentAfterTheLastIsIgnoredIn12) {
  Peer server(orb::Role::kServer);
  server.Feed(First12(1));
  EXPECT_EQ(server.Feed(Fragment12(1, "x", false)), Kind::kRequest);
  EXPECT_EQ(server.Feed(Fragment12(1, "y", false)), Kind::kIgnored);
  EXPECT_EQ(server.Feed(Fragment12(1, "z", true)), Kind::kIgnored);
  EXPECT_FALSE(server.codec->MidMessage());
}

TEST(Fragments, FragmentOfNoMessageIsAnErrorIn11) {
  Peer server(orb::Role::kServer);
  EXPECT_EQ(server.Feed(Fragment11("x", false)), Kind::kError);
  EXPECT_EQ(server.farewell(), MessageErrorOf(1));
}

TEST(Fragments, MixedByteOrderIsAnError) {
  Peer server(orb::Role::kServer);
  server.Feed(First12(1));
  const auto other =
      cdr::kNativeOrder == cdr::ByteOrder::kBig ? cdr::ByteOrder::kLittle : cdr::ByteOrder::kBig;
  EXPECT_EQ(server.Feed(Fragment12(1, "x", false, other)), Kind::kError);
  EXPECT_NE(server.in.error.find("byte order"), std::string::npos);
  EXPECT_EQ(server.farewell(), MessageErrorOf(2));
}

TEST(Fragments, MixedVersionIsAnErrorBothWays) {
  Peer server(orb::Role::kServer);
  server.Feed(First12(1));
  EXPECT_EQ(server.Feed(Fragment11("x", false)), Kind::kError);
  Peer old(orb::Role::kServer);
  EXPECT_EQ(old.Feed(Request11(1, true).Take()), Kind::kIgnored);
  EXPECT_EQ(old.Feed(Fragment12(1, "x", false)), Kind::kError);
}

TEST(Fragments, RequestIdOfAPartialMessageIsNotUsedAgain) {
  Peer first(orb::Role::kServer);
  first.Feed(First12(1));
  EXPECT_EQ(first.Feed(First12(1)), Kind::kError);
  Peer whole(orb::Role::kServer);
  whole.Feed(First12(1));
  EXPECT_EQ(whole.Feed(Request12(1).Take()), Kind::kError);
  EXPECT_NE(whole.in.error.find("request id"), std::string::npos);
}

TEST(Fragments, LengthThatIsNoMultipleOf8IsAnErrorIfMoreDataFollows) {
  Peer server(orb::Role::kServer);
  server.Feed(First12(1, "odd"));
  EXPECT_EQ(server.Feed(Fragment12(1, "x", false)), Kind::kError);
  Peer lenient(orb::Role::kServer);
  lenient.Feed(First12(1, "odd"));
  EXPECT_EQ(lenient.Feed(Fragment12(1, "", false)), Kind::kRequest);
  EXPECT_EQ(lenient.in.request.body.bytes, "odd");
}

TEST(Fragments, FragmentWithoutRequestIdIsAnError) {
  for (const uint32_t size : {0u, 1u, 3u}) {
    Peer server(orb::Role::kServer);
    Raw raw(GiopMinor::k2, MessageType::kFragment);
    raw->WriteOctets(std::string(size, '\0'));
    EXPECT_EQ(server.Feed(raw.Take()), Kind::kError);
  }
}

TEST(Fragments, GIOP11DoesNotInterleave) {
  Peer server(orb::Role::kServer);
  EXPECT_EQ(server.Feed(Request11(1, true).Take()), Kind::kIgnored);
  EXPECT_EQ(server.Feed(Request11(2, false).Take()), Kind::kError);
}

TEST(Fragments, CancelRequestDropsThe11MessageOfThatId) {
  Peer server(orb::Role::kServer);
  server.Feed(Request11(1, true).Take());
  cdr::ByteBuffer cancel;
  server.codec->EncodeCancel(1, GiopMinor::k1, &cancel);
  EXPECT_EQ(server.Feed(cancel.view()), Kind::kCancel);
  EXPECT_FALSE(server.codec->MidMessage());
  EXPECT_EQ(server.Feed(Request11(2, false).Take()), Kind::kRequest);
}

TEST(Fragments, AlignmentStartsAnewInEach11Fragment) {
  // Data of a fragment stands at position 12: an octet, then a double at 16.
  Raw second(GiopMinor::k1, MessageType::kFragment, cdr::kNativeOrder, true);
  second->WriteOctet(2);
  second->WriteDouble(2.5);
  second->WriteOctet(3);
  Raw third(GiopMinor::k1, MessageType::kFragment);
  third->WriteDouble(3.5);
  Raw first = Request11(1, true);
  first->WriteOctet(1);
  first->WriteDouble(1.5);
  Peer server(orb::Role::kServer);
  EXPECT_EQ(server.Feed(first.Take()), Kind::kIgnored);
  EXPECT_EQ(server.Feed(second.Take()), Kind::kIgnored);
  ASSERT_EQ(server.Feed(third.Take()), Kind::kRequest) << server.in.error;
  EXPECT_EQ(server.in.request.body.restarts.count, 2u);
  cdr::Decoder in = server.in.request.body.decoder();
  EXPECT_EQ(in.ReadOctet(), 1);
  EXPECT_EQ(in.ReadDouble(), 1.5);
  EXPECT_EQ(in.ReadOctet(), 2);
  EXPECT_EQ(in.ReadDouble(), 2.5);
  EXPECT_EQ(in.ReadOctet(), 3);
  EXPECT_EQ(in.ReadDouble(), 3.5);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(Fragments, BodyThatBeginsWithA11FragmentStandsAtItsPosition) {
  Raw second(GiopMinor::k1, MessageType::kFragment);
  second->WriteDouble(2.5);
  Peer server(orb::Role::kServer);
  server.Feed(Request11(1, true, "7octets").Take());
  ASSERT_EQ(server.Feed(second.Take()), Kind::kRequest);
  const orb::Body& body = server.in.request.body;
  EXPECT_EQ(body.alignment, 4);
  EXPECT_EQ(body.restarts.count, 0u);
  EXPECT_EQ(body.decoder().ReadDouble(), 2.5);
}

TEST(Fragments, Empty11FragmentLeavesAnOrdinaryBody) {
  Raw first = Request11(1, true);
  first->WriteOctetSequence(std::string(100000, 'x'));
  Peer server(orb::Role::kServer);
  server.Feed(first.Take());
  ASSERT_EQ(server.Feed(Fragment11("", false)), Kind::kRequest);
  EXPECT_EQ(server.in.request.body.restarts.count, 0u);
  EXPECT_EQ(server.in.request.body.decoder().ReadOctetSequence().size(), 100000u);
}

TEST(Fragments, HeaderIn11MayBeCutAnywhereBetweenItsPrimitives) {
  Raw first(GiopMinor::k1, MessageType::kRequest, cdr::kNativeOrder, true);
  first->WriteULong(0);
  first->WriteULong(7);
  first->WriteBoolean(true);
  first->WriteOctets("\0\0\0"sv);
  first->WriteULong(9);
  first->WriteOctets("obj");
  Raw second(GiopMinor::k1, MessageType::kFragment);
  second->WriteOctets("ectkey");  // ends at position 18
  second->WriteString("op");      // at 20
  second->WriteULong(0);
  second->WriteULong(42);
  Peer server(orb::Role::kServer);
  server.Feed(first.Take());
  ASSERT_EQ(server.Feed(second.Take()), Kind::kRequest) << server.in.error;
  EXPECT_EQ(server.in.request.object_key, "objectkey");
  EXPECT_EQ(server.in.request.operation, "op");
  EXPECT_EQ(server.in.request.body.decoder().ReadULong(), 42u);
}

TEST(Fragments, MoreThanTheLimitAreAnError) {
  Limits limits;
  limits.max_fragments = 3;
  Peer server(orb::Role::kServer, limits);
  server.Feed(First12(1));
  EXPECT_EQ(server.Feed(Fragment12(1, "", true)), Kind::kIgnored);
  EXPECT_EQ(server.Feed(Fragment12(1, "", true)), Kind::kIgnored);
  EXPECT_EQ(server.Feed(Fragment12(1, "", true)), Kind::kError);
}

TEST(Fragments, SumOverTheSizeLimitIsAnError) {
  Limits limits;
  limits.max_message_size = 1024;
  Peer server(orb::Role::kServer, limits);
  server.Feed(First12(1));
  EXPECT_EQ(server.Feed(Fragment12(1, std::string(512, 'x'), true)), Kind::kIgnored);
  EXPECT_EQ(server.Feed(Fragment12(1, std::string(512, 'x'), true)), Kind::kError);
  EXPECT_EQ(server.farewell(), MessageErrorOf(2));
}

TEST(Fragments, FirstPiecesWithoutASecondAreBounded) {
  Limits limits;
  limits.max_partial_messages = 4;
  Peer server(orb::Role::kServer, limits);
  for (uint32_t id = 0; id < 4; ++id) EXPECT_EQ(server.Feed(First12(id)), Kind::kIgnored);
  EXPECT_EQ(server.Feed(First12(4)), Kind::kError);
}

TEST(Fragments, AllConnectionsTogetherStayWithinTheBudget) {
  Limits limits;
  limits.max_partial_bytes = 3 * cdr::Block::kStandardSize;
  Giop giop(limits);
  std::vector<std::unique_ptr<orb::Codec>> codecs;
  orb::Incoming in;
  const std::string first = First12(1);
  for (int i = 0; i < 3; ++i) {
    codecs.push_back(giop.NewCodec(orb::Role::kServer));
    codecs.back()->Decode(BlockOf(first), first, &in);
    EXPECT_EQ(in.kind, Kind::kIgnored);
  }
  codecs.push_back(giop.NewCodec(orb::Role::kServer));
  codecs.back()->Decode(BlockOf(first), first, &in);
  EXPECT_EQ(in.kind, Kind::kError);
  // What a connection held is free again when it goes.
  codecs.clear();
  EXPECT_EQ(giop.partial_bytes(), 0u);
}

TEST(Fragments, AMessageIsSentInNoMoreThanAPeerWithTheSameLimitsTakes) {
  Limits limits;
  limits.max_fragments = 20;
  limits.fragment_size = 64;
  for (const size_t size : {size_t{100}, size_t{1000}, size_t{5000}, size_t{100'000}}) {
    Giop giop(limits);
    orb::Request request;
    const std::string body(size, 'x');
    request.object_key = "key";
    request.operation = "op";
    request.body.bytes = body;
    cdr::ByteBuffer out;
    ASSERT_TRUE(giop.NewCodec(orb::Role::kClient)->EncodeRequest(1, request, &out).ok());
    Peer server(orb::Role::kServer, limits);
    const std::string_view bytes = out.view();
    Kind kind = Kind::kIgnored;
    int pieces = 0;
    for (size_t at = 0; at < bytes.size(); ++pieces) {
      uint32_t length = 0;
      memcpy(&length, bytes.data() + at + 8, sizeof length);
      kind = server.Feed(bytes.substr(at, 12 + length));
      at += 12 + length;
    }
    EXPECT_EQ(kind, Kind::kRequest) << size;
    EXPECT_GT(pieces, 1) << size;
    EXPECT_EQ(server.in.request.body.bytes, body);
  }
}

TEST(Fragments, MemoryGrowsWithWhatArrivesNotWithWhatIsAnnounced) {
  Peer server(orb::Role::kServer);
  Raw raw = Request12(1, "key", "op", true);
  raw->Align(8);
  raw->WriteULong(0x7fffffff);  // elements to come, says the body
  raw->WriteULong(0);
  server.Feed(raw.Take());
  EXPECT_LE(server.giop.partial_bytes(), cdr::Block::kStandardSize);
  // Nor does a fragment count before it is all there.
  const std::string fragment = Fragment12(1, std::string(1 << 20, 'x'), true);
  EXPECT_EQ(server.Feed(std::string_view(fragment).substr(0, 1000)), Kind::kNeedMore);
  EXPECT_LE(server.giop.partial_bytes(), cdr::Block::kStandardSize);
}

}  // namespace
}  // namespace weir::giop
