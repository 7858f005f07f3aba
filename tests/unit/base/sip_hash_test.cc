#include "base/sip_hash.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace weir {
namespace {

// The key and the input of the authors' test vectors: octets that count from 0.
SipKey CountingKey() { return {0x0706050403020100, 0x0f0e0d0c0b0a0908}; }
std::string Counting(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}
std::string Hex(const SipValue& value) {
  std::string hex;
  for (const uint64_t word : value) {
    for (int i = 0; i < 8; ++i) {
      static constexpr char kDigits[] = "0123456789abcdef";
      const uint8_t octet = static_cast<uint8_t>(word >> (8 * i));
      hex += {kDigits[octet / 16], kDigits[octet % 16]};
    }
  }
  return hex;
}

TEST(SipHash, GivesTheAuthorsValues) {
  // vectors.h of https://github.com/veorq/SipHash, vectors_sip128.
  const std::vector<std::string> expected = {
      "a3817f04ba25a8e66df67214c7550293", "da87c1d86b99af44347659119b22fc45",
      "8177228da4a45dc7fca38bdef60affe4", "9c70b60c5267a94e5f33b6b02985ed51",
      "f88164c12d9c8faf7d0f6e7c7bcd5579", "1368875980776f8854527a07690e9627",
      "14eeca338b208613485ea0308fd7a15e", "a1f1ebbed8dbc153c0b84aa61ff08239",
      "3b62a9ba6258f5610f83e264f31497b4", "264499060ad9baabc47f8b02bb6d71ed",
  };
  for (size_t size = 0; size < expected.size(); ++size) {
    EXPECT_EQ(Hex(SipHash(CountingKey(), Counting(size))), expected[size]) << size;
  }
}

TEST(SipHash, APrefixIsTheFirstEightOctets) {
  for (size_t size : {8, 9, 15, 16, 17, 100}) {
    const std::string bytes = Counting(size);
    uint64_t prefix = 0;
    for (int i = 7; i >= 0; --i) prefix = prefix << 8 | static_cast<uint8_t>(bytes[i]);
    EXPECT_EQ(SipHash(CountingKey(), prefix, bytes.substr(8)), SipHash(CountingKey(), bytes));
  }
}

TEST(SipHash, EveryBitOfKeyAndInputCounts) {
  const SipValue value = SipHash({1, 2}, 3, "some/object");
  EXPECT_NE(SipHash({0, 2}, 3, "some/object"), value);
  EXPECT_NE(SipHash({1, 3}, 3, "some/object"), value);
  EXPECT_NE(SipHash({1, 2}, 2, "some/object"), value);
  EXPECT_NE(SipHash({1, 2}, 3, "some/objecu"), value);
  EXPECT_NE(SipHash({1, 2}, 3, std::string("some/object\0", 12)), value);
}

}  // namespace
}  // namespace weir
