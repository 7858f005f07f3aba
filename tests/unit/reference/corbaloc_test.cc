#include "orb/reference/corbaloc.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orb/core/system_exception.h"

namespace weir::orb {
namespace {

using ::testing::HasSubstr;
using Scheme = CorbalocAddress::Scheme;

CorbalocAddress Iiop(uint8_t minor, std::string host, uint16_t port) {
  return {Scheme::kIiop, minor, std::move(host), port, ""};
}
CorbalocAddress Unix(std::string path) { return {Scheme::kUnix, 2, "", 0, std::move(path)}; }

Corbaloc Parsed(std::string_view text) {
  absl::StatusOr<Corbaloc> result = ParseCorbaloc(text);
  EXPECT_TRUE(result.ok()) << text << ": " << result.status();
  return result.value_or(Corbaloc());
}

// The same BAD_PARAM minor codes as omniORB 4.2.5 gives, and the offending part by name.
void ExpectError(std::string_view text, uint32_t omg_minor, std::string_view part) {
  const absl::Status status = ParseCorbaloc(text).status();
  ASSERT_FALSE(status.ok()) << text;
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  const SystemException exception = FromStatus(status);
  EXPECT_EQ(exception.id, ExceptionId::kBadParam) << text;
  EXPECT_EQ(exception.minor, OmgMinor(omg_minor)) << text << ": " << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(part))) << text;
}

TEST(CorbalocTest, FillsInVersionHostAndPort) {
  EXPECT_EQ(Parsed("corbaloc::/K"), (Corbaloc{{Iiop(0, "localhost", 2809)}, false, "K"}));
  EXPECT_EQ(Parsed("corbaloc:iiop:/K"), (Corbaloc{{Iiop(0, "localhost", 2809)}, false, "K"}));
  EXPECT_EQ(Parsed("corbaloc::orb/K"), (Corbaloc{{Iiop(0, "orb", 2809)}, false, "K"}));
  EXPECT_EQ(Parsed("corbaloc::orb:/K"), (Corbaloc{{Iiop(0, "orb", 2809)}, false, "K"}));
  EXPECT_EQ(Parsed("corbaloc:::7/K"), (Corbaloc{{Iiop(0, "localhost", 7)}, false, "K"}));
  EXPECT_EQ(Parsed("corbaloc::1.2@:7/K"), (Corbaloc{{Iiop(2, "localhost", 7)}, false, "K"}));
  EXPECT_EQ(Parsed("corbaloc:iiop:1.1@orb:7/K"), (Corbaloc{{Iiop(1, "orb", 7)}, false, "K"}));
}

TEST(CorbalocTest, TakesIpv6InBrackets) {
  EXPECT_EQ(Parsed("corbaloc::[::1]/K"), (Corbaloc{{Iiop(0, "::1", 2809)}, false, "K"}));
  EXPECT_EQ(Parsed("corbaloc::1.2@[2001:db8::1]:7/K"),
            (Corbaloc{{Iiop(2, "2001:db8::1", 7)}, false, "K"}));
}

TEST(CorbalocTest, TakesListsOfAddresses) {
  EXPECT_EQ(Parsed("corbaloc::1.2@a,iiop:b:3,:[::1]:4/K"),
            (Corbaloc{{Iiop(2, "a", 2809), Iiop(0, "b", 3), Iiop(0, "::1", 4)}, false, "K"}));
  EXPECT_EQ(
      Parsed("corbaloc::a,omniunix:/s/1,omniunix:/s/2:,:b/K"),
      (Corbaloc{{Iiop(0, "a", 2809), Unix("/s/1"), Unix("/s/2"), Iiop(0, "b", 2809)}, false, "K"}));
}

TEST(CorbalocTest, TakesOmniOrbsUnixSockets) {
  EXPECT_EQ(Parsed("corbaloc:omniunix:/run/x.sock:/K"),
            (Corbaloc{{Unix("/run/x.sock")}, false, "K"}));
  // omniORB's references say 1.2 whatever is written.
  EXPECT_EQ(Parsed("corbaloc:omniunix:1.0@/run/x.sock:/K"),
            (Corbaloc{{Unix("/run/x.sock")}, false, "K"}));
  EXPECT_EQ(Parsed("corbaloc:omniunix:/run/a@b:/K"), (Corbaloc{{Unix("/run/a@b")}, false, "K"}));
}

TEST(CorbalocTest, DoesNotNeedAKey) {
  EXPECT_EQ(Parsed("corbaloc::orb:7"), (Corbaloc{{Iiop(0, "orb", 7)}, false, ""}));
  EXPECT_EQ(Parsed("corbaloc::orb:7/"), (Corbaloc{{Iiop(0, "orb", 7)}, false, ""}));
  EXPECT_EQ(Parsed("corbaloc:omniunix:/x"), (Corbaloc{{Unix("/x")}, false, ""}));
  EXPECT_EQ(Parsed("corbaloc:omniunix:/x:"), (Corbaloc{{Unix("/x")}, false, ""}));
}

TEST(CorbalocTest, TakesInitialReferences) {
  EXPECT_EQ(Parsed("corbaloc:rir:"), (Corbaloc{{}, true, "NameService"}));
  EXPECT_EQ(Parsed("corbaloc:rir:/"), (Corbaloc{{}, true, "NameService"}));
  EXPECT_EQ(Parsed("corbaloc:rir:/RootPOA"), (Corbaloc{{}, true, "RootPOA"}));
}

TEST(CorbalocTest, UnescapesKeys) {
  EXPECT_EQ(Parsed("corbaloc::a/%00%fF/x%20;:?@&=+$,-_.!~*'()").object_key,
            std::string("\0\xff/x ;:?@&=+$,-_.!~*'()", 23));
}

TEST(CorbalocTest, IgnoresWhiteSpaceAround) {
  EXPECT_EQ(Parsed(" corbaloc::a/K\r\n").object_key, "K");
}

TEST(CorbalocTest, SaysWhichPartIsWrong) {
  ExpectError("corbaname::a", 7, "corbaname");
  ExpectError("corbaloc:", 7, "''");
  ExpectError("corbaloc:foo:bar/x", 7, "'foo'");
  ExpectError("corbaloc:ssliop:a/x", 7, "'ssliop'");
  ExpectError("corbaloc:IIOP:a/x", 7, "'IIOP'");
  ExpectError("corbaloc:orb/x", 7, "'orb'");
  ExpectError("corbaloc:orb/a:b", 7, "'orb'");
  ExpectError("corbaloc::a,/x", 7, "''");
  ExpectError("corbaloc::a,b/x", 7, "'b'");
  ExpectError("corbaloc::a:99999/x", 8, "'a:99999'");
  ExpectError("corbaloc::a:0/x", 8, "port 0");
  ExpectError("corbaloc::[::1/x", 8, "'[' without ']'");
  ExpectError("corbaloc::::1:1/x", 8, "'::1:1'");
  ExpectError("corbaloc::a b/x", 8, "'a b'");
  ExpectError("corbaloc::a%20b/x", 8, "'a%20b'");
  ExpectError("corbaloc::@a/x", 9, "''");
  ExpectError("corbaloc::1@a/x", 9, "'1'");
  ExpectError("corbaloc::1.3@a/x", 9, "'1.3'");
  ExpectError("corbaloc::2.0@a/x", 9, "'2.0'");
  ExpectError("corbaloc:omniunix:2.0@/a:/x", 9, "'2.0'");
  ExpectError("corbaloc:omniunix:a:/x", 9, "'a'");
  ExpectError("corbaloc:omniunix::/x", 9, "absolute path");
  ExpectError("corbaloc:omniunix:/" + std::string(107, 'a') + ":/x", 9, "107 bytes, not 108");
  ExpectError("corbaloc:omniunix:/a\n:/x", 9, "control character");
  ExpectError("corbaloc:omniunix:/a:x", 10, "':/'");
  ExpectError("corbaloc:rir:,:a/x", 10, "',:a/x'");
  ExpectError("corbaloc:rir:a", 10, "'a'");
  ExpectError("corbaloc::a,rir:/x", 10, "stands only alone");
  ExpectError("corbaloc::a/%zz", 10, "'%zz'");
  ExpectError("corbaloc::a/%4", 10, "'%4'");
  ExpectError("corbaloc::a/%", 10, "'%'");
  ExpectError("corbaloc::a/b c", 10, "' '");
  ExpectError("corbaloc::a/b\"c", 10, "%hh");
  ExpectError(std::string_view("corbaloc::a/b\0", 14), 10, "%hh");
}

TEST(CorbalocTest, LimitsAddressesAndLength) {
  std::string text = "corbaloc::a";
  for (int i = 0; i < 40; ++i) text += ",:a";
  ExpectError(text, 10, "more than 32 addresses");
  ExpectError("corbaloc::a/" + std::string(70000, 'k'), 10, "70012");
}

TEST(CorbalocTest, WhatItPrintsItParses) {
  for (const char* text : {"corbaloc::localhost:2809/K", "corbaloc::1.2@[::1]:7,:b:3/a%20b%00%25",
                           "corbaloc:omniunix:/run/x.sock:/K",
                           "corbaloc::1.1@a:1,omniunix:/x:,:b:2/", "corbaloc:rir:/RootPOA"}) {
    EXPECT_EQ(ToString(Parsed(text)), text);
  }
}

TEST(CorbalocTest, EveryOctetSurvivesInAKey) {
  std::string key;
  for (int i = 0; i < 256; ++i) key += static_cast<char>(i);
  EXPECT_EQ(Parsed("corbaloc::a/" + EscapeKey(key)).object_key, key);
}

}  // namespace
}  // namespace weir::orb
