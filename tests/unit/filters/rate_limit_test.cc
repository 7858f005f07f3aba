// The filter `rate-limit`, and its buckets.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "filters/builtin/rate_buckets.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/builtin_fixture.h"

namespace weir::filters {
namespace {

using testing::HasSubstr;

// Buckets are on the heap in these tests: with AddressSanitizer, GCC does not align what is on the
// stack to a cache line.

// How many of `calls` find a token.
int Taken(RateBuckets* buckets, Nanos now, int calls) {
  int taken = 0;
  for (int i = 0; i < calls; ++i) taken += buckets->TakeShared(now);
  return taken;
}

TEST(RateBucketsTest, ABucketHoldsItsBurstAndFillsAtItsRate) {
  const auto owned = std::make_unique<RateBuckets>(/*interval=*/100, /*burst=*/3, /*places=*/0);
  RateBuckets& buckets = *owned;
  EXPECT_EQ(Taken(&buckets, 1000, 10), 3);
  EXPECT_EQ(Taken(&buckets, 1099, 10), 0);
  EXPECT_EQ(Taken(&buckets, 1100, 10), 1);
  EXPECT_EQ(Taken(&buckets, 1299, 10), 1);
  EXPECT_EQ(Taken(&buckets, 1300, 10), 1);
  EXPECT_EQ(Taken(&buckets, 1'000'000'000, 10), 3) << "never more than the burst";
}

TEST(RateBucketsTest, ABurstOfOneSpacesCallsByTheInterval) {
  const auto owned = std::make_unique<RateBuckets>(100, 1, 0);
  RateBuckets& buckets = *owned;
  EXPECT_EQ(Taken(&buckets, 0, 5), 1);
  EXPECT_EQ(Taken(&buckets, 99, 5), 0);
  EXPECT_EQ(Taken(&buckets, 100, 5), 1);
}

TEST(RateBucketsTest, TimesBeforeOthersAndBelowZeroGrantNothingExtra) {
  const auto owned = std::make_unique<RateBuckets>(100, 2, 0);
  RateBuckets& buckets = *owned;
  EXPECT_EQ(Taken(&buckets, -5000, 5), 2);
  EXPECT_EQ(Taken(&buckets, -4900, 5), 1);
  EXPECT_EQ(Taken(&buckets, -5000, 5), 0);  // as a thread that read the clock earlier would
  EXPECT_EQ(Taken(&buckets, -4800, 5), 1);
}

TEST(RateBucketsTest, TheSlowestAndLargestBucketDoesNotOverflow) {
  const auto owned = std::make_unique<RateBuckets>(1000 * kSecond, 1'000'000, 0);
  RateBuckets& buckets = *owned;
  const Nanos century = 100LL * 365 * 86400 * kSecond;
  EXPECT_EQ(Taken(&buckets, century, 1'000'001), 1'000'000);
  EXPECT_EQ(Taken(&buckets, century + 1000 * kSecond, 10), 1);
}

TEST(RateBucketsTest, KeysHaveBucketsOfTheirOwnUntilThePlacesAreTaken) {
  const auto owned = std::make_unique<RateBuckets>(100, 1, /*places=*/2);
  RateBuckets& buckets = *owned;
  bool shared = true;
  EXPECT_TRUE(buckets.Take(1, 0, &shared));
  EXPECT_FALSE(shared);
  EXPECT_FALSE(buckets.Take(1, 0, &shared));
  EXPECT_FALSE(shared);
  EXPECT_TRUE(buckets.Take(2, 0, &shared));
  EXPECT_FALSE(shared);
  EXPECT_TRUE(buckets.Take(3, 0, &shared));
  EXPECT_TRUE(shared);
  EXPECT_FALSE(buckets.Take(4, 0, &shared)) << "3 and 4 share one";
  EXPECT_TRUE(shared);
}

TEST(RateBucketsTest, AFullBucketMakesWayForAnotherKey) {
  const auto owned = std::make_unique<RateBuckets>(100, 1, 2);
  RateBuckets& buckets = *owned;
  bool shared = true;
  EXPECT_TRUE(buckets.Take(1, 0, &shared));
  EXPECT_TRUE(buckets.Take(2, 50, &shared));
  EXPECT_TRUE(buckets.Take(3, 100, &shared));
  EXPECT_FALSE(shared);  // in place of 1
  EXPECT_FALSE(buckets.Take(2, 100, &shared));
  EXPECT_FALSE(shared) << "2 was not full yet and is still there";
  EXPECT_TRUE(buckets.Take(1, 150, &shared));
  EXPECT_FALSE(shared);  // in place of 2
}

TEST(RateBucketsTest, AHashOfZeroIsAKeyLikeOthers) {
  const auto owned = std::make_unique<RateBuckets>(100, 1, 8);
  RateBuckets& buckets = *owned;
  bool shared = true;
  EXPECT_TRUE(buckets.Take(0, 0, &shared));
  EXPECT_FALSE(shared);
  EXPECT_FALSE(buckets.Take(0, 0, &shared));
}

TEST(RateBucketsTest, ManyThreadsTakeNoMoreThanThereIs) {
  for (const bool keyed : {false, true}) {
    const auto owned = std::make_unique<RateBuckets>(kSecond, 1000, keyed ? 16 : 0);
    RateBuckets& buckets = *owned;
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        bool shared;
        for (int i = 0; i < 1000; ++i) {
          taken += keyed ? buckets.Take(7, 5, &shared) : buckets.TakeShared(5);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken, 1000);
  }
}

class RateLimitTest : public BuiltinTest {
 protected:
  // How many of `calls` reach the servant.
  int Passed(int calls, const std::string& peer = "10.0.0.7:40112",
             const std::string& operation = "op") {
    int passed = 0;
    for (int i = 0; i < calls; ++i) {
      FakeCall call("k", operation);
      call.set_peer({"tcp", peer});
      call.Run(registry_.gate());
      passed += call.reached_servant();
    }
    return passed;
  }
};

TEST_F(RateLimitTest, TheBurstIsOneSecondsWorthUnlessSet) {
  Plug("rate-limit", {{"rate", "5"}}, "limit");
  EXPECT_EQ(Passed(20), 5);
  clock_.now += 200 * kMillisecond - 1;
  EXPECT_EQ(Passed(20), 0);
  clock_.now += 1;
  EXPECT_EQ(Passed(20), 1);
  clock_.now += 10 * kSecond;
  EXPECT_EQ(Passed(20, "10.0.0.8:1", "other"), 5);
  auto counters = Counters();
  EXPECT_EQ(counters[".passed"], 11u);
  EXPECT_EQ(counters[".refused"], 69u);
  EXPECT_EQ(counters[".shared"], 0u);
}

TEST_F(RateLimitTest, FractionsOfACallASecondWork) {
  Plug("rate-limit", {{"rate", "0.5"}}, "limit");
  EXPECT_EQ(Passed(5), 1);
  clock_.now += 2 * kSecond - 1;
  EXPECT_EQ(Passed(5), 0);
  clock_.now += 1;
  EXPECT_EQ(Passed(5), 1);
}

TEST_F(RateLimitTest, RefusedCallersGetTransient) {
  Plug("rate-limit", {{"rate", "1"}}, "limit");
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_TRUE(call.reached_servant());
  call.Run(registry_.gate());
  const auto exception = call.system_exception();
  ASSERT_TRUE(exception.has_value());
  EXPECT_EQ(exception->id, orb::ExceptionId::kTransient);
  EXPECT_EQ(exception->minor, static_cast<uint32_t>(orb::WeirMinor::kDenied));
  EXPECT_EQ(exception->completed, orb::Completion::kNo);
}

TEST_F(RateLimitTest, RefusedCallersGetTheExceptionThatWasSet) {
  Plug("rate-limit", {{"rate", "1"}, {"exception", "NO_RESOURCES"}}, "limit");
  EXPECT_EQ(Passed(1), 1);
  FakeCall call;
  call.Run(registry_.gate());
  EXPECT_EQ(call.system_exception()->id, orb::ExceptionId::kNoResources);
}

TEST_F(RateLimitTest, APeerIsAHostWhateverItsPort) {
  Plug("rate-limit", {{"rate", "1"}, {"burst", "2"}, {"per", "peer"}}, "limit");
  EXPECT_EQ(Passed(1, "10.0.0.7:1") + Passed(1, "10.0.0.7:2") + Passed(1, "10.0.0.7:3"), 2);
  EXPECT_EQ(Passed(1, "[::ffff:10.0.0.7]:4"), 0);
  EXPECT_EQ(Passed(3, "10.0.0.8:1"), 2);
  EXPECT_EQ(Passed(3, "[::1]:1"), 2);
  EXPECT_EQ(Passed(2, "unix:pid=1,uid=5") + Passed(2, "unix:pid=2,uid=5"), 2);
  EXPECT_EQ(Passed(3, "unix:pid=3,uid=6"), 2);
  EXPECT_EQ(Passed(3, "pigeon") + Passed(3, "dove"), 2) << "who cannot be read counts as one";
}

TEST_F(RateLimitTest, AnOperationIsAName) {
  Plug("rate-limit", {{"rate", "1"}, {"per", "operation"}}, "limit");
  EXPECT_EQ(Passed(3, "10.0.0.7:1", "a"), 1);
  EXPECT_EQ(Passed(3, "10.0.0.8:1", "a"), 0);
  EXPECT_EQ(Passed(3, "10.0.0.7:1", "b"), 1);
}

TEST_F(RateLimitTest, InventedOperationsGetNoMoreThanThePlacesAndOneShared) {
  Plug("rate-limit", {{"rate", "1"}, {"per", "operation"}, {"buckets", "10"}}, "limit");
  int passed = 0;
  for (int i = 0; i < 1000; ++i) passed += Passed(1, "10.0.0.7:1", "op" + std::to_string(i));
  // A place is one of 8 in a row, so all ten need not be found; but after 1000 names they are.
  EXPECT_EQ(passed, 11);
  EXPECT_EQ(Counters()[".shared"], 990u);
}

TEST_F(RateLimitTest, BadParametersAreRefused) {
  struct Case {
    FilterParameters parameters;
    const char* says;
  };
  const std::vector<Case> cases = {
      {{{"rate", "0"}}, "parameter 'rate' is '0'; it must be a number from 0.001 to 1000000"},
      {{{"rate", "-1"}}, "'-1'"},
      {{{"rate", "nan"}}, "'nan'"},
      {{{"rate", "inf"}}, "'inf'"},
      {{{"rate", "1000001"}}, "'1000001'"},
      {{{"rate", ""}}, "''"},
      {{{"rate", "5/s"}}, "'5/s'"},
      {{{"rate", "5"}, {"burst", "0"}}, "parameter 'burst' is '0'"},
      {{{"rate", "5"}, {"burst", "1000001"}}, "from 1 to 1000000"},
      {{{"rate", "5"}, {"per", "host"}}, "it must be one of: all, peer, operation"},
      {{{"rate", "5"}, {"buckets", "0"}}, "from 1 to 65536"},
      {{{"rate", "5"}, {"buckets", "65537"}}, "from 1 to 65536"},
      {{{"rate", "5"}, {"exception", "SLOW"}}, "'SLOW'"},
  };
  for (const Case& c : cases) {
    const absl::Status status = TryPlug("rate-limit", c.parameters);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.says;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.says));
  }
}

}  // namespace
}  // namespace weir::filters
