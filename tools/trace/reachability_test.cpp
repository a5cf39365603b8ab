#include "tools/trace/reachability.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tools/trace/trace_test_files.hpp"

namespace ashlar::trace {
namespace {

using test::birth;
using test::death;

/// Words at addresses; all others are 0. What lies outside of `readable` cannot be read.
class test_memory final : public program_memory {
 public:
  explicit test_memory(std::vector<address_range> places, std::uint64_t readable_end = UINT64_MAX)
      : places_(std::move(places)), readable_end_(readable_end) {}
  std::uint64_t& operator[](std::uint64_t address) { return words_[address]; }

  std::vector<address_range> places_of_pointers() override { return places_; }
  address_range data_of_c_library() override { return c_library; }
  address_range c_library;
  std::size_t read(std::uint64_t address, std::span<std::uint64_t> to) override {
    std::size_t n = 0;
    for (; n < to.size() && address + 8 * n < readable_end_; ++n) {
      const auto found = words_.find(address + 8 * n);
      to[n] = found == words_.end() ? 0 : found->second;
    }
    return n;
  }

 private:
  std::vector<address_range> places_;
  std::uint64_t readable_end_;
  std::map<std::uint64_t, std::uint64_t> words_;
};

std::vector<std::uint64_t> lost(const block_map& blocks, test_memory& memory) {
  std::vector<std::uint64_t> addresses;
  for (const held_block& b : find_unreachable(blocks, memory, [] {}))
    addresses.push_back(b.address);
  return addresses;
}
using addresses = std::vector<std::uint64_t>;

block_map of(std::vector<held_block> live) {
  block_map map;
  map.live = std::move(live);
  return map;
}

// glibc's malloc has the begin of what is behind a block in the block's last word.
TEST(Reachability, APointerOfMallocToWhatIsBehindABlockIsNoRoot) {
  const block_map blocks =
      of({{0x1000, 5000, 1}, {0x3000, 24, 1}, {0x4000, 40, 1}, {0x5000, 40, 1}});
  test_memory memory({{0x8000, 0x9000}});
  memory.c_library = {0x8000, 0x8800};
  memory[0x8000] = 0x1000 + 4992;
  memory[0x8008] = 0x3000 + 16;
  memory[0x8010] = 0x4000 + 32;
  memory[0x8018] = 0x5000 + 16;  // elsewhere in the block
  EXPECT_EQ(lost(blocks, memory), (addresses{0x1000, 0x3000, 0x4000}));
  memory[0x8800] = 0x3000 + 16;  // of somebody else
  EXPECT_EQ(lost(blocks, memory), (addresses{0x1000, 0x4000}));
}

TEST(Reachability, AWordOutsideOfBlocksReachesTheBlockThatItPointsInto) {
  const block_map blocks = of({{0x1000, 64, 1}, {0x2000, 64, 1}, {0x3000, 64, 1}, {0x4000, 64, 1}});
  test_memory memory({{0x8000, 0x9000}});
  memory[0x8000] = 0x1000;       // its begin
  memory[0x8ff8] = 0x2000 + 63;  // its last byte
  memory[0x8010] = 0x3000 + 64;  // behind its end
  memory[0x9000] = 0x4000;       // not in a place of pointers
  EXPECT_EQ(lost(blocks, memory), (addresses{0x3000, 0x4000}));
}

TEST(Reachability, ReachedBlocksLeadOnAndARingOfLostOnesDoesNot) {
  const block_map blocks = of({{0x1000, 64, 1}, {0x2000, 60, 1}, {0x3000, 64, 1}, {0x4000, 64, 1}});
  test_memory memory({{0x1000, 0x5000}, {0x8000, 0x9000}});
  memory[0x8000] = 0x1000;
  memory[0x1000 + 56] = 0x2000;
  memory[0x3000] = 0x4000;
  memory[0x4000] = 0x3000;
  EXPECT_EQ(lost(blocks, memory), (addresses{0x3000, 0x4000}));
  memory[0x2000 + 56] = 0x3000;  // its last word has 4 bytes: it is none of the block's
  memory[0x2000 + 48] = 0x4000;
  EXPECT_EQ(lost(blocks, memory), addresses{});
}

TEST(Reachability, WhatIsBehindABlocksLastWordIsARoot) {
  const block_map blocks = of({{0x1000, 60, 1}, {0x2000, 64, 1}});
  test_memory memory({{0x1000, 0x1100}});
  memory[0x1000 + 56] = 0x2000;
  EXPECT_EQ(lost(blocks, memory), addresses{0x1000});
}

TEST(Reachability, ABlockOfNoBytesIsReachedByItsAddress) {
  const block_map blocks = of({{0x1000, 0, 1}, {0x1010, 0, 1}});
  test_memory memory({{0x8000, 0x9000}});
  memory[0x8000] = 0x1010;
  EXPECT_EQ(lost(blocks, memory), addresses{0x1000});
}

TEST(Reachability, WhatFreedBlocksStillHaveIsNoRoot) {
  block_map blocks = of({{0x1000, 64, 1}, {0x2000, 64, 1}});
  blocks.freed.add(0x3008, 0x2000);
  test_memory memory({{0x3000, 0x6000}});
  memory[0x3008] = memory[0x4ff8] = 0x1000;
  memory[0x5010] = 0x2000;
  EXPECT_EQ(lost(blocks, memory), addresses{0x1000});
}

TEST(Reachability, MemoryThatCannotBeReadEndsNothing) {
  const block_map blocks = of({{0x1000, 64, 1}, {0x2000, 64, 1}});
  test_memory memory({{0x8000, 0xa000}, {0x7000, 0x7100}}, 0x9000);
  memory[0x7000] = 0x1000;
  memory[0x9000] = 0x2000;
  EXPECT_EQ(lost(blocks, memory), addresses{0x2000});
}

TEST(Reachability, NoBlocks) {
  test_memory memory({{0x8000, 0xa000}});
  EXPECT_EQ(lost({}, memory), addresses{});
}

TEST(Reachability, TheBlocksAtTheEndOfATrace) {
  trace_reader reader = test::read(test::written(
      {birth(1, 10, 0x3000, 32), birth(1, 20, 0x1000, 100), birth(2, 30, 0x2000, 40),
       death(1, 40, 0x1000), birth(2, 50, 0x10'0000, 1 << 20), death(2, 60, 0x10'0000)}));
  const block_map blocks = blocks_at_end(reader, [] {});
  ASSERT_EQ(blocks.live.size(), 2u);
  EXPECT_EQ(blocks.live[0].address, 0x2000u);
  EXPECT_EQ(blocks.live[0].size, 40u);
  EXPECT_EQ(blocks.live[1].address, 0x3000u);
  EXPECT_TRUE(blocks.freed.has(0x1000));
  EXPECT_TRUE(blocks.freed.has(0x1000 + 99));
  EXPECT_FALSE(blocks.freed.has(0x1000 + 112));
  EXPECT_FALSE(blocks.freed.has(0x10'0000)) << "a large one may have gone back to the system";
}

// Blocks that point at each other at random, beside a plain search.
TEST(Reachability, AgreesWithAModel) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<held_block> live;
    for (std::uint64_t at = 0x10000; live.size() < 60; at += 16 * (2 + random() % 8))
      live.push_back({at, 16 + random() % 16, 1});
    test_memory memory({{0x1000, 0x1080}, {0x10000, live.back().address + 64}});
    std::vector<std::set<std::size_t>> to(live.size());
    std::vector<std::size_t> next;
    std::vector<bool> reached(live.size());
    for (int i = 0; i < 4; ++i) {
      next.push_back(random() % live.size());
      memory[0x1000 + 32 * static_cast<std::uint64_t>(i)] =
          live[next.back()].address + random() % 16;
    }
    for (std::size_t i = 0; i < live.size(); ++i) {
      const std::size_t target = random() % live.size();
      memory[live[i].address + 8 * (random() % 2)] = live[target].address;
      to[i].insert(target);
    }
    while (!next.empty()) {
      const std::size_t i = next.back();
      next.pop_back();
      if (reached[i]) continue;
      reached[i] = true;
      next.insert(next.end(), to[i].begin(), to[i].end());
    }
    addresses expected;
    for (std::size_t i = 0; i < live.size(); ++i)
      if (!reached[i]) expected.push_back(live[i].address);
    EXPECT_EQ(lost(of(live), memory), expected) << round;
  }
}

}  // namespace
}  // namespace ashlar::trace
