#include "orb/cdr/encoder.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::cdr {
namespace {

using namespace std::literals;

TEST(Encoder, PadsWithZeroesInBothOrders) {
  ByteBuffer buffer;
  Encoder big(&buffer, ByteOrder::kBig);
  big.WriteOctet(1);
  big.WriteULong(0x02030405);
  EXPECT_EQ(buffer.view(), "\x01\0\0\0\x02\x03\x04\x05"sv);
  buffer.Clear();
  Encoder little(&buffer, ByteOrder::kLittle);
  little.WriteOctet(1);
  little.WriteUShort(0x0203);
  EXPECT_EQ(buffer.view(), "\x01\0\x03\x02"sv);
}

TEST(Encoder, PositionCountsFromWhereItIsToldAndNotFromTheBuffersStart) {
  ByteBuffer buffer;
  buffer.Append("odd");
  Encoder out(&buffer, ByteOrder::kBig, 4);
  out.WriteULong(1);
  EXPECT_EQ(out.position(), 8u);
  EXPECT_EQ(buffer.view(), "odd\0\0\0\x01"sv);
}

TEST(Encoder, StringsCarryTheirNul) {
  ByteBuffer buffer;
  Encoder out(&buffer, ByteOrder::kBig);
  out.WriteString("");
  EXPECT_EQ(buffer.view(), "\0\0\0\x01\0"sv);
  out.WriteString("hi");
  EXPECT_EQ(buffer.view(), "\0\0\0\x01\0\0\0\0\0\0\0\x03hi\0"sv);
}

TEST(Encoder, AlignGoesToTheNextMultiple) {
  for (size_t n : {1, 2, 4, 8}) {
    for (size_t position = 0; position < 9; ++position) {
      ByteBuffer buffer;
      Encoder out(&buffer, kNativeOrder, position);
      out.Align(n);
      EXPECT_EQ(out.position() % n, 0u);
      EXPECT_LT(buffer.size(), n);
      EXPECT_EQ(buffer.view(), std::string(buffer.size(), '\0'));
    }
  }
}

}  // namespace
}  // namespace weir::cdr
