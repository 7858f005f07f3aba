// What weir top makes of two answers of a node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "control/observe.h"
#include "tools/weir/top_command.h"

namespace weir::tools {
namespace {

namespace v1 = control::v1;

using ::testing::HasSubstr;

void AddSteps(v1::PlugFigures* plug, v1::Phase phase, const std::string& operation, uint64_t passed,
              uint64_t bounced = 0) {
  v1::StepCounts* step = plug->add_steps();
  step->set_operation(operation);
  step->set_phase(phase);
  step->set_called(passed + bounced);
  step->set_passed(passed);
  step->set_bounced(bounced);
}

v1::PlugFigures* AddPlug(v1::MeasureResponse* response, const std::string& name,
                         uint64_t sequence) {
  v1::PlugFigures* plug = response->add_plugs();
  plug->set_plug(name);
  plug->set_sequence(sequence);
  return plug;
}

class TopTest : public ::testing::Test {
 protected:
  TopTest() {
    before.set_time_ns(10'000'000'000);
    now.set_time_ns(12'000'000'000);
    now.set_revision(7);
  }
  v1::MeasureResponse before, now;
};

TEST_F(TopTest, RatesAreOverTheNodesOwnTimeAndOperationsAreAddedUp) {
  AddSteps(AddPlug(&before, "p", 1), v1::PHASE_UP, "x", 100);
  v1::PlugFigures* p = AddPlug(&now, "p", 1);
  AddSteps(p, v1::PHASE_UP, "x", 110);
  AddSteps(p, v1::PHASE_UP, "y", 20, 6);
  const TopScreen screen = Compare(before, now);
  ASSERT_EQ(screen.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(screen.seconds, 2);
  EXPECT_EQ(screen.rows[0].counts.called(), 36u);
  EXPECT_EQ(screen.rows[0].counts.bounced(), 6u);
  EXPECT_EQ(RenderTop(screen),
            "revision 7, the last 2.0 s\n"
            "\n"
            "PLUG  PHASE  CALLS/S  PASSED/S  BOUNCED/S  REDIRECTED/S  RAISED/S  FAILED/S  P50 US  "
            "P99 US  MAX US\n"
            "p     up     18.0     15.0      3.0        0.0           0.0       0.0       -       "
            "-       -\n");
}

TEST_F(TopTest, MostCallsComeFirstAndIdlePlugsLast) {
  AddSteps(AddPlug(&before, "idle", 1), v1::PHASE_UP, "*", 1000);
  AddSteps(AddPlug(&now, "idle", 1), v1::PHASE_UP, "*", 1000);
  AddSteps(AddPlug(&now, "some", 2), v1::PHASE_UP, "*", 5);
  AddSteps(AddPlug(&now, "many", 3), v1::PHASE_DOWN, "*", 50);
  const TopScreen screen = Compare(before, now);
  ASSERT_EQ(screen.rows.size(), 3u);
  EXPECT_EQ(screen.rows[0].plug, "many");
  EXPECT_EQ(screen.rows[0].phase, v1::PHASE_DOWN);
  EXPECT_EQ(screen.rows[1].plug, "some");
  EXPECT_EQ(screen.rows[2].plug, "idle");
}

TEST_F(TopTest, APlugThatWasPluggedAnewCountsFromZero) {
  AddSteps(AddPlug(&before, "p", 1), v1::PHASE_UP, "*", 1000);
  AddSteps(AddPlug(&now, "p", 2), v1::PHASE_UP, "*", 4);
  const TopScreen screen = Compare(before, now);
  ASSERT_EQ(screen.rows.size(), 1u);
  EXPECT_EQ(screen.rows[0].counts.called(), 4u);
}

TEST_F(TopTest, TimesAreThoseOfTheInterval) {
  const auto timed = [](v1::MeasureResponse* response, std::vector<Nanos> values) {
    filters::PlugFigures figures;
    filters::Histogram histogram;
    for (const Nanos value : values) histogram.Add(value);
    figures.up_took = histogram.Read();
    v1::PlugFigures* plug = AddPlug(response, "p", 1);
    AddSteps(plug, v1::PHASE_UP, "*", values.size());
    control::AddFigures(figures, plug);
  };
  timed(&before, {kSecond, kSecond});
  timed(&now, {kSecond, kSecond, 100 * kMicrosecond});
  const TopScreen screen = Compare(before, now);
  ASSERT_EQ(screen.rows.size(), 1u);
  const filters::HistogramCounts& took = screen.rows[0].took;
  EXPECT_EQ(took.count(), 1u);
  EXPECT_NEAR(took.Percentile(0.5), 100 * kMicrosecond, 34 * kMicrosecond);
  EXPECT_LT(took.max, 140u * kMicrosecond) << "not the second of an earlier interval";
  EXPECT_THAT(RenderTopJson(screen), HasSubstr("\"timed\":1,\"mean_us\":100.000,"));
}

TEST_F(TopTest, JsonIsOneLine) {
  EXPECT_EQ(RenderTopJson(Compare(before, now)),
            "{\"revision\":7,\"seconds\":2.000,\"plugs\":[]}\n");
  AddSteps(AddPlug(&now, "a", 1), v1::PHASE_UP, "*", 4);
  AddSteps(AddPlug(&now, "b", 2), v1::PHASE_UP, "*", 2);
  const std::string json = RenderTopJson(Compare(before, now));
  EXPECT_THAT(json, HasSubstr("{\"plug\":\"a\",\"phase\":\"up\",\"called_per_s\":2.0,"));
  EXPECT_THAT(json, HasSubstr("},{\"plug\":\"b\""));
  EXPECT_EQ(json.find('\n'), json.size() - 1);
}

TEST_F(TopTest, NoCallsAtAllIsSaid) {
  EXPECT_THAT(RenderTop(Compare(before, now)), HasSubstr("no plug has met a call yet"));
}

}  // namespace
}  // namespace weir::tools
