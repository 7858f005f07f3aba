#include "filters/histogram.h"

#include <array>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace weir::filters {
namespace {

HistogramCounts Of(const std::vector<Nanos>& values) {
  Histogram histogram;
  for (const Nanos value : values) histogram.Add(value);
  return histogram.Read();
}

TEST(HistogramTest, BucketsAreHalvesOfPowersOfTwoFrom64NanosecondsTo69Seconds) {
  EXPECT_EQ(HistogramCounts::LowerBound(0), 0);
  EXPECT_EQ(HistogramCounts::LowerBound(1), 64);
  EXPECT_EQ(HistogramCounts::LowerBound(2), 96);
  EXPECT_EQ(HistogramCounts::LowerBound(3), 128);
  EXPECT_EQ(HistogramCounts::LowerBound(4), 192);
  EXPECT_EQ(HistogramCounts::LowerBound(kHistogramBuckets - 1), Nanos{1} << 36);
  EXPECT_EQ(HistogramCounts::LowerBound(kHistogramBuckets), kNoDeadline);
}

TEST(HistogramTest, EachBucketBeginsAtItsBoundAndEndsBeforeTheNext) {
  for (size_t i = 0; i < kHistogramBuckets; ++i) {
    EXPECT_EQ(HistogramCounts::BucketOf(HistogramCounts::LowerBound(i)), i);
    EXPECT_EQ(HistogramCounts::BucketOf(HistogramCounts::LowerBound(i + 1) - 1), i);
  }
}

TEST(HistogramTest, ValuesOutsideOfTheBoundsFallIntoTheOutermostBuckets) {
  EXPECT_EQ(HistogramCounts::BucketOf(-1), 0u);
  EXPECT_EQ(HistogramCounts::BucketOf(INT64_MIN), 0u);
  EXPECT_EQ(HistogramCounts::BucketOf(INT64_MAX), kHistogramBuckets - 1);
  const HistogramCounts counts = Of({-5, 0});
  EXPECT_EQ(counts.sum, 0u);
  EXPECT_EQ(counts.max, 0u);
  EXPECT_EQ(counts.count(), 2u);
}

TEST(HistogramTest, NothingCountedIsZero) {
  const HistogramCounts none = Histogram().Read();
  EXPECT_EQ(none.count(), 0u);
  EXPECT_EQ(none.Mean(), 0);
  EXPECT_EQ(none.Percentile(0.5), 0);
}

TEST(HistogramTest, MeanAndMaxAreExact) {
  const HistogramCounts counts = Of({100, 200, 1'000'000'003});
  EXPECT_DOUBLE_EQ(counts.Mean(), (100 + 200 + 1'000'000'003) / 3.0);
  EXPECT_EQ(counts.max, 1'000'000'003u);
}

TEST(HistogramTest, PercentilesAreWithinAThirdOfTheTruthWhereverTheValuesLie) {
  for (const Nanos scale : {Nanos{100}, 10 * kMicrosecond, 3 * kMillisecond, 20 * kSecond}) {
    std::vector<Nanos> values;
    for (int i = 1; i <= 1000; ++i) values.push_back(scale + scale * i / 1000);
    const HistogramCounts counts = Of(values);
    for (const double p : {0.01, 0.5, 0.9, 0.99, 1.0}) {
      const double truth = static_cast<double>(values[static_cast<size_t>(p * 1000) - 1]);
      EXPECT_NEAR(counts.Percentile(p), truth, truth / 3) << scale << " " << p;
    }
  }
}

TEST(HistogramTest, PercentilesAreSpreadEvenlyWithinABucket) {
  // Four in the bucket from 128 to 192: at an eighth, three eighths and so on of it.
  const HistogramCounts counts = Of({130, 140, 150, 191});
  EXPECT_DOUBLE_EQ(counts.Percentile(0.25), 128 + 8);
  EXPECT_DOUBLE_EQ(counts.Percentile(0.5), 128 + 24);
  EXPECT_DOUBLE_EQ(counts.Percentile(0.75), 128 + 40);
  EXPECT_DOUBLE_EQ(counts.Percentile(0.751), 128 + 56);
  EXPECT_DOUBLE_EQ(counts.Percentile(0), counts.Percentile(0.25)) << "the first one";
}

TEST(HistogramTest, NoPercentileIsAboveTheMax) {
  EXPECT_EQ(Of({100}).Percentile(0.5), 100);
  const Nanos minutes = 120 * kSecond;
  EXPECT_LE(Of({minutes, minutes}).Percentile(0.99), minutes);
  EXPECT_GE(Of({minutes, minutes}).Percentile(0.99), kMostNanos);
}

TEST(HistogramTest, TheDifferenceOfTwoReadingsIsWhatHappenedInBetween) {
  Histogram histogram;
  histogram.Add(kSecond);
  const HistogramCounts before = histogram.Read();
  histogram.Add(150);
  histogram.Add(160);
  const HistogramCounts between = histogram.Read().Since(before);
  EXPECT_EQ(between.count(), 2u);
  EXPECT_EQ(between.sum, 310u);
  EXPECT_EQ(between.max, 192u) << "the bound of its bucket: the max is older";
  histogram.Add(2 * kSecond);
  EXPECT_EQ(histogram.Read().Since(before).max, uint64_t{2 * kSecond}) << "reached in between";
  EXPECT_EQ(histogram.Read().Since(histogram.Read()), HistogramCounts());
}

TEST(HistogramTest, ThreadsLoseNothingHoweverManyThereAre) {
  // More than have an index of their own, so that some share one.
  constexpr int kThreads = 40;
  constexpr int kEach = 2000;
  Histogram histogram;
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (int i = 0; i < kEach; ++i) histogram.Add(100 + t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const HistogramCounts counts = histogram.Read();
  EXPECT_EQ(counts.count(), uint64_t{kThreads} * kEach);
  EXPECT_EQ(counts.sum, uint64_t{kEach} * (100 * kThreads + kThreads * (kThreads - 1) / 2));
  EXPECT_EQ(counts.max, 100u + kThreads - 1);
}

}  // namespace
}  // namespace weir::filters
