#include "filters/selector.h"

#include <string>

#include "gtest/gtest.h"

namespace weir::filters {
namespace {

Selector Good(std::string_view text) {
  auto selector = Selector::Parse(text);
  EXPECT_TRUE(selector.ok()) << text << ": " << selector.status().ToString();
  return selector.value_or(Selector{});
}

TEST(SelectorTest, AnExactKeyMatchesOnlyItself) {
  const Selector selector = Good("key:NameService");
  EXPECT_TRUE(selector.Matches("NameService"));
  EXPECT_FALSE(selector.Matches("NameService2"));
  EXPECT_FALSE(selector.Matches("NameServic"));
  EXPECT_FALSE(selector.Matches(""));
}

TEST(SelectorTest, APrefixMatchesWhatBeginsWithIt) {
  const Selector selector = Good("key:accounts/*");
  EXPECT_TRUE(selector.Matches("accounts/7"));
  EXPECT_TRUE(selector.Matches("accounts/"));
  EXPECT_FALSE(selector.Matches("accounts"));
}

TEST(SelectorTest, KeyStarAndAllMatchEveryKeyEvenAnEmptyOne) {
  for (const char* text : {"key:*", "all"}) {
    EXPECT_TRUE(Good(text).Matches("anything"));
    EXPECT_TRUE(Good(text).Matches(""));
  }
}

TEST(SelectorTest, PercentEscapesStandForAnyByte) {
  EXPECT_EQ(Good("key:%00%ff%2A").bytes, std::string("\0\xff*", 3));
  EXPECT_TRUE(Good("key:a%20b").Matches("a b"));
}

TEST(SelectorTest, AnEscapedStarAtTheEndIsNotAWildcard) {
  const Selector selector = Good("key:a%2a");
  EXPECT_EQ(selector.kind, Selector::Kind::kKey);
  EXPECT_TRUE(selector.Matches("a*"));
  EXPECT_FALSE(selector.Matches("ab"));
}

TEST(SelectorTest, EqualSelectorsHaveOneCanonicalForm) {
  EXPECT_EQ(Good("key:%61%62").Canonical(), "key:ab");
  EXPECT_EQ(Good("key:a b").Canonical(), "key:a%20b");
  EXPECT_EQ(Good("key:a%2a*").Canonical(), "key:a%2A*");
  EXPECT_EQ(Good("key:%c3%a4").Canonical(), "key:%C3%A4");
  EXPECT_EQ(Good("all").Canonical(), "all");
  EXPECT_EQ(Good("key:*").Canonical(), "key:*");
}

TEST(SelectorTest, TheCanonicalFormOfEveryByteReadsBack) {
  for (int byte = 0; byte < 256; ++byte) {
    for (const auto kind : {Selector::Kind::kKey, Selector::Kind::kPrefix}) {
      const Selector selector{kind, std::string("x") + static_cast<char>(byte)};
      EXPECT_EQ(Good(selector.Canonical()), selector) << byte;
    }
  }
}

TEST(SelectorTest, BadOnesAreRefusedInOneLineWithAnExample) {
  for (const char* text : {"", "key:", "Key:x", "NameService", "ALL", "key:a*b", "key:**", "key:%",
                           "key:%4", "key:%zz", "key:a\n*b"}) {
    const auto selector = Selector::Parse(text);
    ASSERT_EQ(selector.status().code(), absl::StatusCode::kInvalidArgument) << text;
    const std::string message(selector.status().message());
    EXPECT_NE(message.find("key:NameService"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(SelectorTest, AnInterfaceIsItsRepositoryIdAsItIs) {
  for (const char* id :
       {"IDL:acme/Bank:1.0", "IDL:Bank:1.0", "IDL:omg.org/CosNaming/NamingContext:1.0",
        "IDL:acme/Bank:12.345", "RMI:com.acme.Bank:0123456789ABCDEF:0011223344556677",
        "DCE:700dc518-0110-11ce-ac8f-0800090b5d3e:1", "LOCAL:whatever/it-is%20"}) {
    const Selector selector = Good(std::string("interface:") + id);
    EXPECT_EQ(selector.kind, Selector::Kind::kInterface) << id;
    EXPECT_EQ(selector.bytes, id);
    EXPECT_EQ(selector.Canonical(), std::string("interface:") + id);
    EXPECT_EQ(Good(selector.Canonical()), selector);
  }
}

TEST(SelectorTest, ABadRepositoryIdIsRefusedInOneLineWithAnExample) {
  for (const std::string& id : {std::string(""),
                                std::string("Bank"),
                                std::string("acme/Bank:"),
                                std::string(":Bank"),
                                std::string("IDL:"),
                                std::string("IDL:acme/Bank"),
                                std::string("IDL:acme/Bank:"),
                                std::string("IDL:acme/Bank:1"),
                                std::string("IDL:acme/Bank:1."),
                                std::string("IDL:acme/Bank:.0"),
                                std::string("IDL:acme/Bank:1.0.0"),
                                std::string("IDL:acme/Bank:1.x"),
                                std::string("IDL::1.0"),
                                std::string("IDL:/Bank:1.0"),
                                std::string("IDL:acme/:1.0"),
                                std::string("IDL:acme//Bank:1.0"),
                                std::string("IDL:acme:Bank:1.0"),
                                std::string("IDL:acme/*:1.0"),
                                std::string("IDL:acme/Bank :1.0"),
                                std::string("IDL:acme/B\nank:1.0"),
                                std::string("IDL:acme/B\xe4nk:1.0"),
                                std::string("IDL:omg.org/CORBA/Object:1.0"),
                                "IDL:" + std::string(300, 'x') + ":1.0"}) {
    const auto selector = Selector::Parse("interface:" + id);
    ASSERT_EQ(selector.status().code(), absl::StatusCode::kInvalidArgument) << id;
    const std::string message(selector.status().message());
    EXPECT_NE(message.find("interface:IDL:acme/Bank:1.0"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace weir::filters
