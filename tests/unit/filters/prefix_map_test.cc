#include "filters/prefix_map.h"

#include <string>

#include "gtest/gtest.h"

namespace weir::filters {
namespace {

// The value found for `text`, or -1.
int Found(const PrefixMap<int>& map, std::string_view text) {
  const int* const value = map.Find(text);
  return value != nullptr ? *value : -1;
}

TEST(PrefixMapTest, AnEmptyOneFindsNothing) {
  const PrefixMap<int> map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(Found(map, ""), -1);
  EXPECT_EQ(Found(map, "a"), -1);
}

TEST(PrefixMapTest, TheLongestPrefixIsFoundPastSiblingsThatSortBetween) {
  PrefixMap<int> map;
  map.Add("a", 1);
  map.Add("ab", 2);
  map.Add("abc", 3);
  map.Add("abcd/", 4);
  map.Add("ac", 5);
  EXPECT_FALSE(map.empty());
  EXPECT_EQ(Found(map, "a"), 1);
  EXPECT_EQ(Found(map, "az"), 1);
  EXPECT_EQ(Found(map, "abd"), 2);
  EXPECT_EQ(Found(map, "abcz"), 3);
  EXPECT_EQ(Found(map, "abcd/x"), 4);
  EXPECT_EQ(Found(map, "ac"), 5);
  EXPECT_EQ(Found(map, ""), -1);
  EXPECT_EQ(Found(map, "b"), -1);
}

TEST(PrefixMapTest, TheEmptyPrefixIsOneOfEverything) {
  PrefixMap<int> map;
  map.Add("", 0);
  map.Add("\xff", 1);
  EXPECT_EQ(Found(map, ""), 0);
  EXPECT_EQ(Found(map, "a"), 0);
  EXPECT_EQ(Found(map, "\xff\xff"), 1);
}

}  // namespace
}  // namespace weir::filters
