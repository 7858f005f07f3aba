#include "orb/transport/endpoint_name.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::orb {
namespace {

using ::testing::HasSubstr;

EndpointName Parsed(std::string_view text) {
  absl::StatusOr<EndpointName> name = ParseEndpointName(text);
  EXPECT_TRUE(name.ok()) << text << ": " << name.status();
  return name.value_or(EndpointName());
}

void ExpectError(std::string_view text, std::string_view part) {
  const absl::Status status = ParseEndpointName(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(part)));
  // What is right stands there too, and all of it on one line.
  EXPECT_THAT(std::string(status.message()), HasSubstr("giop:tcp:127.0.0.1:2809"));
  EXPECT_EQ(std::string(status.message()).find('\n'), std::string::npos);
}

TEST(EndpointNameTest, TakesOmniOrbsSpellings) {
  EXPECT_EQ(Parsed("giop:tcp:127.0.0.1:2809"), (EndpointName{"giop", "tcp", "127.0.0.1:2809", ""}));
  EXPECT_EQ(Parsed("giop:tcp::2809"), (EndpointName{"giop", "tcp", ":2809", ""}));
  EXPECT_EQ(Parsed("giop:tcp:[::1]:0"), (EndpointName{"giop", "tcp", "[::1]:0", ""}));
  EXPECT_EQ(Parsed("giop:unix:/run/x.sock"), (EndpointName{"giop", "unix", "/run/x.sock", ""}));
}

TEST(EndpointNameTest, SplitsThePublishedAddress) {
  EXPECT_EQ(Parsed("giop:tcp:0.0.0.0:2810?publish=orb.example:2810"),
            (EndpointName{"giop", "tcp", "0.0.0.0:2810", "orb.example:2810"}));
}

TEST(EndpointNameTest, DoesNotKnowWhichLayersExist) {
  EXPECT_EQ(Parsed("lite:shm:/run/y.sock"), (EndpointName{"lite", "shm", "/run/y.sock", ""}));
}

TEST(EndpointNameTest, WhatItPrintsItParses) {
  for (const std::string text :
       {"giop:tcp::2809", "giop:tcp:[::1]:0?publish=[2001:db8::1]:7", "giop:unix:/run/x.sock"}) {
    EXPECT_EQ(ToString(Parsed(text)), text);
  }
}

TEST(EndpointNameTest, SaysWhichPartIsWrong) {
  ExpectError("", "three parts");
  ExpectError("giop", "three parts");
  ExpectError("giop:tcp", "three parts");
  ExpectError("127.0.0.1:2809", "three parts");
  ExpectError(":tcp:x:1", "'' is no messaging protocol's name");
  ExpectError("GIOP:tcp:x:1", "'GIOP' is no messaging protocol's name");
  ExpectError("giop::127.0.0.1:1", "'' is no transport's name");
  ExpectError("giop:t/p:x:1", "'t/p' is no transport's name");
  ExpectError("giop:tcp:", "no address");
  ExpectError("giop:tcp:?publish=x:1", "no address");
  ExpectError("giop:tcp:x:1?", "unknown option ''");
  ExpectError("giop:tcp:x:1?public=y:1", "unknown option 'public=y:1'");
  ExpectError("giop:tcp:x:1?publish=", "no address behind publish=");
  ExpectError("giop:tcp:x:1?publish=y:1?publish=z:1", "more than one option");
  ExpectError("giop:tcp:x:1?publish=y:1&a=b", "more than one option");
  ExpectError("giop:tcp:x :1", "space");
  ExpectError("giop:tcp:x:1\n", "control character");
}

}  // namespace
}  // namespace weir::orb
