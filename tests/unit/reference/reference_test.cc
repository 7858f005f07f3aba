#include "orb/reference/reference.h"

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orb/core/system_exception.h"

namespace weir::orb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// omniNames 4.2.5 with endpoints 127.0.0.1:43983, [::1]:34457 and a Unix socket on host "vm".
constexpr char kOmniNames[] =
    "IOR:010000002b00000049444c3a6f6d672e6f72672f436f734e616d696e672f4e616d696e67436f6e746578744578"
    "743a312e3000000100000000000000b0000000010102000a0000003132372e302e302e3100cfab0b0000004e616d65"
    "53657276696365000500000000000000080000000100000000545441010000001c0000000100000001000100010000"
    "0001000105090101000100000009010100030000000e00000001000000040000003a3a310099860000025454412300"
    "00000100000003000000766d0000130000002f746d702f7265667472792f792e736f636b0000035454410800000090"
    "530d6b01001720";

Reference Parsed(std::string_view text, const std::string& hostname = "vm") {
  absl::StatusOr<Reference> reference = ParseReference(text, {hostname, {}});
  EXPECT_TRUE(reference.ok()) << text << ": " << reference.status();
  return reference.value_or(Reference());
}

Reference FromIor(Ior ior) {
  absl::StatusOr<Reference> reference = ReferenceFromIor(std::move(ior), {"vm", {}});
  EXPECT_TRUE(reference.ok()) << reference.status();
  return reference.value_or(Reference());
}

Ior Built(const std::vector<Endpoint>& published, uint8_t minor = 2) {
  IorOptions options;
  options.minor = minor;
  options.hostname = "vm";
  absl::StatusOr<Ior> ior = BuildIor("IDL:weir/Echo:1.0", "echo", published, options);
  EXPECT_TRUE(ior.ok()) << ior.status();
  return ior.value_or(Ior());
}

IiopProfile ProfileOf(const Ior& ior, size_t i = 0) {
  absl::StatusOr<IiopProfile> profile = DecodeIiopProfile(ior.profiles.at(i).data);
  EXPECT_TRUE(profile.ok()) << profile.status();
  return profile.value_or(IiopProfile());
}

TEST(ReferenceTest, PrefersTheUnixSocketOfThisHost) {
  const Reference reference = Parsed(kOmniNames);
  EXPECT_EQ(reference.type_id, "IDL:omg.org/CosNaming/NamingContextExt:1.0");
  EXPECT_EQ(reference.object_key, "NameService");
  EXPECT_EQ(reference.giop_minor, 2);
  EXPECT_THAT(reference.endpoints,
              ElementsAre(Endpoint{"unix", "/tmp/reftry/y.sock"},
                          Endpoint{"tcp", "127.0.0.1:43983"}, Endpoint{"tcp", "[::1]:34457"}));
}

TEST(ReferenceTest, LeavesOutTheUnixSocketOfAnotherHost) {
  for (const char* hostname : {"other", ""}) {
    EXPECT_THAT(Parsed(kOmniNames, hostname).endpoints,
                ElementsAre(Endpoint{"tcp", "127.0.0.1:43983"}, Endpoint{"tcp", "[::1]:34457"}));
  }
}

TEST(ReferenceTest, TurnsACorbalocIntoEndpoints) {
  const Reference reference = Parsed("corbaloc::a,omniunix:/x:,:1.2@[::1]:7/K", "");
  EXPECT_EQ(reference.object_key, "K");
  EXPECT_EQ(reference.giop_minor, 0);
  EXPECT_THAT(reference.endpoints, ElementsAre(Endpoint{"unix", "/x"}, Endpoint{"tcp", "a:2809"},
                                               Endpoint{"tcp", "[::1]:7"}));
  EXPECT_EQ(Parsed("corbaloc::1.2@a,:1.1@b/K").giop_minor, 1);
  EXPECT_EQ(Parsed("corbaloc:omniunix:/x:/K").giop_minor, 2);
}

TEST(ReferenceTest, TheIorOfACorbalocSaysTheSame) {
  for (const char* text : {"corbaloc::a:1/K", "corbaloc::1.2@a:1,:1.1@b:2/K",
                           "corbaloc::a,omniunix:/x:/K", "corbaloc:omniunix:/x:/K"}) {
    const Reference reference = Parsed(text);
    const Reference again = FromIor(reference.ior);
    EXPECT_EQ(again.endpoints, reference.endpoints) << text;
    EXPECT_EQ(again.object_key, reference.object_key) << text;
    EXPECT_EQ(again.giop_minor, reference.giop_minor) << text;
  }
}

TEST(ReferenceTest, AnInitialReferenceIsLeftToTheOrb) {
  const Reference reference = Parsed("corbaloc:rir:/NameService");
  EXPECT_TRUE(reference.rir);
  EXPECT_EQ(reference.rir_name, "NameService");
  EXPECT_THAT(reference.endpoints, IsEmpty());
}

TEST(ReferenceTest, BuildsOneProfileForAllAddresses) {
  const Ior ior =
      Built({{"unix", "/run/x.sock"}, {"tcp", "orb.example:2810"}, {"tcp", "[2001:db8::1]:2810"}});
  ASSERT_EQ(ior.profiles.size(), 1);
  const IiopProfile profile = ProfileOf(ior);
  EXPECT_EQ(profile.minor, 2);
  EXPECT_EQ(profile.host, "orb.example");
  EXPECT_EQ(profile.port, 2810);
  EXPECT_EQ(profile.object_key, "echo");
  EXPECT_THAT(profile.components, ElementsAre(EncodeOrbType(kOrbTypeWeir),
                                              EncodeCodeSets({{kCodeSetUtf8, {kCodeSetIso8859_1}},
                                                              {kCodeSetUtf16, {kCodeSetUtf16}}}),
                                              EncodeAlternateAddress({"2001:db8::1", 2810}),
                                              EncodeUnixAddress({"vm", "/run/x.sock"})));
  EXPECT_THAT(Parsed(ToString(ior)).endpoints,
              ElementsAre(Endpoint{"unix", "/run/x.sock"}, Endpoint{"tcp", "orb.example:2810"},
                          Endpoint{"tcp", "[2001:db8::1]:2810"}));
}

// As in the reference of an omniORB server that was started with one Unix endpoint only.
TEST(ReferenceTest, AUnixOnlyReferenceSaysHostnameAndPortZero) {
  const Ior ior = Built({{"unix", "/run/x.sock"}});
  EXPECT_EQ(ProfileOf(ior).host, "vm");
  EXPECT_EQ(ProfileOf(ior).port, 0);
  EXPECT_THAT(FromIor(ior).endpoints, ElementsAre(Endpoint{"unix", "/run/x.sock"}));
}

TEST(ReferenceTest, BelowIiop12EachAddressHasItsProfile) {
  const Ior ior = Built({{"tcp", "a:1"}, {"tcp", "b:2"}}, 1);
  ASSERT_EQ(ior.profiles.size(), 2);
  EXPECT_EQ(ProfileOf(ior, 1).host, "b");
  EXPECT_EQ(ProfileOf(ior, 1).minor, 1);
  EXPECT_EQ(FromIor(ior).giop_minor, 1);
  EXPECT_THAT(ProfileOf(Built({{"tcp", "a:1"}}, 0)).components, IsEmpty());
}

TEST(ReferenceTest, DoesNotPublishWhatNobodyCanReach) {
  IorOptions options;
  options.hostname = "vm";
  const auto error = [&](const std::vector<Endpoint>& published) {
    const absl::Status status = BuildIor("", "k", published, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(error({}), HasSubstr("there is none"));
  EXPECT_THAT(error({{"tcp", ":2809"}}), HasSubstr("':2809'"));
  EXPECT_THAT(error({{"tcp", "a:0"}}), HasSubstr("'a:0'"));
  EXPECT_THAT(error({{"tcp", "a"}}), HasSubstr("no port"));
  EXPECT_THAT(error({{"unix", "x.sock"}}), HasSubstr("absolute path"));
  EXPECT_THAT(error({{"shm", "/x"}}), HasSubstr("'shm'"));
  options.minor = 1;
  EXPECT_THAT(error({{"unix", "/x"}}), HasSubstr("IIOP 1.2"));
  options.minor = 2;
  options.hostname.clear();
  EXPECT_THAT(error({{"unix", "/x"}}), HasSubstr("name"));
}

TEST(ReferenceTest, NilIsAnErrorOfItsOwn) {
  const absl::Status status = ParseReference("IOR:01000000010000000000000000000000", {}).status();
  EXPECT_EQ(FromStatus(status).id, ExceptionId::kInvObjref);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nil"));
}

TEST(ReferenceTest, NeedsAnIiopProfile) {
  const absl::Status status = ReferenceFromIor({"", {{99, "abc"}}}, {}).status();
  EXPECT_EQ(FromStatus(status).id, ExceptionId::kInvObjref);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tag 99"));
}

TEST(ReferenceTest, AMalformedProfileIsPassedOverIfThereIsAnother) {
  Ior ior = Built({{"tcp", "a:1"}});
  ior.profiles.insert(ior.profiles.begin(), {kTagInternetIop, "\1\1\2"});
  EXPECT_THAT(FromIor(ior).endpoints, ElementsAre(Endpoint{"tcp", "a:1"}));
  ior.profiles.pop_back();
  EXPECT_EQ(FromStatus(ReferenceFromIor(ior, {}).status()).id, ExceptionId::kMarshal);
}

TEST(ReferenceTest, ProfilesWithAnotherKeyAreNotMixedIn) {
  Ior ior;
  for (const char* key : {"k1", "k2", "k1"}) {
    const auto port = static_cast<uint16_t>(ior.profiles.size() + 1);
    ior.profiles.push_back(EncodeIiopProfile({2, "a", port, key, {}}));
  }
  const Reference reference = FromIor(ior);
  EXPECT_EQ(reference.object_key, "k1");
  EXPECT_THAT(reference.endpoints, ElementsAre(Endpoint{"tcp", "a:1"}, Endpoint{"tcp", "a:3"}));
}

TEST(ReferenceTest, AnSslOnlyReferenceHasNoEndpoints) {
  const IiopProfile profile{2, "a", 0, "k", {{kTagSslSecTrans, {"\0\0\0\x60\0\x40\x0a\xf9", 8}}}};
  const Reference reference = FromIor({"", {EncodeIiopProfile(profile)}});
  EXPECT_THAT(reference.endpoints, IsEmpty());
  EXPECT_EQ(reference.object_key, "k");
}

TEST(ReferenceTest, AHostThatCannotBeOneIsNotConnectedTo) {
  const Ior ior{"", {EncodeIiopProfile({2, "a\nb", 1, "k", {EncodeAlternateAddress({"c d", 2})}})}};
  EXPECT_THAT(FromIor(ior).endpoints, IsEmpty());
}

TEST(ReferenceTest, TheUnixComponentCountsOnlyInIiop12) {
  for (const uint8_t minor : {1, 2}) {
    const IiopProfile profile{minor, "a", 1, "k", {EncodeUnixAddress({"vm", "/x"})}};
    EXPECT_EQ(FromIor({"", {EncodeIiopProfile(profile)}}).endpoints.size(), minor);
  }
}

TEST(ReferenceTest, AlternateAddressesMayStandInAProfileOfTheirOwn) {
  // omniORB 4.2.5 for corbaloc::a,:1.2@b:3/K
  const Reference reference = Parsed(
      "IOR:01000000010000000000000002000000000000001100000001010000020000006100f90a010000004b000000"
      "010000001c0000000100000001000000030000000c000000010000000200000062000300");
  EXPECT_EQ(reference.giop_minor, 0);
  EXPECT_THAT(reference.endpoints, ElementsAre(Endpoint{"tcp", "a:2809"}, Endpoint{"tcp", "b:3"}));
}

TEST(ReferenceTest, LimitsAndDeduplicatesEndpoints) {
  IiopProfile profile{2, "a", 1, "k", {}};
  for (uint16_t port = 1; port <= 100; ++port) {
    profile.components.push_back(EncodeAlternateAddress({"a", port}));
  }
  const Reference reference = FromIor({"", {EncodeIiopProfile(profile)}});
  EXPECT_EQ(reference.endpoints.size(), 32);
  EXPECT_EQ(reference.endpoints[1], (Endpoint{"tcp", "a:2"}));
}

TEST(ReferenceTest, IsPrintedAsACorbaloc) {
  EXPECT_EQ(
      ToCorbaloc(Parsed(kOmniNames)),
      "corbaloc:omniunix:/tmp/reftry/y.sock:,:1.2@127.0.0.1:43983,:1.2@[::1]:34457/NameService");
  EXPECT_EQ(ToCorbaloc(Parsed("corbaloc:rir:/X")), "corbaloc:rir:/X");
  EXPECT_EQ(ToCorbaloc(FromIor(Built({{"unix", "/a,b"}, {"tcp", "a:1"}}))),
            "corbaloc::1.2@a:1/echo");
  EXPECT_EQ(ToCorbaloc(FromIor(Built({{"unix", "/a:b"}}))), "");
}

TEST(ReferenceTest, SaysWhatAReferenceBeginsWith) {
  const absl::Status status = ParseReference("localhost:2809", {}).status();
  EXPECT_EQ(FromStatus(status).minor, OmgMinor(7));
  EXPECT_THAT(std::string(status.message()), HasSubstr("'IOR:' or 'corbaloc:'"));
}

}  // namespace
}  // namespace weir::orb
