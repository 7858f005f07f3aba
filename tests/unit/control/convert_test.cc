#include "control/convert.h"

#include <gtest/gtest.h>

#include "control/describe.h"

namespace weir::control {
namespace {

const filters::ChangeSet kAllChanges = {
    filters::PlugChange{"a", "log", {{"k", "v"}, {"l", "w"}}, "key:X*", -3},
    filters::PlugChange{
        "b", "log", {}, "all", 2, 0, {"a", "c"}, {"d"}, {"peer=unix", "operation!=x"}},
    filters::MapChange{"a", "op", "request", filters::Phase::kUp, true},
    filters::UnmapChange{"a", "*", "reply", filters::Phase::kDown},
    filters::EnableChange{"a", "", "", filters::Phase::kUp, true},
    filters::EnableChange{"a", "op", "m", filters::Phase::kDown, false},
    filters::UnplugChange{"a"},
    filters::ReplyOrderChange{"key:X*", filters::ReplyOrder::kPlugOrder},
    filters::ReplyOrderChange{"all", filters::ReplyOrder::kReversed},
    filters::ReplyOrderChange{"key:Y", std::nullopt},
};

TEST(ConvertTest, EveryChangeComesBackAsItWent) {
  auto back = FromProto(ToProto(kAllChanges));
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), kAllChanges.size());
  // Descriptions name every field.
  EXPECT_EQ(Describe(*back, 10'000), Describe(kAllChanges, 10'000));
  EXPECT_EQ(
      Describe(*back, 10'000),
      "plug a filter log on key:X* priority -3 k=v l=w; plug b filter log on all priority 2 down "
      "priority 0 before a before c after d if peer=unix if operation!=x; map a 'op' up request "
      "enabled; "
      "unmap a '*' down reply; enable a all operations up; disable a 'op' down m; unplug a; "
      "reply order of key:X* plug-order; reply order of all reversed; reply order of key:Y "
      "inherited");
}

TEST(ConvertTest, APlugAsItStandsIsToldWhole) {
  const filters::Plug plug{.name = "a",
                           .filter = "log",
                           .parameters = {{"k", "v"}},
                           .selector = "key:X*",
                           .priority = -3,
                           .sequence = 7,
                           .down_priority = 0,
                           .before = {"b", "c"},
                           .after = {"d"},
                           .conditions = {"peer=unix"},
                           .mappings = {{"op", filters::Phase::kDown, "reply", true}}};
  EXPECT_EQ(ToProto(plug).ShortDebugString(),
            "plug { name: \"a\" filter: \"log\" parameters { key: \"k\" value: \"v\" } selector: "
            "\"key:X*\" priority: -3 down_priority: 0 before: \"b\" before: \"c\" after: \"d\" "
            "conditions: \"peer=unix\" } "
            "sequence: 7 mappings { operation: \"op\" phase: PHASE_DOWN method: \"reply\" enabled: "
            "true }");
}

TEST(ConvertTest, AnEmptyChangeSetIsInvalid) {
  EXPECT_EQ(FromProto(v1::ChangeSet()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ConvertTest, AChangeWithoutContentIsInvalidAndNumbered) {
  v1::ChangeSet changes;
  changes.add_changes()->mutable_unplug()->set_name("a");
  changes.add_changes();
  const absl::Status status = FromProto(changes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("change 2"), absl::string_view::npos) << status;
}

TEST(ConvertTest, AChangeWithoutItsPhaseIsInvalid) {
  v1::ChangeSet map, unmap, enable, disable;
  map.add_changes()->mutable_map()->set_plug("a");
  unmap.add_changes()->mutable_unmap()->set_plug("a");
  enable.add_changes()->mutable_enable()->set_plug("a");
  disable.add_changes()->mutable_disable()->set_plug("a");
  for (const v1::ChangeSet& changes : {map, unmap, enable, disable}) {
    EXPECT_EQ(FromProto(changes).status().code(), absl::StatusCode::kInvalidArgument)
        << changes.ShortDebugString();
  }
}

TEST(ConvertTest, AReplyOrderThatIsNoneIsInvalid) {
  v1::ChangeSet changes;
  changes.add_changes()->mutable_set_reply_order()->set_selector("all");
  EXPECT_EQ(FromProto(changes).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(DescribeTest, NamesCannotBreakALine) {
  EXPECT_EQ(Describe(filters::UnplugChange{"a\nb\x1b[2J"}), "unplug a\\x0ab\\x1b[2J");
}

TEST(DescribeTest, ALongChangeSetIsCutOff) {
  EXPECT_EQ(Describe(filters::ChangeSet(100, filters::UnplugChange{"abc"}), 20).size(), 23u);
}

}  // namespace
}  // namespace weir::control
