// References as text, kept ready within a bound; and connection pools that nobody needs any more.

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "tests/unit/core/testing.h"

namespace weir::orb {
namespace {

std::string At(int port) { return StrCat("corbaloc::1.2@127.0.0.1:", port, "/test"); }

TEST(TargetCacheTest, TheSameTextIsTheSameTarget) {
  TestOrb orb;
  TargetCache& targets = orb->invoker().targets();
  const auto first = targets.Find(At(1));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(*targets.Find(At(1)), *first);
  EXPECT_NE(*targets.Find(At(2)), *first);
  EXPECT_EQ(targets.size(), 2u);
  EXPECT_FALSE(targets.Find("nonsense").ok());
  EXPECT_FALSE(targets.Find("corbaloc:rir:/NameService").ok());
  EXPECT_EQ(targets.size(), 2u);
}

TEST(TargetCacheTest, KeepsABoundedNumberAndThoseThatAreInUseLongest) {
  OrbOptions options;
  options.client.max_kept_targets = 8;
  TestOrb orb(options);
  TargetCache& targets = orb->invoker().targets();
  const auto used = *targets.Find(At(1));
  for (int i = 2; i < 100; ++i) {
    ASSERT_TRUE(targets.Find(At(i)).ok());
    EXPECT_EQ(*targets.Find(At(1)), used) << i;
    EXPECT_LE(targets.size(), 8u);
  }
}

TEST(TargetCacheTest, APoolGoesWithItsLastTargetAndConnection) {
  OrbOptions options;
  options.client.idle_timeout = kSecond;
  TestOrb client(options), server;
  const Endpoint endpoint = server.Listen();
  {
    const auto target = client.To({endpoint});
    EXPECT_EQ(client.Ping(target, 1), 2);
    EXPECT_EQ(client->invoker().pools(), 1u);
  }
  EXPECT_TRUE(Eventually([&] { return client->invoker().pools() == 0; }));
  EXPECT_EQ(client.Ping(client.To({endpoint}), 1), 2);
}

TEST(TargetCacheTest, ATargetMayOutliveItsOrb) {
  TestOrb server;
  const Endpoint endpoint = server.Listen();
  std::shared_ptr<Target> target;
  {
    TestOrb client;
    target = client.To({endpoint});
    EXPECT_EQ(client.Ping(target, 1), 2);
  }
  EXPECT_EQ(target->pools()[0]->size(), 0u);
  // Here it goes, without a look at what was the ORB's: the address sanitizer would tell.
}

TEST(TargetCacheTest, EverNewAddressesLeaveNoPools) {
  OrbOptions options;
  options.client.max_kept_targets = 4;
  TestOrb orb(options);
  for (int i = 1; i <= 500; ++i) ASSERT_TRUE(orb->invoker().targets().Find(At(i)).ok());
  EXPECT_TRUE(Eventually([&] { return orb->invoker().pools() <= 4; }));
}

}  // namespace
}  // namespace weir::orb
