// What is encoded decodes to the same, in every version, byte order and alignment; and however the
// bytes arrive.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "orb/giop/fast_path.h"
#include "orb/giop/giop.h"
#include "orb/giop/header.h"
#include "orb/giop/reply.h"
#include "orb/giop/request.h"
#include "orb/giop/service_context.h"
#include "tests/unit/giop/testing.h"

namespace weir::giop {
namespace {

struct Content {
  uint32_t id;
  GiopMinor minor;
  cdr::ByteOrder order;
  std::string key, operation, principal, body;
  std::vector<std::pair<uint32_t, std::string>> contexts;
  uint8_t alignment;
  bool response_expected;
  orb::ReplyStatus status;
};

Content AnyContent() {
  Content c;
  c.id = *rc::gen::arbitrary<uint32_t>();
  c.minor = *rc::gen::elementOf(std::vector<GiopMinor>(kAllMinors, kAllMinors + 3));
  c.order = *rc::gen::elementOf(std::vector<cdr::ByteOrder>(kBothOrders, kBothOrders + 2));
  c.key = *rc::gen::arbitrary<std::string>();
  c.operation = *rc::gen::string<std::string>();
  std::erase(c.operation, '\0');
  c.body = *rc::gen::arbitrary<std::string>();
  c.contexts =
      *rc::gen::resize(10, rc::gen::arbitrary<std::vector<std::pair<uint32_t, std::string>>>());
  c.alignment = c.minor == GiopMinor::k2 ? 0 : *rc::gen::inRange<uint8_t>(0, 8);
  c.principal = c.minor == GiopMinor::k2 ? "" : *rc::gen::arbitrary<std::string>();
  c.response_expected = *rc::gen::arbitrary<bool>();
  c.status =
      static_cast<orb::ReplyStatus>(*rc::gen::inRange<int>(0, c.minor == GiopMinor::k2 ? 6 : 4));
  return c;
}

void SetContexts(const Content& c, std::vector<orb::ServiceContext>* out) {
  for (const auto& [id, data] : c.contexts) out->push_back({id, data});
}

std::string EncodedRequest(const orb::Codec& codec, const Content& c) {
  orb::Request request;
  request.object_key = c.key;
  request.operation = c.operation;
  request.principal = c.principal;
  request.minor = c.minor;
  request.response_expected = c.response_expected;
  SetContexts(c, &request.contexts);
  request.body.bytes = c.body;
  request.body.order = c.order;
  request.body.alignment = c.alignment;
  cdr::ByteBuffer out;
  const absl::Status status = codec.EncodeRequest(c.id, request, &out);
  RC_ASSERT(status.ok());
  return std::string(out.view());
}

void CheckBody(const Content& c, const orb::Body& body) {
  RC_ASSERT(body.bytes == c.body);
  RC_ASSERT(body.order == c.order);
  if (!c.body.empty()) RC_ASSERT(body.alignment == c.alignment);
}

void CheckContexts(const Content& c, const std::vector<orb::ServiceContext>& contexts) {
  RC_ASSERT(contexts.size() >= c.contexts.size());
  for (size_t i = 0; i < c.contexts.size(); ++i) {
    RC_ASSERT(contexts[i].id == c.contexts[i].first);
    RC_ASSERT(contexts[i].data == c.contexts[i].second);
  }
}

void CheckRequest(const Content& c, const orb::Incoming& in) {
  RC_ASSERT(in.kind == Kind::kRequest);
  RC_ASSERT(in.id == c.id);
  RC_ASSERT(in.request.object_key == c.key);
  RC_ASSERT(in.request.operation == c.operation);
  RC_ASSERT(in.request.minor == c.minor);
  RC_ASSERT(in.request.response_expected == c.response_expected);
  RC_ASSERT(in.request.contexts.size() == c.contexts.size());
  CheckContexts(c, in.request.contexts);
  CheckBody(c, in.request.body);
  // Only zeroes may have been added, and no more than alignment needs.
  RC_ASSERT(in.request.principal.starts_with(c.principal));
  const std::string_view pad = in.request.principal.substr(c.principal.size());
  RC_ASSERT(pad.size() < 8u);
  RC_ASSERT(std::all_of(pad.begin(), pad.end(), [](char x) { return x == 0; }));
}

TEST(RoundTrip, RequestsOfEveryVersionOrderAndAlignmentSurvive) {
  EXPECT_TRUE(rc::check([] {
    const Content c = AnyContent();
    Peer server(orb::Role::kServer);
    const std::string message = EncodedRequest(*server.codec, c);
    server.Feed(message + "GIOP");
    RC_ASSERT(server.consumed == message.size());
    RC_ASSERT(server.in.wire_size == message.size());
    CheckRequest(c, server.in);
  }));
}

TEST(RoundTrip, RepliesOfEveryVersionOrderAndAlignmentSurvive) {
  EXPECT_TRUE(rc::check([] {
    Content c = AnyContent();
    c.alignment &= 4;  // what a real reply's body can have
    Peer client(orb::Role::kClient);
    orb::Reply reply;
    reply.status = c.status;
    SetContexts(c, &reply.contexts);
    reply.body.bytes = c.body;
    reply.body.order = c.order;
    reply.body.alignment = c.alignment;
    cdr::ByteBuffer out;
    RC_ASSERT(client.codec->EncodeReply(c.id, c.minor, reply, &out).ok());
    RC_ASSERT(client.Feed(out.view()) == Kind::kReply);
    RC_ASSERT(client.in.id == c.id);
    RC_ASSERT(client.in.reply.status == c.status);
    CheckContexts(c, client.in.reply.contexts);
    const size_t extra = client.in.reply.contexts.size() - c.contexts.size();
    RC_ASSERT(extra <= (c.minor == GiopMinor::k2 || c.body.empty() ? 0u : 1u));
    if (extra == 1) RC_ASSERT(client.in.reply.contexts.back().id == kPaddingContextId);
    // What holds no 8-byte primitive may move by 4.
    if (c.status > orb::ReplyStatus::kUserException && !c.body.empty()) {
      RC_ASSERT(client.in.reply.body.alignment % 4 == c.alignment % 4);
      c.alignment = client.in.reply.body.alignment;
    }
    CheckBody(c, client.in.reply.body);
  }));
}

TEST(RoundTrip, FragmentedRequestsAreReassembledWhereverTheyAreCut) {
  EXPECT_TRUE(rc::check([] {
    Content c = AnyContent();
    c.minor = GiopMinor::k2;
    c.alignment = 0;
    c.principal.clear();
    c.body.append(200, 'x');
    Limits limits;
    limits.fragment_size = *rc::gen::inRange<size_t>(1, 256);
    Peer server(orb::Role::kServer, limits);
    const std::string wire = EncodedRequest(*server.codec, c);
    std::string_view rest = wire;
    int pieces = 0;
    do {
      RC_ASSERT(server.Feed(rest) == Kind::kRequest || server.in.kind == Kind::kIgnored);
      rest.remove_prefix(server.consumed);
      RC_ASSERT(server.codec->MidMessage() == !rest.empty());
      ++pieces;
    } while (!rest.empty());
    RC_ASSERT(pieces > 1);
    CheckRequest(c, server.in);
    RC_ASSERT(server.in.wire_size == wire.size());
    RC_ASSERT(server.giop.partial_bytes() == 0u);
  }));
}

TEST(RoundTrip, SplittingTheInputAtEveryByteChangesNothing) {
  EXPECT_TRUE(rc::check([] {
    const Content c = AnyContent();
    Limits limits;
    limits.fragment_size = *rc::gen::elementOf(std::vector<size_t>{0, 64});
    Peer server(orb::Role::kServer, limits);
    const std::string wire = EncodedRequest(*server.codec, c);
    // Bytes come one at a time, as from the slowest peer.
    size_t begin = 0;
    for (size_t end = 0; end <= wire.size(); ++end) {
      const std::string_view seen = std::string_view(wire).substr(begin, end - begin);
      const Kind kind = server.Feed(seen);
      if (kind == Kind::kNeedMore) {
        RC_ASSERT(server.consumed == 0u);
        RC_ASSERT(server.in.need > seen.size());
        RC_ASSERT(begin + server.in.need <= wire.size());
      }
      begin += server.consumed;
    }
    RC_ASSERT(begin == wire.size());
    CheckRequest(c, server.in);
  }));
}

TEST(RoundTrip, FastPathWritesWhatTheGeneralOneWrites) {
  EXPECT_TRUE(rc::check([] {
    Content c = AnyContent();
    c.minor = GiopMinor::k2;
    c.alignment = 0;
    c.principal.clear();
    c.contexts.clear();
    orb::Request request;
    request.object_key = c.key;
    request.operation = c.operation;
    request.response_expected = c.response_expected;
    request.body.bytes = c.body;
    request.body.order = c.order;
    cdr::ByteBuffer fast, general;
    fast.Append("odd");
    general.Append("odd");
    RC_ASSERT(FastEncodeRequest12(c.id, request, SIZE_MAX, &fast));
    RC_ASSERT(EncodeRequest(c.id, request, &general).ok());
    RC_ASSERT(fast.view() == general.view());
    orb::Reply reply;
    reply.status = c.status;
    reply.body = request.body;
    RC_ASSERT(FastEncodeReply12(c.id, reply, SIZE_MAX, &fast));
    RC_ASSERT(EncodeReply(c.id, GiopMinor::k2, reply, &general).ok());
    RC_ASSERT(fast.view() == general.view());
  }));
}

TEST(RoundTrip, LocateRequestsSurvive) {
  for (const GiopMinor minor : kAllMinors) {
    Peer server(orb::Role::kServer);
    cdr::ByteBuffer out;
    server.codec->EncodeLocateRequest(7, minor, "some\0key"sv, &out);
    ASSERT_EQ(server.Feed(out.view()), Kind::kLocateRequest) << server.in.error;
    EXPECT_EQ(server.in.id, 7u);
    EXPECT_EQ(server.in.request.object_key, "some\0key"sv);
    EXPECT_EQ(server.in.request.minor, minor);
  }
}

TEST(RoundTrip, LocateRepliesSurviveInBothOrders) {
  for (const GiopMinor minor : kAllMinors) {
    for (const cdr::ByteOrder order : kBothOrders) {
      Peer client(orb::Role::kClient);
      orb::Body body;
      body.bytes = "whatever";
      body.order = order;
      body.alignment = 4;
      cdr::ByteBuffer out;
      client.codec->EncodeLocateReply(9, minor, orb::LocateStatus::kObjectForward, body, &out);
      ASSERT_EQ(client.Feed(out.view()), Kind::kLocateReply) << client.in.error;
      EXPECT_EQ(client.in.id, 9u);
      EXPECT_EQ(client.in.locate_status, orb::LocateStatus::kObjectForward);
      EXPECT_EQ(client.in.reply.body.bytes, "whatever");
      EXPECT_EQ(client.in.reply.body.order, order);
      EXPECT_EQ(client.in.reply.body.alignment, 4);
    }
  }
}

TEST(RoundTrip, CancelAndCloseSurvive) {
  for (const GiopMinor minor : kAllMinors) {
    Peer server(orb::Role::kServer);
    cdr::ByteBuffer out;
    server.codec->EncodeCancel(11, minor, &out);
    ASSERT_EQ(server.Feed(out.view()), Kind::kCancel);
    EXPECT_EQ(server.in.id, 11u);
    // The version of a close is the one that the peer has shown to understand.
    out.Clear();
    server.codec->EncodeClose(&out);
    EXPECT_EQ(out.data()[5], static_cast<uint8_t>(minor));
    Peer client(orb::Role::kClient);
    EXPECT_EQ(client.Feed(out.view()), Kind::kClose);
    EXPECT_EQ(server.Feed(out.view()), Kind::kClose);
  }
}

}  // namespace
}  // namespace weir::giop
