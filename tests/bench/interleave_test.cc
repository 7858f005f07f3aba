#include "tools/bench/interleave.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/bench/report.h"

namespace weir::bench {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Takes `nanos` for each call, and notes who was asked when.
class Fake : public Contender {
 public:
  Fake(int id, Nanos nanos, std::vector<int>* log) : id_(id), nanos_(nanos), log_(log) {}
  absl::StatusOr<Nanos> Run(int calls) override {
    if (calls == kTimed) log_->push_back(id_);
    return nanos_ * calls;
  }
  static constexpr int kTimed = 40;

 private:
  const int id_;
  const Nanos nanos_;
  std::vector<int>* const log_;
};

TEST(InterleaveTest, EveryRoundRunsEachContenderOnceInAnOrderOfItsOwn) {
  std::vector<int> log;
  Fake a(0, 10, &log), b(1, 20, &log), c(2, 30, &log);
  const auto times = Interleave({&a, &b, &c}, {.rounds = 8, .calls = Fake::kTimed, .seed = 1});
  ASSERT_TRUE(times.ok());
  ASSERT_THAT(*times, ElementsAre(SizeIs(8), SizeIs(8), SizeIs(8)));
  EXPECT_THAT((*times)[0], Each(10));
  EXPECT_THAT((*times)[2], Each(30));
  // One round more, which is not counted.
  ASSERT_EQ(log.size(), 27u);
  bool orders_differ = false;
  for (size_t i = 0; i < log.size(); i += 3) {
    const std::vector<int> round(log.begin() + i, log.begin() + i + 3);
    EXPECT_THAT(round, ::testing::UnorderedElementsAre(0, 1, 2));
    orders_differ = orders_differ || round != std::vector<int>(log.begin(), log.begin() + 3);
  }
  EXPECT_TRUE(orders_differ);
}

TEST(InterleaveTest, AnErrorOfAContenderEndsIt) {
  class Broken : public Contender {
    absl::StatusOr<Nanos> Run(int) override { return absl::UnavailableError("gone"); }
  } broken;
  EXPECT_EQ(Interleave({&broken}, {}).status(), absl::UnavailableError("gone"));
}

TEST(SummaryTest, QuartilesLieBetweenNeighbours) {
  const Summary s = Summarize({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(s.median, 2.5);
  EXPECT_DOUBLE_EQ(s.low, 1.75);
  EXPECT_DOUBLE_EQ(s.high, 3.25);
  EXPECT_DOUBLE_EQ(Summarize({7}).median, 7);
}

TEST(ReportTest, ShowsEachFigureBesideItsBudget) {
  Report report;
  report.rows.push_back({"bare", {10000, 9000, 11000}});
  report.rows.push_back({"direct", {10500, 9500, 11500}, "bare", {1.05, 1.04, 1.06}, false, 1.1});
  report.notes.push_back("\"omniORB\" is left out");
  const std::string table = RenderTable(report);
  EXPECT_THAT(table, HasSubstr("1.050  1.040..1.060    <= 1.10"));
  EXPECT_THAT(table, HasSubstr("Note: \"omniORB\" is left out"));
  const std::string json = RenderJson(report);
  EXPECT_THAT(json, HasSubstr(R"("base":"bare","ratio":1.0500,"quartiles":[1.0400,1.0600],)"
                              R"("budget":1.1})"));
  EXPECT_THAT(json, HasSubstr(R"("notes":["\"omniORB\" is left out"]})"));
}

}  // namespace
}  // namespace weir::bench
