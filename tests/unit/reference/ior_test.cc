#include "orb/reference/ior.h"

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orb/core/system_exception.h"
#include "orb/reference/describe.h"
#include "orb/reference/iiop_profile.h"
#include "orb/reference/reference.h"

// Uses GoogleTest without including it.
#include <rapidcheck/gtest.h>

namespace weir::orb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Ior Parsed(std::string_view text) {
  absl::StatusOr<Ior> ior = ParseIor(text);
  EXPECT_TRUE(ior.ok()) << text << ": " << ior.status();
  return ior.value_or(Ior());
}

SystemException ErrorOf(std::string_view text, const IorLimits& limits = {}) {
  const absl::Status status = ParseIor(text, limits).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  return FromStatus(status);
}

// One with everything: two IIOP profiles, an unknown profile, known and unknown components.
Ior Rich() {
  const std::vector<TaggedComponent> components = {
      EncodeOrbType(kOrbTypeOmniOrb),
      EncodeCodeSets({{kCodeSetIso8859_1, {kCodeSetUtf8}}, {kCodeSetUtf16, {kCodeSetUtf16}}}),
      EncodeAlternateAddress({"::1", 2810}),
      EncodeUnixAddress({"vm", "/run/x.sock"}),
      {kTagSslSecTrans, std::string("\0\0\0\x60\0\x40\x0a\xf9", 8)},
      {0xdeadbeef, std::string("\0not \xff an encapsulation", 23)},
      {34, ""},
  };
  return {"IDL:a/B:1.0",
          {EncodeIiopProfile({2, "orb.example", 2809, "key", components}),
           {77, std::string("opaque\0\xff", 8)},
           EncodeIiopProfile({0, "old.example", 1, std::string("k\0\xff", 3), {}})}};
}

TEST(IorTest, IsTheSameAfterARoundTripInEitherByteOrder) {
  for (const cdr::ByteOrder order : {cdr::ByteOrder::kBig, cdr::ByteOrder::kLittle}) {
    EXPECT_EQ(Parsed(ToString(Rich(), order)), Rich());
  }
}

RC_GTEST_PROP(IorTest, AnyIorIsTheSameAfterARoundTrip, ()) {
  Ior ior;
  for (const char c : *rc::gen::arbitrary<std::string>()) {
    if (c != '\0') ior.type_id += c;
  }
  const auto profiles =
      *rc::gen::resize(20, rc::gen::arbitrary<std::vector<std::pair<uint32_t, std::string>>>());
  for (const auto& [tag, data] : profiles) ior.profiles.push_back({tag, data});
  const absl::StatusOr<Ior> again = ParseIor(ToString(ior));
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == ior);
}

RC_GTEST_PROP(IorTest, AnyProfileIsTheSameAfterARoundTrip, (const std::string& key)) {
  IiopProfile profile{2, "h", *rc::gen::arbitrary<uint16_t>(), key, {}};
  const auto components =
      *rc::gen::resize(20, rc::gen::arbitrary<std::vector<std::pair<uint32_t, std::string>>>());
  for (const auto& [tag, data] : components) profile.components.push_back({tag, data});
  const absl::StatusOr<IiopProfile> again = DecodeIiopProfile(EncodeIiopProfile(profile).data);
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == profile);
}

TEST(IorTest, ReadsWithinAMessageAtAnyAlignment) {
  for (size_t position = 0; position < 8; ++position) {
    cdr::ByteBuffer buffer;
    cdr::Encoder out(&buffer, cdr::kNativeOrder, position);
    EncodeIor(Rich(), &out);
    out.WriteULong(42);
    cdr::Decoder in(buffer.view(), cdr::kNativeOrder, position);
    const absl::StatusOr<Ior> ior = DecodeIor(&in);
    ASSERT_TRUE(ior.ok()) << ior.status();
    EXPECT_EQ(*ior, Rich());
    EXPECT_EQ(in.ReadULong(), 42u);
  }
}

TEST(IorTest, TakesAnyCaseAndWhiteSpaceAround) {
  const std::string text = ToString(Rich());
  EXPECT_EQ(Parsed("\n " + text + "\r\n"), Rich());
  std::string upper = text;
  for (char& c : upper) c = static_cast<char>(toupper(c));
  EXPECT_EQ(Parsed(upper), Rich());
  EXPECT_EQ(Parsed("ior:" + text.substr(4)), Rich());
}

TEST(IorTest, ReadsNil) {
  EXPECT_TRUE(Parsed("IOR:01000000010000000000000000000000").IsNil());
  EXPECT_TRUE(Parsed(ToString(Ior())).IsNil());
  EXPECT_FALSE(Rich().IsNil());
}

TEST(IorTest, SaysWhatIsNoIor) {
  EXPECT_EQ(ErrorOf("").minor, OmgMinor(7));
  EXPECT_EQ(ErrorOf("IO").minor, OmgMinor(7));
  EXPECT_EQ(ErrorOf("0100").minor, OmgMinor(7));
  EXPECT_EQ(ErrorOf("IOR:010").minor, OmgMinor(10));
  EXPECT_EQ(ErrorOf("IOR:01zz").minor, OmgMinor(10));
  EXPECT_THAT(std::string(ParseIor("IOR:010g").status().message()), HasSubstr("at 7"));
  EXPECT_EQ(ErrorOf("IOR:").id, ExceptionId::kMarshal);
  EXPECT_EQ(ErrorOf("IOR:02").id, ExceptionId::kMarshal);
}

// Whatever is cut off: an error, never a crash, and never a reference made up of less.
TEST(IorTest, ATruncatedIorIsAnErrorAtEveryByte) {
  const std::string text = ToString(Rich());
  for (size_t size = 4; size < text.size(); size += 2) {
    EXPECT_EQ(ErrorOf(std::string_view(text).substr(0, size)).id, ExceptionId::kMarshal) << size;
  }
}

TEST(IorTest, ATruncatedProfileIsAnErrorAtEveryByte) {
  const std::string data = Rich().profiles[0].data;
  for (size_t size = 0; size < data.size(); ++size) {
    EXPECT_FALSE(DecodeIiopProfile(std::string_view(data).substr(0, size)).ok()) << size;
  }
}

TEST(IorTest, AnyFlippedByteLeavesADefinedAnswer) {
  const std::string text = ToString(Rich());
  std::string octets = absl::HexStringToBytes(text.substr(4));
  for (size_t i = 0; i < octets.size(); ++i) {
    for (const char value : {'\x00', '\x01', '\x7f', '\xff'}) {
      std::string changed = octets;
      changed[i] = value;
      const absl::StatusOr<Ior> ior = ParseIor("IOR:" + absl::BytesToHexString(changed));
      if (!ior.ok()) continue;
      EXPECT_FALSE(Describe(*ior).empty());
      EXPECT_EQ(Parsed(ToString(*ior)), *ior);
      ReferenceFromIor(*ior, {"vm", {}}).IgnoreError();
    }
  }
}

TEST(IorTest, HugeCountsAreRefusedBeforeAnythingIsAllocated) {
  // Four billion profiles; four billion octets of a profile; of the type id.
  EXPECT_EQ(ErrorOf("IOR:010000000100000000000000ffffffff").id, ExceptionId::kMarshal);
  EXPECT_EQ(ErrorOf("IOR:0100000001000000000000000100000000000000ffffffff").id,
            ExceptionId::kMarshal);
  EXPECT_EQ(ErrorOf("IOR:01000000ffffffff00").id, ExceptionId::kMarshal);
  // Four billion components in a profile; four billion conversion code sets.
  EXPECT_FALSE(DecodeIiopProfile({"\1\1\2\0\2\0\0\0a\0\1\0\0\0\0\0\xff\xff\xff\xff", 20}).ok());
  EXPECT_FALSE(DecodeCodeSets({"\1\0\0\0\1\0\1\0\xff\xff\xff\xff", 12}).ok());
  EXPECT_FALSE(DecodeMultipleComponents({"\1\0\0\0\xff\xff\xff\xff", 8}).ok());
}

TEST(IorTest, EachLimitHolds) {
  IorLimits limits;
  limits.max_profiles = 2;
  EXPECT_FALSE(ParseIor(ToString(Rich()), limits).ok());
  limits.max_profiles = 3;
  EXPECT_TRUE(ParseIor(ToString(Rich()), limits).ok());
  limits.max_bytes = 200;
  EXPECT_FALSE(ParseIor(ToString(Rich()), limits).ok());
  limits.max_components = 6;
  EXPECT_FALSE(DecodeIiopProfile(Rich().profiles[0].data, limits).ok());
  limits.max_components = 7;
  EXPECT_TRUE(DecodeIiopProfile(Rich().profiles[0].data, limits).ok());
  EXPECT_FALSE(ParseIor("IOR:" + std::string(1000000, '0')).ok());
}

TEST(IorTest, AProfileOfAnotherMajorVersionIsRefused) {
  std::string data = EncodeIiopProfile({2, "a", 1, "k", {}}).data;
  data[1] = 2;
  EXPECT_THAT(std::string(DecodeIiopProfile(data).status().message()), HasSubstr("2.2"));
}

TEST(IorTest, ALaterMinorVersionIsReadAs12) {
  const Ior ior{"", {EncodeIiopProfile({3, "a", 1, "k", {EncodeAlternateAddress({"b", 2})}})}};
  const absl::StatusOr<Reference> reference = ReferenceFromIor(ior, {});
  ASSERT_TRUE(reference.ok()) << reference.status();
  EXPECT_EQ(reference->giop_minor, 2);
  EXPECT_THAT(reference->endpoints, ElementsAre(Endpoint{"tcp", "a:1"}, Endpoint{"tcp", "b:2"}));
}

TEST(IorTest, ComponentsAreTheSameAfterARoundTrip) {
  EXPECT_EQ(*DecodeOrbType(EncodeOrbType(kOrbTypeTao).data), kOrbTypeTao);
  const CodeSetInfo sets{{kCodeSetUtf8, {1, 2, 3}}, {kCodeSetUtf16, {}}};
  EXPECT_EQ(*DecodeCodeSets(EncodeCodeSets(sets).data), sets);
  const HostPort address{"::1", 65535};
  EXPECT_EQ(*DecodeAlternateAddress(EncodeAlternateAddress(address).data), address);
  const UnixAddress local{"host", "/a/b"};
  EXPECT_EQ(*DecodeUnixAddress(EncodeUnixAddress(local).data), local);
}

// omniORB 4.1.7 as a client reached through a null pointer on this one.
TEST(IorTest, CodeSetsWithWideSetsButNoCharSetAreRead) {
  const CodeSetInfo sets{{0, {}}, {kCodeSetUtf16, {kCodeSetUtf16}}};
  EXPECT_EQ(*DecodeCodeSets(EncodeCodeSets(sets).data), sets);
  const Ior ior{"", {EncodeIiopProfile({2, "a", 1, "k", {EncodeCodeSets(sets)}})}};
  EXPECT_THAT(Describe(ior), HasSubstr("char none, wchar UTF-16"));
}

TEST(IorTest, SslPortsAreReadInTheSpecifiedLayoutOnly) {
  const absl::StatusOr<SslSecTrans> ssl = DecodeSslSecTrans({"\0\0\0\x60\0\x40\x0a\xf9", 8});
  ASSERT_TRUE(ssl.ok());
  EXPECT_EQ(*ssl, (SslSecTrans{0x60, 0x40, 2809}));
  // VisiBroker's ulongs.
  EXPECT_FALSE(DecodeSslSecTrans({"\0\0\0\0\0\0\0\x60\0\0\0\x40\x0a\xf9\0\0", 16}).ok());
}

TEST(DescribeTest, ShowsEveryPart) {
  EXPECT_EQ(Describe(Rich()),
            "type id:   IDL:a/B:1.0\n"
            "profile 1: IIOP 1.2\n"
            "  address: orb.example:2809\n"
            "  key:     \"key\" (0x6b6579, 3 bytes)\n"
            "  ORB_TYPE: omniORB\n"
            "  CODE_SETS: char ISO-8859-1 (converts UTF-8), wchar UTF-16 (converts UTF-16)\n"
            "  ALTERNATE_IIOP_ADDRESS: [::1]:2810\n"
            "  OMNIORB_UNIX_TRANS: /run/x.sock on host vm\n"
            "  SSL_SEC_TRANS: port 2809, supports 0x0060, requires 0x0040\n"
            "  0xdeadbeef: 0x006e6f7420ff20616e20656e63617073756c6174696f6e, 23 bytes\n"
            "  NULL_TAG: 0 bytes\n"
            "profile 2: unknown, tag 0x0000004d\n"
            "  octets:  0x6f706171756500ff, 8 bytes\n"
            "profile 3: IIOP 1.0\n"
            "  address: old.example:1\n"
            "  key:     \"k\\x00\\xff\" (0x6b00ff, 3 bytes)\n");
  EXPECT_EQ(Describe(Ior()), "type id:   (none)\nnil:       it refers to no object\n");
}

TEST(DescribeTest, SaysWhatIsMalformed) {
  const std::string text =
      Describe({"t",
                {{kTagInternetIop, "\1\1"},
                 {kTagMultipleComponents, "\2"},
                 EncodeIiopProfile({2, "a", 0, "k", {{kTagCodeSets, "\1"}}})}});
  EXPECT_THAT(text, HasSubstr("profile 1: malformed IIOP profile: data ends"));
  EXPECT_THAT(text, HasSubstr("profile 2: malformed multiple components profile: value out of"));
  EXPECT_THAT(text, HasSubstr("CODE_SETS: malformed, 0x01, 1 byte\n"));
  EXPECT_THAT(text, HasSubstr("a:0 (no plain TCP)"));
}

TEST(DescribeTest, NothingOutOfAReferenceReachesTheTerminalRaw) {
  const Ior ior{"\x1b[2J", {EncodeIiopProfile({2, "a\nb", 1, "\r\x07", {}})}};
  for (const std::string& text : {Describe(ior), DescribeJson(ior)}) {
    for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  }
}

TEST(DescribeTest, PrintsJson) {
  EXPECT_EQ(DescribeJson({"a\"\\\n", {EncodeIiopProfile({0, "h", 7, "k\xff", {}}), {9, "\1"}}}),
            R"({"type_id":"a\"\\\\\\x0a","nil":false,"profiles":[)"
            R"({"tag":0,"name":"INTERNET_IOP","version":"1.0","host":"h","port":7,)"
            R"("key":"k\\xff","key_hex":"6bff","components":[]},)"
            R"({"tag":9,"hex":"01"}]})");
}

}  // namespace
}  // namespace weir::orb
