// In which order calls and replies meet plugs: priorities, constraints, plug order.

#include "filters/order.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/call_fixture.h"

namespace weir::filters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

class OrderTest : public CallTest {
 protected:
  // A plug, both ways, for every operation.
  void PlugAs(const PlugChange& plug) {
    Commit({plug, MapUp(plug.name, "*", "a"), MapDown(plug.name, "*", "a")});
  }
  static PlugChange As(std::string name, int32_t priority = 0, std::optional<int32_t> down = {},
                       Names before = {}, Names after = {}) {
    return PlugChange{.name = std::move(name),
                      .filter = "probe",
                      .parameters = {},
                      .selector = "all",
                      .priority = priority,
                      .down_priority = down,
                      .before = std::move(before),
                      .after = std::move(after)};
  }
  static PlugChange Before(std::string name, Names others, int32_t priority = 0) {
    return As(std::move(name), priority, {}, std::move(others));
  }
  static PlugChange After(std::string name, Names others, int32_t priority = 0) {
    return As(std::move(name), priority, {}, {}, std::move(others));
  }
  // The plugs that a call meets, on its way up and down.
  std::pair<std::string, std::string> Order() {
    std::string up, down;
    for (const std::string& seen : See("key")) (seen[1] == '^' ? up : down) += seen[0];
    return {up, down};
  }
  // The plugs that a reply for `key` meets.
  std::string Down(const std::string& key) {
    std::string down;
    for (const std::string& seen : See(key)) {
      if (seen[1] == 'v') down += seen[0];
    }
    return down;
  }
  void Reply(std::string selector, std::optional<ReplyOrder> order) {
    Commit({ReplyOrderChange{std::move(selector), order}});
  }
  void ExpectCircle(const Change& change, const std::string& circle) {
    const State before = registry_.state();
    const absl::Status status = Try({change});
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(circle));
    EXPECT_EQ(std::string(status.message()).find('\n'), std::string::npos);
    EXPECT_EQ(registry_.state(), before);
  }
};

using Both = std::pair<std::string, std::string>;

TEST_F(OrderTest, WithoutDownPrioritiesRepliesMeetPlugsInTheExactReverse) {
  PlugAs(As("a", 5));
  PlugAs(As("b"));
  PlugAs(As("c", 5));
  PlugAs(As("d", -1));
  EXPECT_EQ(Order(), Both("dbac", "cabd"));
}

TEST_F(OrderTest, ADownPriorityTakesThePrioritysPlaceForRepliesOnly) {
  PlugAs(As("a", 1));
  PlugAs(As("b", 2, -10));
  PlugAs(As("c", 3));
  EXPECT_EQ(Order(), Both("abc", "cab"));
}

TEST_F(OrderTest, EqualDownPrioritiesAreTakenInReversePlugOrder) {
  PlugAs(As("a", 3, 7));
  PlugAs(As("b", 2, 7));
  PlugAs(As("c", 1, 7));
  EXPECT_EQ(Order(), Both("cba", "cba"));
}

TEST_F(OrderTest, ADownPriorityThatIsThePriorityIsTheSamePlugAsWithout) {
  PlugAs(As("a", 4, 4));
  EXPECT_FALSE(registry_.state().plugs[0].down_priority.has_value());
  Commit({As("a", 4)});
  EXPECT_FALSE(last_changed_);
}

TEST_F(OrderTest, ABouncedCallPassesDownOnlyThroughThoseThatHadPassedItWhateverTheirDownPriority) {
  PlugAs(As("a", 1, 3));
  PlugAs(As("b", 2, 2));
  PlugAs(As("c", 3, 1));
  PlugAs(As("d", 4, 9));
  bouncer_ = "c";
  EXPECT_EQ(Order(), Both("abc", "ab"));
}

TEST_F(OrderTest, AConstraintWinsOverPriorities) {
  PlugAs(As("a", -5));
  PlugAs(Before("b", {"a"}, 5));
  PlugAs(As("c", 0));
  EXPECT_EQ(Order(), Both("cba", "abc"));
}

TEST_F(OrderTest, BeforeAndAfterSayTheSameFromBothSides) {
  PlugAs(As("a"));
  PlugAs(Before("b", {"a"}));
  EXPECT_EQ(Order(), Both("ba", "ab"));
  Commit({Unplug("a"), Unplug("b")});
  PlugAs(After("a", {"b"}));
  PlugAs(As("b"));
  EXPECT_EQ(Order(), Both("ba", "ab"));
}

TEST_F(OrderTest, ConstraintsHoldForDownPrioritiesToo) {
  PlugAs(As("a", 0, 9));
  PlugAs(As("b", 0, 1, {}, {"a"}));
  EXPECT_EQ(Order(), Both("ab", "ba"));
}

TEST_F(OrderTest, WhatConstraintsLeaveOpenGoesByPriorityThenPlugOrder) {
  PlugAs(After("a", {"f"}));
  PlugAs(As("b", 1));
  PlugAs(As("c"));
  PlugAs(As("d", 1));
  PlugAs(As("e", -1));
  PlugAs(As("f", 1));
  EXPECT_EQ(Order(), Both("ecbdfa", "afdbce"));
}

TEST_F(OrderTest, AConstraintOnAnAbsentPlugHasNoEffectUntilItIsPlugged) {
  PlugAs(After("a", {"z"}));
  PlugAs(As("b"));
  EXPECT_EQ(Order(), Both("ab", "ba"));
  PlugAs(As("z", 9));
  EXPECT_EQ(Order(), Both("bza", "azb"));
  Commit({Unplug("z")});
  EXPECT_EQ(Order(), Both("ab", "ba"));
}

TEST_F(OrderTest, TheOrderOfTwoPlugsIsTheSameWhateverElseACallMeets) {
  // Only the constraints of `m`, which no call meets, hold them in this order.
  PlugAs(As("a", -5));
  PlugAs(As("b", 5));
  Commit({As("m", 0, {}, {"a"}, {"b"})});
  EXPECT_EQ(Order(), Both("ba", "ab"));
}

TEST_F(OrderTest, ACircleIsRefusedByItsNames) {
  PlugAs(Before("a", {"b"}));
  PlugAs(Before("b", {"c"}));
  ExpectCircle(Before("c", {"a"}), "a -> b -> c -> a");
  ExpectCircle(After("b2", {"b2"}), "b2 -> b2");
  PlugAs(As("z", 0, {}, {}, {"c"}));
  ExpectCircle(As("c", 0, {}, {"a"}), "a -> b -> c -> a");
  PlugAs(As("c"));
  EXPECT_EQ(Order(), Both("abcz", "zcba"));
}

TEST_F(OrderTest, AContradictionIsRefusedEvenWhileTheOtherPlugIsAbsent) {
  ExpectCircle(As("a", 0, {}, {"x"}, {"x"}), "a -> x -> a");
  PlugAs(Before("a", {"x"}));
  ExpectCircle(Before("x", {"a"}), "a -> x -> a");
}

TEST_F(OrderTest, ACircleThatTheSameChangeSetResolvesIsNone) {
  PlugAs(Before("a", {"b"}));
  Commit({As("b", 0, {}, {"a"}), Unplug("a"), As("a")});
  EXPECT_EQ(registry_.state().plugs.size(), 2u);
}

TEST_F(OrderTest, ALongCircleIsCutShort) {
  const auto name = [](int i) { return "p" + std::to_string(100 + i); };
  ChangeSet changes;
  for (int i = 0; i < 100; ++i) changes.push_back(Before(name(i), {name((i + 1) % 100)}));
  const absl::Status status = Try(changes);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("p100 -> p101 -> "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("p115 -> ... -> p100;"));
}

TEST_F(OrderTest, PlugsThatDifferInTheirPlaceAreOtherPlugs) {
  PlugAs(As("a", 0, 1, {"x", "y"}, {"z"}));
  Commit({As("a", 0, 1, {"y", "x", "y"}, {"z"})});
  EXPECT_FALSE(last_changed_);
  for (const auto& [other, what] : std::vector<std::pair<PlugChange, std::string>>{
           {As("a", 0, 2, {"x", "y"}, {"z"}), "another down priority"},
           {As("a", 0, {}, {"x", "y"}, {"z"}), "another down priority"},
           {As("a", 0, 1, {"x"}, {"z"}), "another place"},
           {As("a", 0, 1, {"x", "y"}, {}), "another place"}}) {
    const absl::Status status = Try({other});
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  }
}

TEST_F(OrderTest, BadNamesAndTooManyAreRefused) {
  EXPECT_EQ(Try({Before("a", {"no name"})}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Try({After("a", {""})}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Try({After("a", Names(257, "x"))}).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(OrderTest, RepliesMeetPlugsInPlugOrderOnRequest) {
  PlugAs(As("a"));
  PlugAs(As("b", -1));
  PlugAs(As("c"));
  Reply("all", ReplyOrder::kPlugOrder);
  EXPECT_EQ(Order(), Both("bac", "bac"));
  bouncer_ = "c";
  EXPECT_EQ(Order(), Both("bac", "ba"));
  bouncer_ = "";
  Reply("all", ReplyOrder::kReversed);
  EXPECT_EQ(Order(), Both("bac", "cab"));
}

TEST_F(OrderTest, PlugOrderOfRepliesGoesByDownPriorities) {
  PlugAs(As("a", 1));
  PlugAs(As("b", 2, -10));
  PlugAs(As("c", 3));
  Reply("all", ReplyOrder::kPlugOrder);
  EXPECT_EQ(Order(), Both("abc", "bac"));
}

TEST_F(OrderTest, TheMostSpecificReplyOrderOfAKeyHolds) {
  PlugAs(As("a"));
  PlugAs(As("b"));
  Reply("all", ReplyOrder::kPlugOrder);
  Reply("key:x*", ReplyOrder::kReversed);
  Reply("key:xy*", ReplyOrder::kPlugOrder);
  Reply("key:xyz", ReplyOrder::kReversed);
  EXPECT_EQ(Down("w"), "ab");
  EXPECT_EQ(Down("x"), "ba");
  EXPECT_EQ(Down("xa"), "ba");
  EXPECT_EQ(Down("xy"), "ab");
  EXPECT_EQ(Down("xyz"), "ba");
  EXPECT_EQ(Down("xyza"), "ab");
  Reply("key:xyz", std::nullopt);
  EXPECT_EQ(Down("xyz"), "ab");
  Reply("key:xy*", std::nullopt);
  EXPECT_EQ(Down("xyz"), "ba");
  Reply("key:*", ReplyOrder::kReversed);
  EXPECT_EQ(Down("w"), "ba");
}

TEST_F(OrderTest, AReplyOrderHoldsForPlugsOfWiderAndNarrowerTargets) {
  PlugAs(As("a"));
  PlugChange b = As("b");
  b.selector = "key:xy";
  PlugAs(b);
  Reply("key:x*", ReplyOrder::kPlugOrder);
  EXPECT_EQ(Down("xy"), "ab");
  Reply("key:xy", ReplyOrder::kReversed);
  EXPECT_EQ(Down("xy"), "ba");
}

TEST_F(OrderTest, AReplyOrderWithoutPlugsCostsCallsNothing) {
  Reply("key:x", ReplyOrder::kPlugOrder);
  Reply("key:y*", ReplyOrder::kPlugOrder);
  Reply("all", ReplyOrder::kPlugOrder);
  EXPECT_FALSE(registry_.gate()->active());
  PlugChange a = As("a");
  a.selector = "key:z";
  PlugAs(a);
  for (const char* key : {"x", "y", "yy", "w"}) {
    FakeCall call(key);
    EXPECT_EQ(registry_.gate()->Up(call), orb::Gate::Outcome::kPass);
    EXPECT_EQ(call.gate_state().hold, nullptr);
  }
}

TEST_F(OrderTest, ReplyOrdersAreIdempotentAndKeptBySelectorInCanonicalForm) {
  Reply("key:%61", ReplyOrder::kPlugOrder);
  EXPECT_EQ(registry_.revision(), 1u);
  Reply("key:a", ReplyOrder::kPlugOrder);
  Reply("key:b", std::nullopt);
  EXPECT_EQ(registry_.revision(), 1u);
  Reply("all", ReplyOrder::kReversed);
  EXPECT_THAT(registry_.state().reply_orders,
              ElementsAre(TargetReplyOrder{"all", ReplyOrder::kReversed},
                          TargetReplyOrder{"key:a", ReplyOrder::kPlugOrder}));
  EXPECT_EQ(Try({ReplyOrderChange{"nonsense", ReplyOrder::kReversed}}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(OrderTest, AStateReadBackHasTheSameOrderAndItsCirclesAreRefused) {
  PlugAs(As("a", 3, 1, {"c"}));
  PlugAs(After("b", {"c"}, -1));
  PlugAs(As("c"));
  Reply("all", ReplyOrder::kPlugOrder);
  const Both order = Order();
  const State state = registry_.state();
  Reply("all", std::nullopt);
  Commit({Unplug("a"), Unplug("b"), Unplug("c")});
  registry_.Publish(*registry_.PrepareState(state));
  EXPECT_EQ(registry_.state(), state);
  EXPECT_EQ(Order(), order);

  State circle = state;
  circle.plugs[2].before = {"a"};
  EXPECT_EQ(registry_.PrepareState(circle).status().code(), absl::StatusCode::kFailedPrecondition);
  circle = state;
  circle.plugs[0].after = {"c"};
  EXPECT_EQ(registry_.PrepareState(circle).status().code(), absl::StatusCode::kFailedPrecondition);
  State twice = state;
  twice.reply_orders.push_back({"all", ReplyOrder::kReversed});
  EXPECT_EQ(registry_.PrepareState(twice).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::filters
