// What each exhaustion policy does when a fixed pool is empty.
#include <cstddef>
#include <mutex>
#include <new>
#include <span>
#include <tests/support/fixed_pools.hpp>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/pool/fixed_pool.hpp>

namespace {

using namespace ashlar;
using namespace support;

TEST(PoolExhaustion, ThrowLeavesTheMutexFree) {
  std::byte storage[128];
  fixed_pool<exhaustion::throw_bad_alloc, std::mutex> pool({32, 8}, storage);
  std::vector<void*> blocks;
  EXPECT_THROW(for (;;) blocks.push_back(pool.allocate()), std::bad_alloc);
  pool.deallocate(blocks.back());
  EXPECT_EQ(pool.allocate(), blocks.back());
}

// The classic pool called its handler once, under a mutex that is not recursive: a handler that
// freed a block waited for ever, and one that did not led to a write through null.
fixed_pool<exhaustion::handler_and_retry<>, std::mutex>* handled_pool = nullptr;
void* spare_block = nullptr;

TEST(PoolExhaustion, AHandlerMayFreeIntoThePoolAndTheCallSucceeds) {
  std::byte storage[128];
  fixed_pool<exhaustion::handler_and_retry<>, std::mutex> pool({32, 8}, storage);
  handled_pool = &pool;
  while (void* p = pool.try_allocate()) spare_block = p;
  void* const spare = spare_block;
  std::set_new_handler([] {
    handled_pool->deallocate(std::exchange(spare_block, nullptr));
    std::set_new_handler(nullptr);
  });
  EXPECT_EQ(pool.allocate(), spare);
  EXPECT_EQ(pool.allocate(), nullptr) << "no handler any more: null, not a write through it";
}

TEST(PoolExhaustion, NextLargerLendsAndGetsItsBlocksBack) {
  std::byte large_bytes[512], small_bytes[80];
  fixed_pool large(block_layout{64, 16}, std::span(large_bytes));
  using next = exhaustion::next_larger<fixed_pool<>>;
  fixed_pool<next> small({16, 8}, small_bytes, next(large));
  std::vector<void*> blocks;
  while (void* p = small.allocate()) blocks.push_back(p);
  EXPECT_EQ(blocks.size(), small.capacity() + large.capacity());
  EXPECT_EQ(large.stats().blocks_in_use, large.capacity());
  for (void* p : blocks) small.deallocate(p);
  EXPECT_EQ(large.stats().blocks_in_use, 0u);
  EXPECT_EQ(small.stats().blocks_in_use, 0u);
  EXPECT_TRUE(small.audit() && large.audit());
  int outside;
  EXPECT_DEATH(small.deallocate(opaque(&outside)), "not allocated here");
}

TEST(PoolExhaustionDeathTest, NextLargerMustNotBeSmaller) {
  std::byte a[64], b[8];
  fixed_pool tiny(block_layout{8, 8}, std::span(a));
  using next = exhaustion::next_larger<fixed_pool<>>;
  fixed_pool<next> pool({64, 16}, b, next(tiny));
  EXPECT_DEATH((void)pool.allocate(), "size or alignment");
}

TEST(PoolExhaustionDeathTest, NextLargerMustNotBeLessAligned) {
  std::byte a[256], b[8];
  fixed_pool large(block_layout{64, 8}, std::span(a));
  using next = exhaustion::next_larger<fixed_pool<>>;
  fixed_pool<next> pool({32, 16}, b, next(large));
  EXPECT_DEATH((void)pool.allocate(), "size or alignment");
}

TEST(PoolExhaustion, UpstreamLendsOneBlockAtATime) {
  test_source source;
  std::byte bytes[100];
  using up = exhaustion::upstream<test_source>;
  fixed_pool<up> pool({32, 32}, bytes, up(source));
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(pool.allocate());
  EXPECT_EQ(source.pieces, 10 - pool.capacity());
  for (void* p : blocks) EXPECT_TRUE(is_aligned(p, 32));
  for (void* p : blocks) pool.deallocate(p);
  EXPECT_EQ(source.pieces, 0u);
}

TEST(PoolExhaustionDeathTest, StopNamesThePool) {
  fixed_pool<exhaustion::stop, named<"radio frames">> pool({16, 8}, std::span<std::byte>());
  EXPECT_DEATH((void)pool.allocate(), "out of memory.*radio frames");
}

}  // namespace
