#include "orb/cdr/decoder.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "orb/cdr/encoder.h"

namespace weir::cdr {
namespace {

using namespace std::literals;

constexpr ByteOrder kBothOrders[] = {ByteOrder::kBig, ByteOrder::kLittle};

TEST(Decoder, ReadsBigEndianAsTheSpecificationWritesIt) {
  Decoder in("\x01\0\x02\x03\x04\x05\x06\x07"sv, ByteOrder::kBig);
  EXPECT_EQ(in.order(), ByteOrder::kBig);
  EXPECT_EQ(in.ReadOctet(), 1);
  EXPECT_EQ(in.ReadUShort(), 0x0203);
  EXPECT_EQ(in.ReadULong(), 0x04050607u);
  EXPECT_TRUE(in.ok());
}

TEST(Decoder, ReadsLittleEndianSwapped) {
  Decoder in("\x04\x03\x02\x01"sv, ByteOrder::kLittle);
  EXPECT_EQ(in.order(), ByteOrder::kLittle);
  EXPECT_EQ(in.ReadULong(), 0x01020304u);
}

TEST(Decoder, PositionDecidesAboutPadding) {
  for (size_t position = 0; position < 8; ++position) {
    const size_t pad = (8 - position) % 8;
    std::string bytes(pad, 'x');
    bytes += "\0\0\0\0\0\0\0\x05"s;
    Decoder in(bytes, ByteOrder::kBig, position);
    EXPECT_EQ(in.ReadULongLong(), 5u) << position;
    EXPECT_EQ(in.remaining(), 0u);
    // One byte less will not do.
    Decoder cut(std::string_view(bytes).substr(0, bytes.size() - 1), ByteOrder::kBig, position);
    EXPECT_EQ(cut.ReadULongLong(), 0u);
    EXPECT_EQ(cut.error(), DecodeError::kPastEnd);
  }
}

TEST(Decoder, PaddingPastTheEndIsAnError) {
  Decoder in("\x01\x02"sv, ByteOrder::kBig);
  in.ReadOctet();
  in.Align(8);
  EXPECT_EQ(in.error(), DecodeError::kPastEnd);
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(Decoder, FirstErrorSticksAndLaterReadsYieldNothing) {
  Decoder in("\x02\x03\x04\x05\x06"sv, ByteOrder::kBig);
  EXPECT_FALSE(in.ReadBoolean());
  EXPECT_EQ(in.error(), DecodeError::kBadBoolean);
  EXPECT_EQ(in.ReadULong(), 0u);
  EXPECT_EQ(in.ReadOctets(1), "");
  EXPECT_EQ(in.ReadString(), "");
  EXPECT_EQ(in.error(), DecodeError::kBadBoolean);
  EXPECT_NE(DecodeErrorText(in.error()), "");
}

struct BadString {
  std::string_view bytes;
  DecodeError error;
};

TEST(Decoder, MalformedStringsAreToldApart) {
  for (const BadString& bad : {BadString{"\0\0\0\0"sv, DecodeError::kStringEmpty},
                               {"\0\0\0\x02xy"sv, DecodeError::kStringNotEnded},
                               {"\0\0\0\x03x\0\0"sv, DecodeError::kStringNul},
                               {"\0\0\0\x03x\0"sv, DecodeError::kPastEnd},
                               {"\xff\xff\xff\xffx\0"sv, DecodeError::kPastEnd},
                               {"\0\0\0"sv, DecodeError::kPastEnd}}) {
    Decoder in(bad.bytes, ByteOrder::kBig);
    EXPECT_EQ(in.ReadString(), "");
    EXPECT_EQ(in.error(), bad.error);
  }
}

TEST(Decoder, StringIsSeenWithoutItsNul) {
  Decoder in("\0\0\0\x01\0\0\0\0\0\0\0\x03hi\0"sv, ByteOrder::kBig);
  EXPECT_EQ(in.ReadString(), "");
  EXPECT_EQ(in.ReadString(), "hi");
  EXPECT_TRUE(in.ok());
}

TEST(Decoder, SequenceLengthIsHeldAgainstWhatIsThere) {
  const std::string_view bytes = "\0\0\0\x03xxxxxxxx"sv;
  EXPECT_EQ(Decoder(bytes, ByteOrder::kBig).ReadSequenceLength(2), 3u);
  EXPECT_EQ(Decoder(bytes, ByteOrder::kBig).ReadSequenceLength(1, 3), 3u);
  Decoder too_wide(bytes, ByteOrder::kBig);
  EXPECT_EQ(too_wide.ReadSequenceLength(3), 0u);
  EXPECT_EQ(too_wide.error(), DecodeError::kSequenceTooLong);
  Decoder limited(bytes, ByteOrder::kBig);
  EXPECT_EQ(limited.ReadSequenceLength(1, 2), 0u);
  EXPECT_EQ(limited.error(), DecodeError::kSequenceTooLong);
  Decoder huge("\xff\xff\xff\xff"sv, ByteOrder::kBig);
  EXPECT_EQ(huge.ReadSequenceLength(1), 0u);
  EXPECT_FALSE(huge.ok());
  Decoder octets("\xff\xff\xff\xffxx"sv, ByteOrder::kBig);
  EXPECT_EQ(octets.ReadOctetSequence(), "");
  EXPECT_EQ(octets.error(), DecodeError::kPastEnd);
}

TEST(Decoder, EncapsulationHasItsOwnOrderAndAlignment) {
  // The encapsulation starts at position 4 of the outer data; its ulong stands at 4 of its own.
  Decoder in("\0\0\0\x08\x01xxx\x05\0\0\0"sv, ByteOrder::kBig);
  Decoder inner = in.ReadEncapsulation();
  EXPECT_EQ(inner.order(), ByteOrder::kLittle);
  EXPECT_EQ(inner.ReadULong(), 5u);
  EXPECT_TRUE(inner.ok());
  EXPECT_TRUE(in.ok());
}

TEST(Decoder, MalformedEncapsulationFailsItsParent) {
  for (const std::string_view bytes : {"\0\0\0\0"sv, "\0\0\0\x01\x02"sv, "\0\0\0\x09\0"sv}) {
    Decoder in(bytes, ByteOrder::kBig);
    Decoder inner = in.ReadEncapsulation();
    EXPECT_FALSE(inner.ok());
    EXPECT_FALSE(in.ok());
  }
}

TEST(Decoder, WhatTheEncoderWritesReadsTheSame) {
  EXPECT_TRUE(
      rc::check([](uint8_t octet, uint16_t u16, uint32_t u32, uint64_t u64, double d, float f,
                   bool b, const std::string& octets, int16_t i16, int32_t i32, int64_t i64) {
        std::string text = octets;
        std::erase(text, '\0');
        const auto position = *rc::gen::inRange<size_t>(0, 16);
        for (const ByteOrder order : kBothOrders) {
          ByteBuffer buffer;
          Encoder out(&buffer, order, position);
          out.WriteOctet(octet);
          out.WriteUShort(u16);
          out.WriteBoolean(b);
          out.WriteULong(u32);
          out.WriteOctetSequence(octets);
          out.WriteULongLong(u64);
          out.WriteString(text);
          out.WriteDouble(d);
          out.WriteFloat(f);
          out.WriteLongLong(i64);
          out.WriteShort(i16);
          out.WriteLong(i32);
          RC_ASSERT(out.position() == position + buffer.size());
          Decoder in(buffer.view(), order, position);
          RC_ASSERT(in.ReadOctet() == octet);
          RC_ASSERT(in.ReadUShort() == u16);
          RC_ASSERT(in.ReadBoolean() == b);
          RC_ASSERT(in.ReadULong() == u32);
          RC_ASSERT(in.ReadOctetSequence() == octets);
          RC_ASSERT(in.ReadULongLong() == u64);
          RC_ASSERT(in.ReadString() == text);
          RC_ASSERT(in.ReadDouble() == d);
          RC_ASSERT(in.ReadFloat() == f);
          RC_ASSERT(in.ReadLongLong() == i64);
          RC_ASSERT(in.ReadShort() == i16);
          RC_ASSERT(in.ReadLong() == i32);
          RC_ASSERT(in.ok());
          RC_ASSERT(in.remaining() == 0u);
        }
      }));
}

// Restarts: what GIOP 1.1 fragments leave.

TEST(DecoderRestarts, PrimitivesAreAlignedWithinTheirRun) {
  // Run 0: an octet. Run 1, which stands at position 12: an octet, padding, a ulong at 16.
  const uint32_t at[] = {1};
  Decoder in("\x01\x02xxx\0\0\0\x05"sv, ByteOrder::kBig, 0, {at, 1});
  EXPECT_EQ(in.ReadOctet(), 1);
  EXPECT_EQ(in.position(), 12u);
  EXPECT_EQ(in.restarts_ahead().count, 0u);
  EXPECT_EQ(in.ReadOctet(), 2);
  EXPECT_EQ(in.ReadULong(), 5u);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(DecoderRestarts, OctetsRunAcross) {
  const uint32_t at[] = {5, 6, 8};
  // A string from run 0 through run 3, then a ulong: the string ends at position 14 of run 3.
  Decoder in(
      "\0\0\0\x06"
      "hello\0"
      "xx\0\0\0\x07"sv,
      ByteOrder::kBig, 0, {at, 3});
  EXPECT_EQ(in.restarts_ahead().count, 3u);
  EXPECT_EQ(in.ReadString(), "hello");
  EXPECT_EQ(in.position(), 14u);
  EXPECT_EQ(in.restarts_ahead().count, 0u);
  EXPECT_EQ(in.ReadULong(), 7u);
  EXPECT_TRUE(in.ok());
}

TEST(DecoderRestarts, APrimitiveThatDoesNotFitIsInTheNextRun) {
  // Two stray octets end run 0: too few for a ulong.
  const uint32_t at[] = {3};
  Decoder in("\x01zz\0\0\0\x09"sv, ByteOrder::kBig, 0, {at, 1});
  in.ReadOctet();
  EXPECT_EQ(in.ReadULong(), 9u);
  EXPECT_TRUE(in.ok());
}

TEST(DecoderRestarts, LengthsAreHeldAgainstAllRuns) {
  const uint32_t at[] = {4};
  Decoder in("\0\0\0\x03xyz"sv, ByteOrder::kBig, 0, {at, 1});
  EXPECT_EQ(in.remaining(), 7u);
  EXPECT_EQ(in.ReadSequenceLength(1), 3u);
  EXPECT_EQ(in.ReadOctets(4), "");
  EXPECT_EQ(in.error(), DecodeError::kPastEnd);
}

TEST(DecoderRestarts, PastTheLastRunIsAnError) {
  const uint32_t at[] = {1, 2};
  Decoder in("\x01\x02\x03"sv, ByteOrder::kBig, 0, {at, 2});
  EXPECT_EQ(in.ReadUShort(), 0);
  EXPECT_EQ(in.error(), DecodeError::kPastEnd);
}

}  // namespace
}  // namespace weir::cdr
