#include "orb/cdr/block.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace weir::cdr {
namespace {

TEST(Block, IsAtLeastOfTheStandardSize) {
  EXPECT_EQ(BlockRef::Allocate(1)->capacity(), Block::kStandardSize);
  EXPECT_EQ(BlockRef::Allocate(Block::kStandardSize + 1)->capacity(), Block::kStandardSize + 1);
}

TEST(Block, LastReferenceIsUniqueAndOthersAreNot) {
  BlockRef a = BlockRef::Allocate();
  EXPECT_TRUE(a.unique());
  {
    BlockRef b = a;
    EXPECT_EQ(a.get(), b.get());
    EXPECT_FALSE(a.unique());
    BlockRef c = std::move(b);
    EXPECT_FALSE(b);
    EXPECT_FALSE(a.unique());
  }
  EXPECT_TRUE(a.unique());
  a.reset();
  EXPECT_FALSE(a);
  a.reset();
}

TEST(Block, StandardBlocksAreUsedAgainByTheirThread) {
  BlockRef a = BlockRef::Allocate();
  Block* const block = a.get();
  a.reset();
  EXPECT_EQ(BlockRef::Allocate().get(), block);
}

TEST(Block, LiveBlocksAreDistinct) {
  std::vector<BlockRef> blocks;
  std::set<Block*> distinct;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100; ++i) {
      blocks.push_back(BlockRef::Allocate());
      std::memset(blocks.back()->data(), i, Block::kStandardSize);
      EXPECT_TRUE(distinct.insert(blocks.back().get()).second);
    }
    for (int i = 0; i < 100; ++i) EXPECT_EQ(blocks[i]->data()[Block::kStandardSize - 1], i);
    blocks.clear();
    distinct.clear();
  }
}

TEST(Block, ReferencesMayBeDroppedByOtherThreads) {
  for (int round = 0; round < 100; ++round) {
    BlockRef a = BlockRef::Allocate();
    a->data()[0] = 42;
    std::thread other([b = a]() mutable {
      EXPECT_EQ(b->data()[0], 42);
      b.reset();
    });
    a.reset();
    other.join();
  }
}

}  // namespace
}  // namespace weir::cdr
