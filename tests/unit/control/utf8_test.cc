#include "control/utf8.h"

#include <gtest/gtest.h>

namespace weir::control {
namespace {

TEST(Utf8Test, WellFormedTextIsUtf8) {
  for (const char* text : {"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x8c\x8a",
                           "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
}

TEST(Utf8Test, OverlongSurrogateTruncatedAndStrayFormsAreNot) {
  for (const char* text :
       {"\x80", "\xc3", "\xc3x", "\xc0\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

}  // namespace
}  // namespace weir::control
