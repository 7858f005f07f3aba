// The filter `access`, and the addresses that it reads.

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "filters/peer_address.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orb/transport/tcp.h"
#include "orb/transport/unix.h"
#include "tests/support/environment.h"
#include "tests/unit/filters/builtin_fixture.h"

namespace weir::filters {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Whether the range holds the peer. The range must be good.
bool Contains(const std::string& range, const std::string& peer, bool if_unknown = false) {
  const absl::StatusOr<PeerRange> parsed = PeerRange::Parse(range);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() && parsed->Contains(ParsePeerAddress(peer), if_unknown);
}

TEST(PeerRangeTest, IPv4RangesEndWhereTheirBitsSay) {
  EXPECT_TRUE(Contains("10.0.0.0/8", "10.0.0.0:1"));
  EXPECT_TRUE(Contains("10.0.0.0/8", "10.255.255.255:65535"));
  EXPECT_FALSE(Contains("10.0.0.0/8", "11.0.0.0:1"));
  EXPECT_FALSE(Contains("10.0.0.0/8", "9.255.255.255:1"));
  EXPECT_TRUE(Contains("192.168.4.0/22", "192.168.7.255:1"));
  EXPECT_FALSE(Contains("192.168.4.0/22", "192.168.8.0:1"));
  EXPECT_TRUE(Contains("10.0.0.128/25", "10.0.0.128:1"));
  EXPECT_FALSE(Contains("10.0.0.128/25", "10.0.0.127:1"));
  EXPECT_TRUE(Contains("10.0.0.7/32", "10.0.0.7:40112"));
  EXPECT_FALSE(Contains("10.0.0.7", "10.0.0.6:40112"));
  EXPECT_TRUE(Contains("0.0.0.0/0", "255.255.255.255:1"));
}

TEST(PeerRangeTest, IPv6RangesEndWhereTheirBitsSay) {
  EXPECT_TRUE(Contains("::1", "[::1]:4"));
  EXPECT_FALSE(Contains("::1", "[::2]:4"));
  EXPECT_TRUE(Contains("fd00::/8", "[fdff:ffff::1]:4"));
  EXPECT_FALSE(Contains("fd00::/8", "[fe00::]:4"));
  EXPECT_TRUE(Contains("2001:db8::/33", "[2001:db8:7fff::]:4"));
  EXPECT_FALSE(Contains("2001:db8::/33", "[2001:db8:8000::]:4"));
  EXPECT_TRUE(Contains("fe80::/10", "[fe80::1%eth0]:4"));
  EXPECT_TRUE(Contains("::/0", "[2001:db8::1]:4"));
}

TEST(PeerRangeTest, AMappedAddressIsOneOfIPv4OnBothSides) {
  EXPECT_TRUE(Contains("10.0.0.0/8", "[::ffff:10.1.2.3]:4"));
  EXPECT_FALSE(Contains("10.0.0.0/8", "[::ffff:11.1.2.3]:4"));
  EXPECT_TRUE(Contains("10.0.0.0/8", "[::ffff:0a01:0203]:4"));
  EXPECT_TRUE(Contains("::ffff:10.0.0.0/104", "10.1.2.3:4"));
  EXPECT_FALSE(Contains("::ffff:10.0.0.0/104", "11.1.2.3:4"));
  EXPECT_TRUE(Contains("::ffff:0:0/96", "11.1.2.3:4"));
  EXPECT_TRUE(Contains("::ffff:10.0.0.7", "10.0.0.7:4"));
  EXPECT_FALSE(Contains("::/0", "10.0.0.7:4"));
  EXPECT_FALSE(Contains("::/0", "[::ffff:10.0.0.7]:4"));
  EXPECT_FALSE(Contains("0.0.0.0/0", "[::1]:4"));
  // Not mapped, although it ends in the same octets.
  EXPECT_FALSE(Contains("10.0.0.0/8", "[::10.0.0.7]:4"));
}

TEST(PeerRangeTest, UnixPeersAreToldApartByUser) {
  EXPECT_TRUE(Contains("unix", "unix:pid=4711,uid=1000"));
  EXPECT_TRUE(Contains("unix", "unix"));
  EXPECT_TRUE(Contains("unix:uid=1000", "unix:pid=1,uid=1000"));
  EXPECT_FALSE(Contains("unix:uid=1000", "unix:pid=1000,uid=100"));
  EXPECT_FALSE(Contains("unix:uid=1000", "unix:pid=1000,uid=10001"));
  EXPECT_TRUE(Contains("unix:uid=4294967295", "unix:pid=1,uid=4294967295"));
  EXPECT_FALSE(Contains("unix", "10.0.0.7:4"));
  EXPECT_FALSE(Contains("0.0.0.0/0", "unix:pid=1,uid=0"));
  EXPECT_FALSE(Contains("unix:uid=1000", "unix", /*if_unknown=*/false));
  EXPECT_TRUE(Contains("unix:uid=1000", "unix", /*if_unknown=*/true));
}

TEST(PeerRangeTest, WhatIsNoAddressIsInNoRange) {
  for (const char* peer : {"",
                           ":",
                           "10.0.0.7",
                           "10.0.0:1",
                           "10.0.0.7.1:1",
                           "010.0.0.7:1",
                           "10.0.0.256:1",
                           "10.0.0.1000:1",
                           "10.0.0.00:1",
                           "10.0.0.:1",
                           "10..0.7:1",
                           ".10.0.0.7:1",
                           "10.0.0.7.:1",
                           "10.0.0.7 :1",
                           "10.0.0.+7:1",
                           "10,0,0,7:1",
                           "::1",
                           "[::1",
                           "[::1]",
                           "[10.0.0.7]:1",
                           "[]:1",
                           "localhost:1",
                           "unixx",
                           "unix:",
                           "unix:uid=0",
                           "unix:pid=1,uid=",
                           "unix:pid=,uid=1",
                           "unix:pid=-1,uid=1",
                           "unix:pid=1,uid=-1",
                           "unix:pid=1,uid=0x",
                           "unix:pid=1,uid=4294967296"}) {
    EXPECT_EQ(ParsePeerAddress(peer), PeerAddress()) << peer;
    for (const char* range : {"0.0.0.0/0", "::/0", "unix", "unix:uid=0"}) {
      EXPECT_FALSE(Contains(range, peer, /*if_unknown=*/true)) << peer << " in " << range;
    }
  }
  EXPECT_EQ(ParsePeerAddress(std::string("10.0.0.7\0:1", 11)), PeerAddress());
  EXPECT_EQ(ParsePeerAddress(std::string(100'000, '1') + ":1"), PeerAddress());
}

TEST(PeerRangeTest, EqualRangesHaveOneCanonicalForm) {
  for (const auto& [text, canonical] :
       std::vector<std::pair<std::string, std::string>>{{"10.0.0.0/8", "10.0.0.0/8"},
                                                        {"10.0.0.7/32", "10.0.0.7"},
                                                        {"0.0.0.0/0", "0.0.0.0/0"},
                                                        {"::ffff:10.0.0.0/104", "10.0.0.0/8"},
                                                        {"::FFFF:0a00:0007", "10.0.0.7"},
                                                        {"FD00:0::0/8", "fd00::/8"},
                                                        {"::1/128", "::1"},
                                                        {"::/0", "::/0"},
                                                        {"unix", "unix"},
                                                        {"unix:uid=007", "unix:uid=7"}}) {
    const absl::StatusOr<PeerRange> range = PeerRange::Parse(text);
    ASSERT_TRUE(range.ok()) << range.status();
    EXPECT_EQ(range->Canonical(), canonical);
    EXPECT_EQ(PeerRange::Parse(canonical)->Canonical(), canonical);
  }
}

TEST(PeerRangeTest, IPv4AddressesAreReadAsTheSystemReadsThem) {
  // Each three octets of "1.2.3.4:5" replaced by all that matters.
  const std::string some[] = {"",    "0",   "00",   "01", "9",  "99",
                              "255", "256", "1000", "a",  "-1", " 1"};
  for (const std::string& a : some) {
    for (const std::string& b : some) {
      for (const std::string& c : some) {
        const std::string text = a + ".2." + b + "." + c;
        uint8_t octets[4];
        const PeerAddress read = ParsePeerAddress(text + ":5");
        if (inet_pton(AF_INET, text.c_str(), octets) == 1) {
          EXPECT_EQ(read.kind, PeerAddress::Kind::kIpv4) << text;
          EXPECT_TRUE(std::equal(octets, octets + 4, read.ip.begin())) << text;
        } else {
          EXPECT_EQ(read, PeerAddress()) << text;
        }
      }
    }
  }
}

TEST(PeerRangeTest, BadRangesAreRefusedWithTheirText) {
  for (const char* range :
       {"", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0/8", "::/129", "::1/",
        "host", "[::1]", "unix:", "unix:uid=", "unix:uid=x", "unix:pid=1", "10.0.0.7/8",
        "0.0.0.1/0", "fd00::1/64", "::ffff:10.0.0.7/104", "10.0.0.0 /8"}) {
    const absl::StatusOr<PeerRange> parsed = PeerRange::Parse(range);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << range;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("'" + std::string(range) + "' "));
  }
}

// How a transport that accepts a connection to `address` names the client.
std::string NameOfPeer(orb::Transport* transport, const std::string& listen,
                       const std::string& connect_host) {
  const auto acceptor = transport->Listen(listen);
  if (!acceptor.ok()) return "";
  std::string address = (*acceptor)->address();
  if (!connect_host.empty()) address = connect_host + address.substr(address.rfind(':'));
  const auto client = transport->Connect(address, SystemClock().Now() + 5 * kSecond);
  if (!client.ok()) return "";
  const auto server = (*acceptor)->Accept();
  return server.ok() && *server != nullptr ? (*server)->peer_address() : "";
}

TEST(PeerRangeTest, TheNamesThatTransportsGiveAreUnderstood) {
  const SystemClock clock;
  orb::TcpTransport tcp(&clock);
  const std::string ipv4 = NameOfPeer(&tcp, "127.0.0.1:0", "127.0.0.1");
  EXPECT_TRUE(Contains("127.0.0.1", ipv4)) << ipv4;
  // A listener for every interface may be one of IPv6 that takes IPv4, too.
  const std::string any = NameOfPeer(&tcp, ":0", "127.0.0.1");
  EXPECT_TRUE(Contains("127.0.0.0/8", any)) << any;
  const std::string ipv6 = NameOfPeer(&tcp, "[::1]:0", "[::1]");
  if (!ipv6.empty()) {  // the machine has IPv6
    EXPECT_TRUE(Contains("::1", ipv6)) << ipv6;
  }
  const weir::testing::TempDir dir;
  orb::UnixTransport unix_sockets(&clock);
  const std::string local = NameOfPeer(&unix_sockets, dir.File("s"), "");
  EXPECT_TRUE(Contains("unix:uid=" + std::to_string(getuid()), local)) << local;
  EXPECT_FALSE(Contains("unix:uid=" + std::to_string(getuid() + 1), local)) << local;
}

class AccessTest : public BuiltinTest {
 protected:
  // Whether a call of the peer reaches the servant; if not, `id` is what it gets.
  bool Passes(const std::string& address, orb::ExceptionId id = orb::ExceptionId::kNoPermission) {
    FakeCall call;
    call.set_peer({"tcp", address});
    call.Run(registry_.gate());
    const auto exception = call.system_exception();
    EXPECT_EQ(exception.has_value(), !call.reached_servant());
    if (exception.has_value()) {
      EXPECT_EQ(exception->id, id);
      EXPECT_EQ(exception->minor, static_cast<uint32_t>(orb::WeirMinor::kDenied));
      EXPECT_EQ(exception->completed, orb::Completion::kNo);
    }
    return call.reached_servant();
  }
};

TEST_F(AccessTest, WithAllowEverybodyElseIsRefused) {
  Plug("access", {{"allow", "10.0.0.0/8,fd00::/8,unix:uid=0"}}, "check");
  EXPECT_TRUE(Passes("10.0.0.7:40112"));
  EXPECT_TRUE(Passes("[fd00::1]:4"));
  EXPECT_TRUE(Passes("[::ffff:10.0.0.7]:4"));
  EXPECT_TRUE(Passes("unix:pid=1,uid=0"));
  EXPECT_FALSE(Passes("11.0.0.7:40112"));
  EXPECT_FALSE(Passes("[::1]:4"));
  EXPECT_FALSE(Passes("unix:pid=1,uid=1"));
  EXPECT_FALSE(Passes("unix"));
  auto counters = Counters();
  EXPECT_EQ(counters[".passed"], 4u);
  EXPECT_EQ(counters[".refused"], 4u);
  EXPECT_EQ(counters[".unreadable"], 0u);
}

TEST_F(AccessTest, WithDenyAloneEverybodyElsePasses) {
  Plug("access", {{"deny", "10.0.0.0/8,unix:uid=0"}}, "check");
  EXPECT_FALSE(Passes("10.0.0.7:40112"));
  EXPECT_FALSE(Passes("[::ffff:10.0.0.7]:4"));
  EXPECT_FALSE(Passes("unix:pid=1,uid=0"));
  EXPECT_FALSE(Passes("unix")) << "its uid may be 0";
  EXPECT_TRUE(Passes("unix:pid=1,uid=1"));
  EXPECT_TRUE(Passes("11.0.0.7:40112"));
}

TEST_F(AccessTest, DenyComesBeforeAllow) {
  Plug("access", {{"allow", "10.0.0.0/8"}, {"deny", "10.0.0.7"}}, "check");
  EXPECT_FALSE(Passes("10.0.0.7:1"));
  EXPECT_TRUE(Passes("10.0.0.8:1"));
}

TEST_F(AccessTest, APeerThatCannotBeReadIsRefusedEvenWithDenyAlone) {
  Plug("access", {{"deny", "10.0.0.7"}}, "check");
  EXPECT_FALSE(Passes("carrier-pigeon"));
  EXPECT_FALSE(Passes(""));
  EXPECT_EQ(Counters()[".unreadable"], 2u);
}

TEST_F(AccessTest, RefusedCallersGetTheExceptionThatWasSet) {
  Plug("access", {{"allow", "unix"}, {"exception", "OBJECT_NOT_EXIST"}}, "check");
  EXPECT_FALSE(Passes("10.0.0.7:1", orb::ExceptionId::kObjectNotExist));
}

TEST_F(AccessTest, BadListsAreRefusedInOneLine) {
  for (const char* name : {"allow", "deny"}) {
    for (const char* list : {"", ",", "unix,", ",unix", "unix,,unix", "unix,10.0.0.7/8", "a\nb"}) {
      const absl::Status status = TryPlug("access", {{name, list}});
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << list;
      EXPECT_THAT(
          std::string(status.message()),
          AllOf(HasSubstr("parameter '" + std::string(name) + "' is '"), Not(HasSubstr("\n"))));
    }
  }
  EXPECT_THAT(std::string(TryPlug("access", {}).message()), HasSubstr("'allow' and 'deny'"));
  EXPECT_THAT(std::string(TryPlug("access", {{"exception", "NO_WAY"}}).message()),
              HasSubstr("'allow' and 'deny'"));
  EXPECT_THAT(
      std::string(TryPlug("access", {{"allow", "unix"}, {"exception", "NO_WAY"}}).message()),
      HasSubstr("'NO_WAY'"));
}

TEST_F(AccessTest, AListHasUpTo256Ranges) {
  std::string list = "10.0.0.0";
  for (int i = 1; i < 256; ++i) list += ",10.0.0." + std::to_string(i);
  EXPECT_THAT(std::string(TryPlug("access", {{"allow", list + ",10.0.1.0"}}).message()),
              HasSubstr("256 ranges at most"));
  Plug("access", {{"allow", list}}, "check");
  EXPECT_TRUE(Passes("10.0.0.255:1"));
  EXPECT_FALSE(Passes("10.0.1.0:1"));
}

}  // namespace
}  // namespace weir::filters
