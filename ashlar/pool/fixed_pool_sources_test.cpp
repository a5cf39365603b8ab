// Where fixed pools get memory from, how much at a time, and pools that are moved.
#include <tests/support/fixed_pools.hpp>
#include <tests/support/test_headers.hpp>

namespace {

using namespace ashlar;
using namespace support;

// ---- page sources ----

TEST(FixedPool, HeapBlocksGrowByDoublingAndStopAtTheCap) {
  test_source source;
  {
    fixed_pool<test_source_ref> pool(
        {40, 8}, heap_blocks{.first_slab_blocks = 8, .max_blocks = 1000}, {&source});
    EXPECT_EQ(source.pieces.size(), 0u) << "no piece before the first block";
    for (int i = 0; i < 1000; ++i) ASSERT_NE(pool.try_allocate(), nullptr);
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_EQ(pool.capacity(), 1000u);
    EXPECT_LE(source.pieces.size(), 8u);
    EXPECT_LE(source.bytes, 1000 * 44 + 8 * 128u) << "the last slab is cut to the cap";
  }
  EXPECT_EQ(source.pieces.size(), 0u);
}

TEST(FixedPool, SlabsOfNoBlocksHaveOne) {
  for (const heap_blocks mode : {heap_blocks{.first_slab_blocks = 0, .max_blocks = 3},
                                 heap_blocks{.max_slab_blocks = 0, .max_blocks = 3}}) {
    test_source source;
    fixed_pool<test_source_ref> pool({16, 16}, mode, {&source});
    for (int i = 0; i < 3; ++i) EXPECT_NE(pool.try_allocate(), nullptr);
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_TRUE(pool.audit());
  }
}

TEST(FixedPool, ASourceThatRefusesMuchIsAskedForLess) {
  test_source source;
  source.largest_allowed = 1024;
  fixed_pool<test_source_ref> pool({64, 8}, heap_blocks{}, {&source});
  for (int i = 0; i < 200; ++i) ASSERT_NE(pool.try_allocate(), nullptr);
  source.largest_allowed = 0;
  std::size_t more = 0;
  while (pool.try_allocate() != nullptr) ++more;
  EXPECT_LT(more, 16u);
  EXPECT_TRUE(pool.audit());
  source.largest_allowed = 1024;
  EXPECT_NE(pool.try_allocate(), nullptr) << "a refusal is not for ever";
}

// ---- memory ahead of its use ----

template <class Pool>
void expect_populated_in_proportion(Pool& pool,
                                    std::vector<std::pair<std::byte*, std::size_t>>& ranges,
                                    std::size_t count) {
  const std::size_t stride = pool.stride();
  std::size_t covered = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto* const p = static_cast<std::byte*>(pool.try_allocate());
    ASSERT_NE(p, nullptr);
    std::size_t populated = 0;
    for (const auto& [at, size] : ranges) {
      populated += size;
      if (p >= at && p + stride <= at + size) ++covered;
    }
    const std::size_t used = (i + 1) * (stride + sizeof(std::uint32_t));
    ASSERT_LE(populated, used + used / 8 + 3 * stride) << "never far ahead of use";
    ASSERT_TRUE(used >= 8 * least_populated || ranges.empty()) << "not for little";
  }
  EXPECT_GE(covered, count * 8 / 10) << "nearly all of what came after the first half megabyte";
  EXPECT_TRUE(pool.audit());
}

TEST(FixedPool, PopulatesAPieceAheadInProportionToItsUse) {
  test_source source;
  std::vector<std::pair<std::byte*, std::size_t>> ranges;
  fixed_pool<populating_source_ref> pool({64, 8}, heap_pool{100'000}, {{&source}, &ranges});
  expect_populated_in_proportion(pool, ranges, 100'000);
  EXPECT_EQ(pool.try_allocate(), nullptr);
  for (const auto& [at, size] : ranges)
    EXPECT_TRUE(pool.owns(at) || !pool.owns(at + size - 1)) << "a range of blocks is in the pool";
}
TEST(FixedPool, PopulatesSlabsAheadInProportionToTheirUse) {
  test_source source;
  std::vector<std::pair<std::byte*, std::size_t>> ranges;
  fixed_pool<populating_source_ref, check::none> pool({64, 8}, heap_blocks{}, {{&source}, &ranges});
  expect_populated_in_proportion(pool, ranges, 100'000);
  for (const auto& [at, size] : ranges)
    EXPECT_TRUE(pool.owns(at) && pool.owns(at + size - 1)) << "each range is in a slab";
}
TEST(FixedPool, SlabsOfASourceThatPopulatesGrowSevenfold) {
  test_source source;
  std::vector<std::pair<std::byte*, std::size_t>> ranges;
  fixed_pool<populating_source_ref> pool({64, 8}, heap_blocks{}, {{&source}, &ranges});
  for (int i = 0; i < 33; ++i) ASSERT_NE(pool.try_allocate(), nullptr);
  EXPECT_EQ(source.pieces.size(), 2u);
  for (std::size_t i = 33; i < 32 + least_populated / 64; ++i)
    ASSERT_NE(pool.try_allocate(), nullptr);
  EXPECT_EQ(source.pieces.size(), 2u) << "the second slab has least_populated bytes";
}
TEST(FixedPool, GoesOnCarvingWhereItWasAfterAMoveAndASwap) {
  test_source source;
  std::vector<std::pair<std::byte*, std::size_t>> ranges;
  using pool_type = fixed_pool<populating_source_ref>;
  pool_type a({64, 8}, heap_pool{1000}, {{&source}, &ranges});
  auto* const first = static_cast<std::byte*>(a.try_allocate());
  pool_type b(std::move(a));
  EXPECT_EQ(b.try_allocate(), first + b.stride());
  EXPECT_EQ(a.try_allocate(), nullptr);  // NOLINT(bugprone-use-after-move): specified
  pool_type c({64, 8}, heap_pool{1}, {{&source}, &ranges});
  swap(b, c);
  EXPECT_EQ(c.try_allocate(), first + 2 * c.stride());
  EXPECT_NE(b.try_allocate(), nullptr);
  EXPECT_EQ(b.try_allocate(), nullptr) << "one block is all that it has";
  EXPECT_TRUE(b.audit() && c.audit());
}

// ---- move ----

template <class Check>
class MovedPool : public testing::Test {};
using checks_of_moved_pools = testing::Types<check::none, check::cheap, check::full<2>>;
TYPED_TEST_SUITE(MovedPool, checks_of_moved_pools);

TYPED_TEST(MovedPool, KeepsItsFreeBlocksAndSwapsThem) {
  test_source source;
  using pool_type = fixed_pool<test_source_ref, TypeParam>;
  pool_type a({64, 8}, heap_pool{4}, {&source});
  std::set<void*> all;
  for (int i = 0; i < 4; ++i) all.insert(a.allocate());
  ASSERT_EQ(all.size(), 4u);
  for (void* const block : all) a.deallocate(block);
  pool_type b(std::move(a));
  EXPECT_EQ(a.try_allocate(), nullptr);  // NOLINT(bugprone-use-after-move): specified
  pool_type c({64, 8}, heap_pool{1}, {&source});
  swap(b, c);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(all.erase(c.try_allocate()), 1u);
  EXPECT_EQ(c.try_allocate(), nullptr);
  EXPECT_EQ(all.count(b.try_allocate()), 0u);
  EXPECT_TRUE(b.audit() && c.audit());
}

}  // namespace
