// Messages that omniORB 4.2.5 really sent: a call of
//
//   struct S { octet a; double b; string c; };
//   typedef sequence<S> Ss;
//   Ss many(in octet pre, in Ss d);
//
// with 230 elements, just enough for a second fragment. In GIOP 1.1 omniORB aligns each fragment by
// itself, and cuts strings anywhere.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/giop/testing.h"

namespace weir::giop {
namespace {

constexpr uint32_t kCount = 230;

std::string Capture(const std::string& name) {
  std::ifstream file("tests/unit/giop/captures/omniorb_" + name + ".bin", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(bytes.empty()) << name;
  return bytes;
}

// Feeds all of `wire` to `peer` and returns the number of pieces.
int FeedAll(std::string_view wire, Peer* peer) {
  int pieces = 0;
  while (!wire.empty()) {
    ++pieces;
    peer->Feed(wire);
    if (peer->consumed == 0 || peer->in.kind == Kind::kError) {
      ADD_FAILURE() << peer->in.error;
      break;
    }
    wire.remove_prefix(peer->consumed);
  }
  return pieces;
}

void CheckElements(cdr::Decoder in) {
  const std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz";
  ASSERT_EQ(in.ReadSequenceLength(14), kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(in.ReadOctet(), i % 7) << i;
    ASSERT_EQ(in.ReadDouble(), i * 1.5) << i;
    ASSERT_EQ(in.ReadString(), alphabet.substr(i % 13)) << i;
  }
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
}

class OmniOrbCapture : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Versions, OmniOrbCapture, testing::Values("1_1", "1_2"));

TEST_P(OmniOrbCapture, FragmentedRequestReadsAsItWasMeant) {
  Peer server(orb::Role::kServer);
  EXPECT_EQ(FeedAll(Capture(GetParam() + "_request"), &server), 2);
  ASSERT_EQ(server.in.kind, Kind::kRequest) << server.in.error;
  EXPECT_EQ(server.in.request.operation, "many");
  cdr::Decoder in = server.in.request.body.decoder();
  EXPECT_EQ(in.ReadOctet(), 7);
  CheckElements(in);
}

TEST_P(OmniOrbCapture, FragmentedReplyReadsAsItWasMeant) {
  Peer client(orb::Role::kClient);
  EXPECT_EQ(FeedAll(Capture(GetParam() + "_reply"), &client), 2);
  ASSERT_EQ(client.in.kind, Kind::kReply) << client.in.error;
  CheckElements(client.in.reply.body.decoder());
}

TEST(OmniOrbCapture, RequestIn11FragmentsIsSentOnInTheSameFragments) {
  const std::string wire = Capture("1_1_request");
  Peer server(orb::Role::kServer);
  FeedAll(wire, &server);
  ASSERT_EQ(server.in.kind, Kind::kRequest);
  orb::Request& request = server.in.request;
  cdr::ByteBuffer out;
  ASSERT_TRUE(server.codec->EncodeRequest(server.in.id, request, &out).ok());
  // Reserved octets and padding aside, what omniORB leaves in them.
  ASSERT_EQ(out.size(), wire.size());
  Peer next(orb::Role::kServer);
  EXPECT_EQ(FeedAll(out.view(), &next), 2);
  ASSERT_EQ(next.in.kind, Kind::kRequest) << next.in.error;
  cdr::Decoder in = next.in.request.body.decoder();
  EXPECT_EQ(in.ReadOctet(), 7);
  CheckElements(in);
}

TEST(OmniOrbCapture, RequestIn11FragmentsCannotBeSentOnInAnotherVersion) {
  Peer server(orb::Role::kServer);
  FeedAll(Capture("1_1_request"), &server);
  ASSERT_EQ(server.in.kind, Kind::kRequest);
  orb::Request& request = server.in.request;
  cdr::ByteBuffer out;
  out.Append("before");
  for (const GiopMinor minor : {GiopMinor::k0, GiopMinor::k2}) {
    request.minor = minor;
    const absl::Status status = server.codec->EncodeRequest(server.in.id, request, &out);
    EXPECT_EQ(orb::FromStatus(status).minor, static_cast<uint32_t>(orb::WeirMinor::kAlignment));
    EXPECT_EQ(out.view(), "before");
  }
}

}  // namespace
}  // namespace weir::giop
