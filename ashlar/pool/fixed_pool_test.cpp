// Suites: threads
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <tests/support/type_lists.hpp>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/pool/fixed_pool.hpp>

namespace {

using namespace ashlar;

/// A page source on aligned operator new that counts, and that refuses beyond a limit.
struct test_source {
  std::size_t pieces = 0;
  std::size_t bytes = 0;
  std::size_t largest_allowed = SIZE_MAX;

  void* allocate(std::size_t size, std::size_t alignment) noexcept {
    if (size > largest_allowed) return nullptr;
    void* const p = ::operator new(size, std::align_val_t{alignment}, std::nothrow);
    if (p != nullptr) ++pieces, bytes += size;
    return p;
  }
  void deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
    --pieces;
    bytes -= size;
    ::operator delete(p, std::align_val_t{alignment});
  }
};
struct test_source_ref {
  test_source* source;
  void* allocate(std::size_t n, std::size_t a) noexcept { return source->allocate(n, a); }
  void deallocate(void* p, std::size_t n, std::size_t a) noexcept { source->deallocate(p, n, a); }
};

/// The same pointer, about which the compiler knows nothing: it would warn of these misuses itself.
template <class T>
T* opaque(T* p) {
  asm volatile("" : "+r"(p));
  return p;
}

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

// ---- random programs against a model, over pools of every kind ----

struct test_port {
  static inline std::mutex one_core;
  static int save_and_disable() noexcept {
    one_core.lock();
    return 1;
  }
  static void restore(int) noexcept { one_core.unlock(); }
};

template <class... Policies>
struct on_storage {
  static constexpr bool lifo = !fixed_pool<Policies...>::check_type::guards_bytes;
  using pool_type = fixed_pool<Policies...>;
  std::vector<std::byte> bytes;
  pool_type pool;
  on_storage(block_layout block, std::size_t count)
      : bytes(pool_type::storage_bytes(block, count) + 1),
        pool(block, std::span(bytes).subspan(1)) {}
};
template <class... Policies>
struct on_one_piece {
  static constexpr bool lifo = !fixed_pool<Policies...>::check_type::guards_bytes;
  using pool_type = fixed_pool<test_source_ref, Policies...>;
  test_source source;
  pool_type pool;
  on_one_piece(block_layout block, std::size_t count)
      : pool(block, heap_pool{count}, test_source_ref{&source}) {}
};
template <class... Policies>
struct on_slabs {
  // The slab in use comes first, where each has a list.
  static constexpr bool lifo =
      std::is_same_v<typename fixed_pool<Policies...>::check_type, check::none>;
  using pool_type = fixed_pool<test_source_ref, Policies...>;
  test_source source;
  pool_type pool;
  on_slabs(block_layout block, std::size_t count)
      : pool(block, heap_blocks{.first_slab_blocks = 3, .max_blocks = count},
             test_source_ref{&source}) {}
};

template <class Setup>
class AnyPool : public testing::Test {};
using setups = support::types<
    testing::Types<on_storage<>, on_storage<check::none, counting::none>,
                   on_storage<check::full<0>>, on_storage<check::full<5>, counting::none>,
                   on_storage<interrupt_mask<test_port>>, on_storage<lock_free<std::uint32_t>>,
                   on_storage<lock_free<>, check::none, counting::none>, on_one_piece<check::none>,
                   on_one_piece<lock_free<>>, on_slabs<check::full<>>,
                   on_slabs<std::mutex, counting::none>>,
    testing::Types<on_storage<check::none>, on_storage<counting::none>, on_storage<check::full<>>,
                   on_storage<std::mutex>, on_storage<spin_lock, check::none>,
                   on_storage<lock_free<>>, on_storage<lock_free<>, check::none>, on_one_piece<>,
                   on_one_piece<check::full<>>, on_slabs<>, on_slabs<check::none>>>;
TYPED_TEST_SUITE(AnyPool, setups);

struct block_model {
  void* at;
  unsigned char pattern;
};

TYPED_TEST(AnyPool, RandomProgramsAgreeWithTheModel) {
  std::mt19937 random(20240601);
  for (int program = 0; program < 60; ++program) {
    const block_layout block{random() % 120, std::size_t{1} << (random() % 8)};
    const std::size_t capacity = random() % 70;
    TypeParam setup(block, capacity);
    auto& pool = setup.pool;
    using pool_type = std::remove_reference_t<decltype(pool)>;
    constexpr bool counts = pool_type::counting_type::counts;
    ASSERT_GE(pool.capacity(), capacity);
    const std::size_t limit = pool.capacity();
    std::vector<block_model> live;
    std::vector<void*> freed;  // LIFO order, youngest last
    std::size_t allocations = 0, frees = 0, peak = 0;
    for (int step = 0; step < 400; ++step) {
      if (random() % 100 < (step < 200 ? 65u : 35u)) {
        void* const p = random() % 2 != 0 ? pool.try_allocate() : pool.allocate();
        ASSERT_EQ(p == nullptr, live.size() == limit);
        if (p == nullptr) continue;
        ASSERT_TRUE(pool.owns(p));
        ASSERT_TRUE(is_aligned(p, block.alignment));
        if (TypeParam::lifo && !freed.empty()) {
          ASSERT_EQ(p, freed.back()) << "reuse is last in, first out";
          freed.pop_back();
        }
        const auto pattern = static_cast<unsigned char>(random());
        std::memset(p, pattern, pool.block_size());
        live.push_back({p, pattern});
        ++allocations;
        peak = std::max(peak, live.size());
      } else if (!live.empty()) {
        const std::size_t i = random() % live.size();
        const auto* const bytes = static_cast<const unsigned char*>(live[i].at);
        for (std::size_t b = 0; b < pool.block_size(); ++b) ASSERT_EQ(bytes[b], live[i].pattern);
        pool.deallocate(live[i].at);
        freed.push_back(live[i].at);
        live[i] = live.back();
        live.pop_back();
        ++frees;
      }
      if (step % 16 == 0) {
        ASSERT_TRUE(pool.audit());
      }
      const pool_stats s = pool.stats();
      ASSERT_EQ(s.blocks_in_use, live.size());
      ASSERT_GE(s.peak_in_use, peak);
      ASSERT_LE(s.peak_in_use, s.blocks_made);
      if (counts) {
        ASSERT_EQ(s.allocations, allocations);
        ASSERT_EQ(s.frees, frees);
        ASSERT_EQ(s.peak_in_use, peak);
      }
    }
    for (const block_model& b : live) pool.deallocate(b.at);
    ASSERT_EQ(pool.stats().blocks_in_use, 0u);
    ASSERT_TRUE(pool.audit());
  }
}

TYPED_TEST(AnyPool, EverySmallLayoutAndCapacityGivesDistinctAlignedBlocks) {
  for (std::size_t alignment = 1; alignment <= 64; alignment *= 4) {
    for (std::size_t size = 0; size <= 40; ++size) {
      for (std::size_t capacity = 0; capacity <= 5; ++capacity) {
        TypeParam setup({size, alignment}, capacity);
        std::map<std::uintptr_t, std::size_t> taken;
        while (void* p = setup.pool.try_allocate()) {
          ASSERT_TRUE(is_aligned(p, alignment));
          std::memset(p, 0x5a, setup.pool.block_size());
          ASSERT_TRUE(
              taken.emplace(reinterpret_cast<std::uintptr_t>(p), setup.pool.block_size()).second);
        }
        ASSERT_EQ(taken.size(), setup.pool.capacity());
        ASSERT_GE(taken.size(), capacity);
        std::uintptr_t end = 0;
        for (const auto& [at, bytes] : taken) {
          ASSERT_GE(at, end) << "blocks overlap";
          end = at + bytes;
        }
        ASSERT_TRUE(setup.pool.audit());
        for (const auto& [at, bytes] : taken) setup.pool.deallocate(reinterpret_cast<void*>(at));
        ASSERT_TRUE(setup.pool.audit());
      }
    }
  }
}

TYPED_TEST(AnyPool, FreeingNullDoesNothing) {
  TypeParam setup({16, 16}, 2);
  setup.pool.deallocate(nullptr);
  EXPECT_EQ(setup.pool.stats().frees, 0u);
  EXPECT_TRUE(setup.pool.audit());
}

// ---- storage: too small, misaligned, huge ----

TEST(FixedPool, AlignsInsideTheCallersStorageAtEveryOffset) {
  alignas(64) std::byte storage[512];
  for (std::size_t offset = 0; offset < 64; ++offset) {
    for (std::size_t size = 0; size <= 300; size += 7) {
      fixed_pool pool(block_layout{24, 32}, std::span(storage + offset, size));
      std::size_t count = 0;
      while (void* p = pool.try_allocate()) {
        ++count;
        ASSERT_TRUE(is_aligned(p, 32));
        ASSERT_GE(static_cast<std::byte*>(p), storage + offset);
        ASSERT_LE(static_cast<std::byte*>(p) + 24, storage + offset + size);
      }
      ASSERT_EQ(count, pool.capacity());
      ASSERT_GE(size, count == 0 ? 0 : count * 33);
    }
  }
}

TEST(FixedPool, WritesOnlyInsideItsStorage) {
  std::vector<std::byte> bytes(1000, std::byte{0xEE});
  fixed_pool<check::full<2>> pool({20, 4}, std::span(bytes).subspan(13, 900));
  std::vector<void*> blocks;
  while (void* p = pool.try_allocate()) blocks.push_back(p);
  ASSERT_FALSE(blocks.empty());
  for (void* p : blocks) pool.deallocate(p);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i < 13 || i >= 913) {
      ASSERT_EQ(bytes[i], std::byte{0xEE}) << i;
    }
  }
}

TEST(FixedPool, HasNoInitialisationPass) {
  std::vector<std::byte> bytes(4096, std::byte{0xEE});
  fixed_pool pool(block_layout{32, 8}, std::span(bytes));
  ASSERT_NE(pool.try_allocate(), nullptr);
  std::size_t changed = 0;
  detail::tell_open(bytes.data(), bytes.size());
  for (std::byte b : bytes) changed += b != std::byte{0xEE};
  EXPECT_LE(changed, 2 * sizeof(std::uint32_t)) << "only the link of the one block, and nobody's";
}

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
      ASSERT_EQ(source.pieces, 0u);
    }
  }
}

TEST(FixedPool, HugeCountsNeverWrap) {
  test_source source;
  for (std::size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 64 + 2}) {
    fixed_pool<test_source_ref> pool({64, 8}, heap_pool{count}, {&source});
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_EQ(fixed_pool<>::storage_bytes({64, 8}, count), SIZE_MAX);
  }
  EXPECT_EQ(source.pieces, 0u);
}

TEST(FixedPoolDeathTest, AlignmentMustBeAPowerOfTwo) {
  std::byte storage[256];
  for (std::size_t alignment : {0u, 3u, 24u}) {
    EXPECT_DEATH(fixed_pool(block_layout{16, alignment}, std::span(storage)), "argument");
  }
}

// ---- page sources ----

TEST(FixedPool, HeapPoolTakesOnePieceAndGivesItBack) {
  test_source source;
  {
    fixed_pool<test_source_ref> pool({40, 8}, heap_pool{100}, {&source});
    EXPECT_EQ(source.pieces, 1u);
    EXPECT_EQ(pool.capacity(), 100u);
    for (int i = 0; i < 100; ++i) ASSERT_NE(pool.try_allocate(), nullptr);
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_EQ(source.pieces, 1u);
  }
  EXPECT_EQ(source.pieces, 0u);
  EXPECT_EQ(source.bytes, 0u);
}

TEST(FixedPool, HeapBlocksGrowByDoublingAndStopAtTheCap) {
  test_source source;
  {
    fixed_pool<test_source_ref> pool(
        {40, 8}, heap_blocks{.first_slab_blocks = 8, .max_blocks = 1000}, {&source});
    EXPECT_EQ(source.pieces, 0u) << "no piece before the first block";
    for (int i = 0; i < 1000; ++i) ASSERT_NE(pool.try_allocate(), nullptr);
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_EQ(pool.capacity(), 1000u);
    EXPECT_LE(source.pieces, 8u);
    EXPECT_LE(source.bytes, 1000 * 44 + 8 * 128u) << "the last slab is cut to the cap";
  }
  EXPECT_EQ(source.pieces, 0u);
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

TEST(FixedPool, BlocksOfEverySlabAreOwnedAndChecked) {
  test_source source;
  fixed_pool<test_source_ref> pool({40, 64}, heap_blocks{.first_slab_blocks = 2}, {&source});
  std::vector<void*> blocks;
  for (int i = 0; i < 200; ++i) blocks.push_back(pool.allocate());
  int outside = 0;
  EXPECT_FALSE(pool.owns(&outside));
  for (void* p : blocks) {
    EXPECT_TRUE(pool.owns(p));
    EXPECT_TRUE(pool.owns(static_cast<std::byte*>(p) + 39));
    EXPECT_TRUE(is_aligned(p, 64));
  }
  for (void* p : blocks) pool.deallocate(p);
  EXPECT_TRUE(pool.audit());
  EXPECT_DEATH(pool.deallocate(blocks[0]), "double free");
  EXPECT_DEATH(pool.deallocate(blocks[150]), "double free");
  EXPECT_DEATH(pool.deallocate(static_cast<std::byte*>(blocks[0]) + 8), "inside a block");
}

// ---- memory ahead of its use ----

struct populating_source_ref : test_source_ref {
  std::vector<std::pair<std::byte*, std::size_t>>* ranges;
  void populate(void* p, std::size_t size) noexcept {
    ranges->emplace_back(static_cast<std::byte*>(p), size);
  }
};

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

TEST(FixedPool, MovingKeepsBlocksAndEmptiesTheOther) {
  test_source source;
  fixed_pool<test_source_ref> a({32, 8}, heap_blocks{.first_slab_blocks = 2}, {&source});
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(a.allocate());
  a.deallocate(blocks.back());
  fixed_pool<test_source_ref> b(std::move(a));
  EXPECT_EQ(a.capacity(), 0u);           // NOLINT(bugprone-use-after-move): specified
  EXPECT_EQ(a.try_allocate(), nullptr);  // NOLINT
  EXPECT_EQ(a.stats().blocks_in_use, 0u);
  EXPECT_TRUE(a.audit());
  EXPECT_EQ(b.stats().blocks_in_use, 9u);
  EXPECT_EQ(b.allocate(), blocks.back());
  for (void* p : blocks) b.deallocate(p);
  EXPECT_TRUE(b.audit());
}

// ---- exhaustion ----

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

// ---- misuse ----

template <class Setup>
class CheckedPoolDeathTest : public testing::Test {};
using checked = support::types<
    testing::Types<on_storage<check::full<3>>, on_storage<lock_free<>>, on_slabs<>>,
    testing::Types<on_storage<check::cheap>, on_storage<std::mutex>, on_one_piece<>>>;
TYPED_TEST_SUITE(CheckedPoolDeathTest, checked);

TYPED_TEST(CheckedPoolDeathTest, SeesWhatMustNotBeFreed) {
  TypeParam setup({24, 8}, 10), other({24, 8}, 10);
  auto& pool = setup.pool;
  auto* const a = static_cast<std::byte*>(pool.allocate());
  auto* const b = static_cast<std::byte*>(pool.allocate());
  void* const c = other.pool.allocate();
  int outside = 0;
  EXPECT_DEATH(pool.deallocate(opaque(&outside)), "not allocated here.*block size 24");
  EXPECT_DEATH(pool.deallocate(c), "not allocated here") << "another pool's block";
  EXPECT_DEATH(pool.deallocate(opaque(reinterpret_cast<void*>(8))), "not allocated here");
  EXPECT_DEATH(pool.deallocate(opaque(reinterpret_cast<void*>(~std::uintptr_t{7}))),
               "not allocated here");
  for (int i = 1; i < 24; i += 5) EXPECT_DEATH(pool.deallocate(a + i), "inside a block");
  if (pool.owns(b + pool.stride())) {
    EXPECT_DEATH(pool.deallocate(b + pool.stride()), "no block is in use");
  }
  pool.deallocate(a);
  EXPECT_DEATH(pool.deallocate(a), "double free");
  pool.deallocate(b);
  EXPECT_DEATH(pool.deallocate(a), "double free");  // not only at the top of the list
  EXPECT_TRUE(pool.audit());
}

/// There is no initialisation pass: the mark of a block that was never handed out may read as that of a live one.
template <class... Policies>
void old_bytes_are_no_block() {
  const auto live = std::is_same_v<pick_policy<lock_kind, no_lock, Policies...>, no_lock>
                        ? std::byte{0xff}
                        : std::byte{static_cast<unsigned char>(detail::block_state::live)};
  std::vector<std::byte> bytes(1024, live);
  fixed_pool<Policies...> pool(block_layout{24, 8}, std::span(bytes));
  auto* const first = static_cast<std::byte*>(pool.allocate());
  EXPECT_DEATH(pool.deallocate(first - pool.stride()), "not allocated here") << "nobody's link";
  EXPECT_DEATH(pool.deallocate(first + pool.stride()), "no block is in use");
  EXPECT_DEATH(pool.deallocate(first + (pool.capacity() - 1) * pool.stride()),
               "no block is in use");
}
TEST(FixedPoolDeathTest, WhatItsStorageHeldBeforeIsNoBlock) {
  old_bytes_are_no_block<>();
  old_bytes_are_no_block<check::full<3>>();
  old_bytes_are_no_block<lock_free<>>();
}

/// A misuse that a tool would see before the pool does.
void flip_unseen(std::byte& byte, std::byte bits) {
  detail::tell_open(&byte, 1);
  byte ^= bits;
}

TEST(FullCheckDeathTest, SeesOneByteBehindTheBlock) {
  std::byte bytes[1024];
  for (std::size_t size : {1u, 7u, 8u, 20u, 24u}) {
    fixed_pool<check::full<>> pool({size, 8}, bytes);
    auto* const p = static_cast<std::byte*>(pool.allocate());
    std::memset(p, 0xff, size);
    EXPECT_TRUE(pool.audit());
    flip_unseen(p[size], std::byte{1});
    EXPECT_FALSE(pool.audit());
    EXPECT_DEATH(pool.deallocate(p), "ashlar: deallocate\\(0x.*overwritten");
    EXPECT_DEATH(pool.deallocate_as(p, "release"), "ashlar: release\\(0x.*overwritten");
    flip_unseen(p[size], std::byte{1});
    pool.deallocate(p);
  }
}

TEST(FullCheckDeathTest, SeesAWriteAfterFreeWherePossible) {
  std::byte bytes[4096];
  for (std::size_t at = 0; at < 48; ++at) {  // the block, and the canary behind it
    fixed_pool<check::full<1>> pool({24, 8}, bytes);
    auto* const a = static_cast<std::byte*>(pool.allocate());
    auto* const b = static_cast<std::byte*>(pool.allocate());
    auto* const c = static_cast<std::byte*>(pool.allocate());
    pool.deallocate(a);
    pool.deallocate(b);
    pool.deallocate(c);
    if (at >= pool.stride()) break;
    flip_unseen(b[at],
                std::byte{0x10});  // b is the top of the list now, a under it, c in the quarantine
    EXPECT_DEATH((void)pool.allocate(), "written to after it was freed") << at;
  }
}

TEST(FullCheck, ReusesTheLongestFreedBlockLastAndLosesNoCapacity) {
  std::byte bytes[1024];
  fixed_pool<check::full<4>> pool({24, 8}, bytes);
  void* const first = pool.allocate();
  pool.deallocate(first);
  std::size_t count = 0;
  void* last = nullptr;
  while (void* p = pool.allocate()) {
    last = p;
    ++count;
  }
  EXPECT_EQ(count, pool.capacity()) << "the quarantine must not cost capacity";
  EXPECT_EQ(last, first);
}

TEST(FullCheck, FillsFreshAndFreedBlocks) {
  std::byte bytes[512];
  fixed_pool<check::full<>> pool({24, 8}, bytes);
  auto* const p = static_cast<std::byte*>(pool.allocate());
  EXPECT_TRUE(detail::bytes_are(p, 24, detail::fresh_fill));
  pool.deallocate(p);
  detail::tell_open(p, 24);
  EXPECT_TRUE(detail::bytes_are(p, 24, detail::freed_fill));
}

template <class Pool>
void leak_one_block() {
  std::byte bytes[256];
  Pool pool({16, 8}, bytes);
  ASSERT_NE(pool.allocate(), nullptr);
}

TEST(AtDeathDeathTest, StopReportsBlocksInUse) {
  std::byte bytes[256];
  {
    fixed_pool<at_death::stop> pool({16, 8}, bytes);
    pool.deallocate(pool.allocate());
  }
  leak_one_block<fixed_pool<>>();
  EXPECT_DEATH((leak_one_block<fixed_pool<at_death::stop, named<"leaky">>>()),
               "blocks in use.*leaky");
  EXPECT_DEATH((leak_one_block<fixed_pool<at_death::stop, counting::none>>()), "blocks in use");
}

// Pools used to hide a use after free from AddressSanitizer, so that projects switched them off.
TEST(SanitizedPoolDeathTest, AUseAfterFreeIsSeenByAddressSanitizer) {
  if (!address_sanitizer) GTEST_SKIP() << "this build has no AddressSanitizer";
  const auto touch = [](void* p, std::size_t at) { static_cast<volatile char*>(p)[at] = 1; };
  std::byte bytes[512];
  fixed_pool pool(block_layout{20, 8}, std::span(bytes).first(256));
  fixed_pool<lock_free<>, check::none> shared_pool({20, 8}, std::span(bytes).subspan(256));
  const auto sees = [&](auto& any) {
    void* const p = any.allocate();
    touch(p, 0);
    touch(p, 19);
    EXPECT_DEATH(touch(p, 20), "AddressSanitizer") << "the slack behind the block";
    any.deallocate(p);
    for (std::size_t at : {0u, 8u, 19u}) EXPECT_DEATH(touch(p, at), "use-after-poison");
    EXPECT_EQ(any.allocate(), p);
    touch(p, 0);
    any.deallocate(p);
    EXPECT_TRUE(any.audit());
  };
  sees(pool);
  sees(shared_pool);
}

TEST(SanitizedPool, StorageIsUsableAgainAfterThePool) {
  std::byte bytes[256];
  {
    fixed_pool pool(block_layout{20, 8}, std::span(bytes));
    pool.deallocate(pool.allocate());
  }
  std::memset(bytes, 0, sizeof(bytes));
}

TEST(FullCheckDeathTest, SeesAWriteWhenTheBlockLeavesTheQuarantine) {
  std::byte bytes[512];
  fixed_pool<check::full<1>> pool({24, 8}, bytes);
  auto* const a = static_cast<std::byte*>(pool.allocate());
  void* const b = pool.allocate();
  pool.deallocate(a);
  flip_unseen(a[5], std::byte{1});
  EXPECT_DEATH(pool.deallocate(b), "deallocate.*written to after it was freed");
  flip_unseen(a[5], std::byte{1});
  pool.deallocate(b);
  EXPECT_TRUE(pool.audit());
}

// No free block keeps a link: what is written there is followed by nobody.
template <class Setup>
class ForgedLink : public testing::Test {};
using unguarded = support::types<
    testing::Types<on_storage<>, on_storage<lock_free<>>, on_slabs<>>,
    testing::Types<on_storage<std::mutex>, on_one_piece<>>>;  // check::full reports the write
TYPED_TEST_SUITE(ForgedLink, unguarded);
TYPED_TEST(ForgedLink, IsNotFollowed) {
  TypeParam setup({24, 8}, 10);
  auto& pool = setup.pool;
  auto* const live = static_cast<std::byte*>(pool.allocate());
  auto* const below = static_cast<std::byte*>(pool.allocate());
  auto* const freed = static_cast<std::byte*>(pool.allocate());
  pool.deallocate(below);
  pool.deallocate(freed);
  detail::tell_open(freed, 24);
  for (std::size_t at = 0; at < 24; at += sizeof(live)) {
    std::memcpy(freed + at, &live, sizeof(live));
  }
  EXPECT_TRUE(pool.audit());
  EXPECT_EQ(pool.allocate(), freed);
  EXPECT_EQ(pool.allocate(), below);
  EXPECT_NE(pool.allocate(), live);
}

// Sixteen bytes are what one wide store or a small structure writes too far.
TEST(FullCheckDeathTest, SeesSixteenBytesBehindTheBlockBeforeTheyHitTheNext) {
  std::byte bytes[1024];
  for (std::size_t size : {1u, 8u, 20u, 24u, 64u}) {
    for (std::size_t alignment : {1u, 8u, 64u}) {
      fixed_pool<check::full<>> pool({size, alignment}, bytes);
      auto* const p = static_cast<std::byte*>(pool.allocate());
      auto* const next = static_cast<std::byte*>(pool.allocate());
      std::memset(next, 0x5a, size);
      for (std::size_t i = 0; i < 16; ++i) flip_unseen(p[size + i], std::byte{0xff});
      EXPECT_TRUE(detail::bytes_are(next, size, 0x5a)) << "size " << size;
      EXPECT_DEATH(pool.deallocate(p), "overwritten");
      for (std::size_t i = 0; i < 16; ++i) flip_unseen(p[size + i], std::byte{0xff});
      pool.deallocate(p);
    }
  }
}

// A corrupted list is found by the audit, not followed.
TEST(Audit, FindsABrokenLinkAndACircle) {
  alignas(8) std::byte bytes[256];
  fixed_pool<check::none> pool({16, 8}, bytes);
  void* const a = pool.allocate();
  void* const b = pool.allocate();
  pool.deallocate(a);
  pool.deallocate(b);
  EXPECT_TRUE(pool.audit());
  const auto set_link = [](void* p, void* to) {
    detail::tell_open(p, sizeof(to));
    std::memcpy(p, &to, sizeof(to));
  };
  set_link(b, opaque(bytes) + 4000);
  EXPECT_FALSE(pool.audit());
  set_link(b, b);
  EXPECT_FALSE(pool.audit());
  set_link(b, nullptr);
  EXPECT_FALSE(pool.audit()) << "a block is lost";
  set_link(b, a);
  EXPECT_TRUE(pool.audit());
}

// The links of a lock-free pool are indices before its blocks: 0 is none, n + 1 is block n.
TEST(Audit, FindsABrokenLinkAndACircleOfALockFreePool) {
  alignas(8) std::byte bytes[256] = {};
  fixed_pool<lock_free<>> pool({16, 8}, bytes);
  void* const a = pool.allocate();
  void* const b = pool.allocate();
  pool.deallocate(a);
  pool.deallocate(b);
  ASSERT_TRUE(pool.audit());
  const auto set_link = [&](std::uint32_t block, std::uint32_t to) {
    std::memcpy(bytes + block * sizeof(to), &to, sizeof(to));
  };
  set_link(1, 100);
  EXPECT_FALSE(pool.audit()) << "no such block";
  set_link(1, 2);
  EXPECT_FALSE(pool.audit()) << "a circle";
  set_link(1, 0);
  EXPECT_FALSE(pool.audit()) << "a block is lost";
  set_link(1, 1);
  EXPECT_TRUE(pool.audit());
}

// Those of any other checked pool are before its blocks, too: 0 is none, n is block n, counted from 1.
TEST(Audit, FindsABrokenLinkAndACircleOfACheckedPool) {
  alignas(8) std::byte bytes[256];
  fixed_pool<check::cheap> pool({16, 8}, bytes);
  void* const a = pool.allocate();
  void* const b = pool.allocate();
  pool.deallocate(a);
  pool.deallocate(b);
  ASSERT_TRUE(pool.audit());
  const auto set_link = [&](std::uint32_t block, std::uint32_t to) {
    std::memcpy(bytes + block * sizeof(to), &to, sizeof(to));
  };
  set_link(2, 3);
  EXPECT_FALSE(pool.audit()) << "a block that was never in use";
  set_link(2, 2);
  EXPECT_FALSE(pool.audit()) << "a circle";
  set_link(2, 0);
  EXPECT_FALSE(pool.audit()) << "a block is lost";
  set_link(2, detail::number_list<std::uint32_t>::live);
  EXPECT_FALSE(pool.audit()) << "a block is free and in use";
  set_link(2, 1);
  EXPECT_TRUE(pool.audit());
}

TEST(Audit, FindsAMarkThatIsNotWhatIsCounted) {
  alignas(8) std::byte bytes[256];
  fixed_pool<check::cheap> pool({16, 8}, bytes);
  ASSERT_NE(pool.allocate(), nullptr);
  pool.deallocate(pool.allocate());
  ASSERT_TRUE(pool.audit());
  const auto turn =
      [&](std::size_t block) {  // what says "in use" says "free", and the other way round
        std::uint32_t link = 0;
        std::memcpy(&link, bytes + block * sizeof(link), sizeof(link));
        link = ~link;
        std::memcpy(bytes + block * sizeof(link), &link, sizeof(link));
      };
  for (std::size_t block : {1u, 2u}) {
    turn(block);
    EXPECT_FALSE(pool.audit()) << "block " << block;
    turn(block);
    EXPECT_TRUE(pool.audit());
  }
}

// ---- threads ----

template <class Setup>
class SharedPool : public testing::Test {};
using shared = support::types<
    testing::Types<on_storage<spin_lock, check::full<3>>, on_storage<interrupt_mask<test_port>>,
                   on_storage<lock_free<std::uint32_t>, check::none>, on_one_piece<lock_free<>>,
                   on_slabs<std::mutex>>,
    testing::Types<on_storage<std::mutex>, on_storage<spin_lock>, on_storage<lock_free<>>>>;
TYPED_TEST_SUITE(SharedPool, shared);

TYPED_TEST(SharedPool, ThreadsNeverShareABlock) {
  constexpr int threads = 3, rounds = 4000, held_most = 5;
  TypeParam setup({32, 8}, threads * held_most - 4);  // sometimes empty
  auto& pool = setup.pool;
  std::atomic<long> got{0}, wrong{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<unsigned char*> held;
      for (int r = 0; r < rounds; ++r) {
        if (held.size() < held_most && random() % 2 != 0) {
          if (void* p = pool.try_allocate()) {
            std::memset(p, t + 1, 32);
            held.push_back(static_cast<unsigned char*>(p));
            ++got;
          }
        } else if (!held.empty()) {
          unsigned char* const p = held.back();
          held.pop_back();
          for (int i = 0; i < 32; ++i) wrong += p[i] != t + 1;
          pool.deallocate(p);
        }
      }
      for (void* p : held) pool.deallocate(p);
    });
  }
  for (auto& w : workers) w.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(pool.audit());
  const pool_stats s = pool.stats();
  EXPECT_EQ(s.allocations, static_cast<std::size_t>(got));
  EXPECT_EQ(s.frees, s.allocations);
  EXPECT_EQ(s.blocks_in_use, 0u);
  EXPECT_LE(s.peak_in_use, pool.capacity());
}

// Blocks pass from one thread to another: what the first wrote, the second sees.
TEST(LockFree, AFreedBlockCarriesNoRace) {
  std::byte bytes[fixed_pool<lock_free<>>::storage_bytes({sizeof(long), 8}, 2)];
  fixed_pool<lock_free<>> pool({sizeof(long), 8}, bytes);
  std::thread other([&] {
    for (long i = 0; i < 20'000; ++i) {
      if (void* p = pool.try_allocate()) pool.deallocate(::new (p) long(i));
    }
  });
  for (long i = 0; i < 20'000; ++i) {
    if (void* p = pool.try_allocate()) pool.deallocate(::new (p) long(-i));
  }
  other.join();
  EXPECT_TRUE(pool.audit());
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
