// Fixed pools of every kind against a model, and what fits into given storage.
#include <tests/support/fixed_pools.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/pool/fixed_pool.hpp>

namespace {

using namespace ashlar;
using namespace support;

// ---- a policy that is off costs no byte ----

constexpr std::size_t word = sizeof(void*);
// Head of the list, watermark, base, capacity, block size, alignment, stride.
static_assert(sizeof(fixed_pool<check::none, counting::none>) == 7 * word);
static_assert(sizeof(fixed_pool<check::none, counting::exact>) == 9 * word);
// The divisor, and where the links are.
static_assert(sizeof(fixed_pool<check::cheap, counting::none>) == 10 * word);
static_assert(sizeof(fixed_pool<check::none, counting::none, exhaustion::throw_bad_alloc>) ==
              7 * word);
static_assert(sizeof(fixed_pool<check::none, counting::none, exhaustion::handler_and_retry<>,
                                named<"a long name that costs nothing">, at_death::stop>) ==
              7 * word);
static_assert(fixed_pool<check::none>::storage_bytes({32, 1}, 10) == 10 * 32 + word - 1);
static_assert(fixed_pool<check::cheap>::storage_bytes({32, 1}, 10) ==
              10 * 32 + align_up(11 * 4, word) + word - 1);

static_assert(!std::is_copy_constructible_v<fixed_pool<>>);
static_assert(std::is_nothrow_move_constructible_v<fixed_pool<>>);
static_assert(!std::is_move_constructible_v<fixed_pool<std::mutex>>);
static_assert(!std::is_move_constructible_v<fixed_pool<spin_lock>>);
static_assert(!std::is_move_constructible_v<fixed_pool<lock_free<>>>);
static_assert(noexcept(std::declval<fixed_pool<>&>().allocate()));
static_assert(!noexcept(std::declval<fixed_pool<exhaustion::throw_bad_alloc>&>().allocate()));

// ---- storage: too small, misaligned, huge ----

TEST(FixedPool, StorageThatIsEmptyOrTooSmallGivesCapacityZero) {
  std::byte storage[8];
  fixed_pool small(block_layout{64, 8}, std::span(storage));
  EXPECT_EQ(small.capacity(), 0u);
  EXPECT_EQ(small.try_allocate(), nullptr);
  EXPECT_FALSE(small.owns(storage));
  EXPECT_TRUE(small.audit());
  fixed_pool none(block_layout{8, 8}, std::span<std::byte>());
  EXPECT_EQ(none.capacity(), 0u);
  EXPECT_EQ(none.allocate(), nullptr);
  EXPECT_FALSE(none.owns(nullptr));
}

TEST(FixedPool, HugeBlocksNeverBecomeTinyOnes) {
  std::byte storage[4096];
  for (std::size_t less = 0; less < 40; ++less) {
    for (std::size_t alignment : {1u, 16u, 4096u}) {
      fixed_pool pool(block_layout{SIZE_MAX - less, alignment}, std::span(storage));
      ASSERT_EQ(pool.capacity(), 0u);
      ASSERT_EQ(pool.try_allocate(), nullptr);
      test_source source;
      fixed_pool<test_source_ref> grown({SIZE_MAX - less, alignment}, heap_blocks{}, {&source});
      ASSERT_EQ(grown.try_allocate(), nullptr);
      fixed_pool<test_source_ref> one({SIZE_MAX - less, alignment}, heap_pool{1}, {&source});
      ASSERT_EQ(one.capacity(), 0u);
      ASSERT_EQ(source.pieces.size(), 0u);
    }
  }
}

TEST(FixedPoolDeathTest, AlignmentMustBeAPowerOfTwo) {
  std::byte storage[256];
  for (std::size_t alignment : {0u, 3u, 24u}) {
    EXPECT_DEATH(fixed_pool(block_layout{16, alignment}, std::span(storage)), "argument");
  }
}

TEST(LockFree, CapacityIsCutToWhatTheIndexCanNumber) {
  std::vector<std::byte> bytes(70'000 * 11);
  fixed_pool<lock_free<std::uint32_t>, check::none> pool({8, 1}, bytes);
  EXPECT_EQ(pool.capacity(), 65'534u);
  std::size_t n = 0;
  while (pool.try_allocate() != nullptr) ++n;
  EXPECT_EQ(n, 65'534u);
  test_source source;
  fixed_pool<test_source_ref, lock_free<std::uint32_t>> too_many({8, 8}, heap_pool{65'535},
                                                                 {&source});
  EXPECT_EQ(too_many.capacity(), 0u);
}

}  // namespace
