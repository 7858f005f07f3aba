#include "orb/cdr/byte_buffer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace weir::cdr {
namespace {

TEST(ByteBuffer, GrowsAndKeepsItsContent) {
  ByteBuffer buffer;
  std::string expected;
  for (int i = 0; i < 2000; ++i) {
    const std::string piece(i % 7, static_cast<char>('a' + i % 26));
    buffer.Append(piece);
    expected += piece;
  }
  EXPECT_EQ(buffer.view(), expected);
  EXPECT_GE(buffer.capacity(), buffer.size());
}

TEST(ByteBuffer, OneLargeExtensionFits) {
  ByteBuffer buffer;
  buffer.Append("x");
  uint8_t* at = buffer.Extend(100000);
  at[99999] = 'z';
  EXPECT_EQ(buffer.size(), 100001u);
  EXPECT_EQ(buffer.view().front(), 'x');
  EXPECT_EQ(buffer.view().back(), 'z');
}

TEST(ByteBuffer, ClearKeepsTheMemory) {
  ByteBuffer buffer;
  buffer.Append(std::string(1000, 'x'));
  const uint8_t* const data = buffer.data();
  const size_t capacity = buffer.capacity();
  buffer.Clear();
  EXPECT_TRUE(buffer.empty());
  buffer.Append("y");
  EXPECT_EQ(buffer.data(), data);
  EXPECT_EQ(buffer.capacity(), capacity);
}

TEST(ByteBuffer, TruncateDropsTheEnd) {
  ByteBuffer buffer;
  buffer.Append("abcdef");
  buffer.Truncate(2);
  buffer.Append("z");
  EXPECT_EQ(buffer.view(), "abz");
}

TEST(ByteBuffer, ShrinkToGivesOnlyLargeMemoryBack) {
  ByteBuffer buffer;
  buffer.Append(std::string(1000, 'x'));
  buffer.ShrinkTo(1 << 20);
  EXPECT_EQ(buffer.size(), 1000u);
  buffer.ShrinkTo(512);
  EXPECT_EQ(buffer.capacity(), 0u);
  EXPECT_TRUE(buffer.empty());
  buffer.Append("again");
  EXPECT_EQ(buffer.view(), "again");
}

TEST(ByteBuffer, MovedFromIsEmptyAndOfUse) {
  ByteBuffer buffer;
  buffer.Append("content");
  ByteBuffer other(std::move(buffer));
  EXPECT_EQ(other.view(), "content");
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.capacity(), 0u);
  buffer.Append("new");
  EXPECT_EQ(buffer.view(), "new");
}

}  // namespace
}  // namespace weir::cdr
