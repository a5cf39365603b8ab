// The tests of the small sources of ashlar/pool: a part for each, with its name.
#include <tests/support/fixed_pools.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/arena/static_arena.hpp>
#include <ashlar/pool/packed_pool.hpp>
#include <ashlar/pool/pool_map.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/refill_lists.hpp>
#include <ashlar/pool/static_pool.hpp>
#include <ashlar/pool/static_run_pool.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using namespace support;
using ashlar_test::checked_source;

// ---- pool_map -----------------------------------------------------------------------------------

struct message {
  char text[40];
};
constinit ashlar::static_pool<message, 64> messages;
constinit ashlar::static_pool_set<ashlar::blocks<16, 10>, ashlar::blocks<396, 3>> sizes;
constinit char a_name_longer_than_a_row_has_room_for[10];
ASHLAR_POOL_MAP(messages);
ASHLAR_POOL_MAP(sizes);
ASHLAR_POOL_MAP(a_name_longer_than_a_row_has_room_for);

static_assert(ashlar::ram_bytes<messages, sizes> == sizeof messages + sizeof sizes);
static_assert(ashlar::ram_bytes<> == 0);

TEST(PoolMap, APoolIsARow) {
  const auto& row = pool_map_of_messages.rows[0];
  static_assert(sizeof pool_map_of_messages == sizeof row);
  EXPECT_EQ(row.name, std::string_view("messages"));
  EXPECT_EQ(row.address, &messages);
  EXPECT_EQ(row.bytes, sizeof messages);
  EXPECT_EQ(std::tuple(row.block_size, row.stride, row.capacity), std::tuple(40u, 40u, 64u));
}

TEST(PoolMap, ASetIsARowForEachSizeAndItsBytesAreInTheFirst) {
  const auto& rows = pool_map_of_sizes.rows;
  EXPECT_EQ(rows[0].bytes, sizeof sizes);
  EXPECT_EQ(rows[1].bytes, 0u);
  EXPECT_EQ(rows[1].name, std::string_view("sizes"));
  EXPECT_EQ(std::tuple(rows[1].block_size, rows[1].stride, rows[1].capacity),
            std::tuple(396u, 400u, 3u));
  EXPECT_EQ(rows[1].address, rows[0].address);
}

TEST(PoolMap, WhatHasNoBlocksIsBytesAndALongNameIsCut) {
  const auto& row = pool_map_of_a_name_longer_than_a_row_has_room_for.rows[0];
  EXPECT_EQ(row.bytes, 10u);
  EXPECT_EQ(row.capacity, 0u);
  EXPECT_EQ(row.name, std::string_view("a_name_longer_than_a_row_has_ro"));
}

// ---- block_layout -------------------------------------------------------------------------------

constexpr block_upkeep every_upkeep[] = {
    {true, false, 0, 0, 0},  {true, false, 1, 0, 1},  {true, false, 4, 0, 1},
    {true, true, 2, 0, 1},   {true, true, 4, 0, 1},   {false, false, 4, 0, 0},
    {false, false, 4, 0, 1}, {false, false, 4, 1, 0}, {false, false, 2, 1, 0}};

TEST(BlockLayout, EverySmallShapeKeepsItsLaws) {
  for (const block_upkeep& upkeep : every_upkeep) {
    for (std::size_t alignment = 1; alignment <= 256; alignment *= 2) {
      for (std::size_t size = 0; size <= 300; ++size) {
        const slot_shape s = shape_of({size, alignment}, upkeep);
        ASSERT_EQ(s.block_size, size == 0 ? 1 : size);
        ASSERT_GE(s.stride, s.block_size);
        ASSERT_GE(s.alignment, alignment);
        ASSERT_EQ(s.stride % s.alignment, 0u);
        ASSERT_TRUE(is_power_of_two(s.alignment));
        if (upkeep.whole_words) {
          ASSERT_EQ(s.stride % alignof(void*), 0u);
          ASSERT_GE(s.stride, sizeof(void*));
        }
        const std::size_t canary = upkeep.guarded ? canary_bytes : 0;
        ASSERT_GE(s.stride, s.block_size + canary);
        ASSERT_LT(s.stride - s.block_size, canary + s.alignment + sizeof(void*));
      }
    }
  }
}

TEST(BlockLayout, CapacityIsTheLargestCountThatFits) {
  for (const block_upkeep& upkeep : every_upkeep) {
    for (std::size_t size : {1u, 8u, 24u, 100u}) {
      const slot_shape s = shape_of({size, 8}, upkeep);
      for (std::size_t bytes = 0; bytes < 2000; ++bytes) {
        const std::size_t n = blocks_in(s, upkeep, bytes);
        ASSERT_LE(run_bytes(s, upkeep, n), bytes);
        ASSERT_GT(run_bytes(s, upkeep, n + 1), bytes);
        const std::size_t first = blocks_offset(s, upkeep, n);
        ASSERT_EQ(first % s.alignment, 0u);
        ASSERT_GE(first, n == 0 ? 0 : upkeep.side_bytes(n));
        ASSERT_EQ(first + n * s.stride, run_bytes(s, upkeep, n));
      }
    }
  }
}

TEST(BlockLayout, HugeSizesAndCountsNeverWrap) {
  for (const block_upkeep& upkeep : every_upkeep) {
    for (std::size_t alignment : {std::size_t{1}, std::size_t{16}, SIZE_MAX / 2 + 1}) {
      for (std::size_t less = 0; less < 64; ++less) {
        const slot_shape s = shape_of({SIZE_MAX - less, alignment}, upkeep);
        if (s.stride != 0) {
          EXPECT_GE(s.stride, SIZE_MAX - less);
          EXPECT_EQ(run_bytes(s, upkeep, 2), SIZE_MAX);
        } else {
          EXPECT_EQ(run_bytes(s, upkeep, 1), SIZE_MAX);
        }
        EXPECT_EQ(blocks_in(s, upkeep, 1 << 20), 0u);
      }
    }
    const slot_shape s = shape_of({64, 8}, upkeep);
    for (std::size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 32}) {
      EXPECT_EQ(run_bytes(s, upkeep, count), SIZE_MAX);
    }
  }
}

// ---- packed_pool --------------------------------------------------------------------------------

TEST(PackedPool, every_size_and_alignment_fills_the_storage_and_nothing_else) {
  alignas(64) static std::array<std::byte, 1024> storage;
  for (std::size_t size = 0; size <= 80; ++size) {
    for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
      for (const std::size_t offset : {0u, 1u, 8u}) {
        packed_pool<> pool(block_layout{size, alignment}, std::span(storage).subspan(offset, 900));
        const std::size_t lost = ashlar::align_up(offset, alignment) - offset;
        ASSERT_EQ(pool.capacity(), (900 - lost) / pool.block_size());
        ASSERT_GE(pool.block_size(), size);
        const std::byte* end = storage.data() + offset;
        for (std::size_t i = 0; i < pool.capacity(); ++i) {
          auto* const p = static_cast<std::byte*>(pool.try_allocate());
          ASSERT_TRUE(p >= end && ashlar::is_aligned(p, alignment) && pool.owns(p));
          end = p + pool.block_size();
        }
        ASSERT_LE(end, storage.data() + offset + 900);
        ASSERT_EQ(pool.allocate(), nullptr);
      }
    }
  }
}

TEST(PackedPool, what_has_no_room_has_no_block) {
  static std::array<std::byte, 64> storage;
  for (const block_layout block : {block_layout{SIZE_MAX, 1}, block_layout{SIZE_MAX - 3, 16},
                                   block_layout{65, 1}, block_layout{1, SIZE_MAX / 2 + 1}}) {
    packed_pool<> pool(block, storage);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(pool.allocate(), nullptr);
    EXPECT_FALSE(pool.owns(storage.data()));
  }
  packed_pool<> none(block_layout{8, 8}, {});
  EXPECT_EQ(none.try_allocate(), nullptr);
}

TEST(PackedPoolDeathTest, misuse_is_reported) {
  alignas(4) static std::array<std::byte, 12 * 4> storage;
  for (const std::size_t size : {12u, 4u}) {
    packed_pool<> pool(block_layout{size, 4}, storage);
    auto* const a = static_cast<std::byte*>(pool.allocate());
    auto* const b = static_cast<std::byte*>(pool.allocate());
    EXPECT_DEATH(pool.deallocate(a + 2), "inside a block");
    EXPECT_DEATH(pool.deallocate(b + size), "no block is in use");
    EXPECT_DEATH(pool.deallocate(a + sizeof storage), "not allocated here");
    pool.deallocate(a);
    EXPECT_DEATH(pool.deallocate(a), "double free") << "while b is in use";
    pool.deallocate(b);
    EXPECT_DEATH(pool.deallocate(a), "double free") << "nothing is in use";
  }
  EXPECT_DEATH(packed_pool<>(block_layout{8, 3}, storage), "argument");
}

// ---- exhaustion, and the end --------------------------------------------------------------------
// What each policy does when a component is empty, or ends with blocks in use: pools, and arenas.

struct of_fixed_pool {
  template <class... Policies>
  struct with {
    static_pool<char[16], 2, Policies...> it;
    void* allocate() { return it.allocate(); }
    void deallocate(void* p) { it.deallocate(p); }
  };
};
struct of_pool_set {
  template <class... Policies>
  struct with {
    static_pool_set<blocks<16, 2>, Policies...> it;
    void* allocate() { return it.allocate(16); }
    void deallocate(void* p) { it.deallocate(p, 16); }
  };
};
struct of_run_pool {
  template <class... Policies>
  struct with {
    static_run_pool<char[16], 2, Policies...> it;
    void* allocate() { return it.allocate(); }
    void deallocate(void* p) { it.deallocate(p); }
  };
};
struct of_refill_lists {
  template <class... Policies>
  struct with {
    checked_source source{100};
    refill_lists<test_source_ref, 128, 8, Policies...> it{test_source_ref{&source}};
    void* allocate() { return it.allocate(16); }
    void deallocate(void* p) { it.deallocate(p, 16); }
  };
};

struct of_arena {
  template <class... Policies>
  struct with {
    static_arena<32, Policies...> it;
    void* allocate() { return it.allocate(16); }
    void deallocate(void* p) { it.deallocate(p, 16); }
  };
};

template <class Kind>
class EmptyComponent : public testing::Test {};
using kinds = testing::Types<of_fixed_pool, of_pool_set, of_run_pool, of_refill_lists, of_arena>;
TYPED_TEST_SUITE(EmptyComponent, kinds);

TYPED_TEST(EmptyComponent, ThrowsAndLeavesItsMutexFree) {
  typename TypeParam::template with<exhaustion::throw_bad_alloc, std::mutex> component;
  std::vector<void*> blocks;
  EXPECT_THROW(for (;;) blocks.push_back(component.allocate()), std::bad_alloc);
  component.deallocate(blocks.back());
  EXPECT_EQ(component.allocate(), blocks.back());
  for (void* p : blocks) component.deallocate(p);
}

// The classic pool called its handler once, under a mutex that is not recursive: a handler that
// freed a block waited for ever, and one that did not led to a write through null.
TYPED_TEST(EmptyComponent, AsksAHandlerThatMayFreeABlock) {
  using component_type =
      typename TypeParam::template with<exhaustion::handler_and_retry<>, std::mutex>;
  static component_type* asking = nullptr;
  static std::vector<void*> blocks;
  component_type component;
  asking = &component;
  while (void* p = component.allocate()) blocks.push_back(p);
  void* const last = blocks.back();
  std::set_new_handler([] {
    asking->deallocate(blocks.back());
    std::set_new_handler(nullptr);
  });
  EXPECT_EQ(component.allocate(), last);
  EXPECT_EQ(component.allocate(), nullptr) << "no handler any more: null, not a write through it";
  for (void* p : blocks) component.deallocate(p);
  blocks.clear();
}

template <class Kind>
class EndOfAComponent : public testing::Test {};
using kinds_with_ends = testing::Types<of_fixed_pool, of_pool_set, of_refill_lists, of_arena>;
TYPED_TEST_SUITE(EndOfAComponent, kinds_with_ends);

TYPED_TEST(EndOfAComponent, WithBlocksInUseIsIgnoredReportedOrAFault) {
  const auto end_with = []<class Policy>(std::size_t blocks, Policy) {
    testing::internal::CaptureStderr();
    {
      typename TypeParam::template with<Policy, named<"leaky">> component;
      component.deallocate(component.allocate());
      for (; blocks != 0; --blocks) static_cast<void>(component.allocate());
    }
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(end_with(2, at_death::ignore()), "");
  EXPECT_EQ(end_with(0, at_death::report()) + end_with(0, at_death::stop()), "");
  EXPECT_NE(end_with(2, at_death::report()).find("blocks in use, pool 'leaky'"), std::string::npos);
  const auto stop = [] {
    typename TypeParam::template with<at_death::stop, named<"leaky">> component;
    static_cast<void>(component.allocate());
  };
  EXPECT_DEATH(stop(), "blocks in use.*leaky");
}

TYPED_TEST(EmptyComponent, StopsWithItsName) {
  const auto take_all = [] {
    typename TypeParam::template with<exhaustion::stop, named<"radio frames">> component;
    for (;;) (void)component.allocate();
  };
  EXPECT_DEATH(take_all(), "out of memory.*radio frames");
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

TEST(PoolExhaustionDeathTest, NextLargerMustNotBeSmallerOrLessAligned) {
  for (const auto& [lender, asks] : {std::pair{block_layout{8, 8}, block_layout{64, 8}},
                                     {block_layout{64, 8}, block_layout{32, 16}}}) {
    std::byte a[256], b[8];
    fixed_pool large(lender, std::span(a));
    using next = exhaustion::next_larger<fixed_pool<>>;
    fixed_pool<next> pool(asks, b, next(large));
    EXPECT_DEATH((void)pool.allocate(), "size or alignment");
  }
}

}  // namespace
