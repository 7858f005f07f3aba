#include "base/strings.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(StringsTest, StrCatMixesStringViewsWithTheRest) {
  std::string text =
      StrCat(std::string_view("a"), "b", std::string("c"), 1, absl::string_view("d"));
  StrAppend(&text, std::string_view("e"), 2u);
  EXPECT_EQ(text, "abc1de2");
}

TEST(StringsTest, EscapeLeavesOnlyPrintableAscii) {
  EXPECT_EQ(Escape("plain 'text' \"~"), "plain 'text' \"~");
  EXPECT_EQ(Escape(std::string_view("\0\x1b[\n\x7f\xff"
                                    "0",
                                    7)),
            "\\x00\\x1b[\\x0a\\x7f\\xff0");
  EXPECT_EQ(Escape("\\x00"), "\\\\x00");
}

TEST(StringsTest, StripsWhiteSpaceAtBothEndsOnly) {
  EXPECT_EQ(StripWhitespace("\r\n a b\t"), "a b");
  EXPECT_EQ(StripWhitespace(" "), "");
}

}  // namespace
}  // namespace weir
