#include "base/host_port.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

HostPort Parsed(std::string_view text, std::optional<uint16_t> default_port = std::nullopt) {
  absl::StatusOr<HostPort> result = ParseHostPort(text, default_port);
  EXPECT_TRUE(result.ok()) << text << ": " << result.status();
  return result.value_or(HostPort());
}

void ExpectError(std::string_view text, std::string_view part) {
  const absl::Status status = ParseHostPort(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(part)));
}

TEST(HostPortTest, TakesNamesAndAddresses) {
  EXPECT_EQ(Parsed("orb.example:2809"), (HostPort{"orb.example", 2809}));
  EXPECT_EQ(Parsed("127.0.0.1:0"), (HostPort{"127.0.0.1", 0}));
  EXPECT_EQ(Parsed("my_host-1:65535"), (HostPort{"my_host-1", 65535}));
  EXPECT_EQ(Parsed("[::1]:2809"), (HostPort{"::1", 2809}));
  EXPECT_EQ(Parsed("[fe80::1%eth0]:1"), (HostPort{"fe80::1%eth0", 1}));
  EXPECT_EQ(Parsed(":2809"), (HostPort{"", 2809}));
}

TEST(HostPortTest, UsesTheDefaultPortOnlyWhereThereIsNone) {
  EXPECT_EQ(Parsed("orb", 2809), (HostPort{"orb", 2809}));
  EXPECT_EQ(Parsed("[::1]", 2809), (HostPort{"::1", 2809}));
  EXPECT_EQ(Parsed("orb:1", 2809), (HostPort{"orb", 1}));
  EXPECT_FALSE(ParseHostPort("orb:", 2809).ok());
}

TEST(HostPortTest, SaysWhatIsWrong) {
  ExpectError("", "no port");
  ExpectError("orb", "no port");
  ExpectError(":", "no port behind ':'");
  ExpectError("orb:65536", "0 to 65535");
  ExpectError("orb:-1", "0 to 65535");
  ExpectError("orb:+1", "0 to 65535");
  ExpectError("orb: 1", "0 to 65535");
  ExpectError("orb:000001", "0 to 65535");
  ExpectError("orb:2809x", "0 to 65535");
  ExpectError("::1:2809", "brackets");
  ExpectError("[::1", "'[' without ']'");
  ExpectError("[::1]2809", "behind ']'");
  ExpectError("[orb]:2809", "not an IPv6 address");
  ExpectError("[::g]:2809", "not an IPv6 address");
  ExpectError("[::1%]:2809", "not an IPv6 address");
  ExpectError("a b:1", "not a host name");
  ExpectError("a/b:1", "not a host name");
  ExpectError("caf\xc3\xa9:1", "caf\\xc3\\xa9");
  ExpectError(std::string(256, 'a') + ":1", "255");
  ExpectError(std::string_view("[::1\0]:1", 8), "not an IPv6 address");
}

TEST(HostPortTest, WhatItPrintsItParses) {
  for (const HostPort& address :
       {HostPort{"::1", 2809}, HostPort{"orb.example", 1}, HostPort{"", 2809}}) {
    EXPECT_EQ(Parsed(FormatHostPort(address.host, address.port)), address);
  }
  EXPECT_EQ(FormatHostPort("::1", 2809), "[::1]:2809");
}

TEST(HostPortTest, AHostOutOfAReferenceCannotSmuggleControlCharacters) {
  EXPECT_TRUE(IsPlausibleHost("orb.example"));
  EXPECT_TRUE(IsPlausibleHost("::ffff:1.2.3.4"));
  EXPECT_FALSE(IsPlausibleHost(""));
  EXPECT_FALSE(IsPlausibleHost("orb\nINFO all is well"));
  EXPECT_FALSE(IsPlausibleHost("http://169.254.169.254/"));
  EXPECT_FALSE(IsPlausibleHost("::1%\n"));
}

}  // namespace
}  // namespace weir
