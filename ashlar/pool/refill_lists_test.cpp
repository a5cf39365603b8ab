// Tests of pool/refill_lists.hpp.
// Needs POSIX.
#include <tests/support/fixed_pools.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/pool/refill_lists.hpp>

namespace {

using namespace ashlar;
using namespace support;

constexpr std::size_t head = align_up(2 * sizeof(void*), alignof(std::max_align_t));  // of a chunk
constexpr std::size_t wide = refill_lists<test_source_ref>::widest_alignment;

using lists = refill_lists<test_source_ref>;

class RefillLists : public testing::Test {
 protected:
  test_source book_;
  lists pool_{test_source_ref{&book_}};
};

TEST_F(RefillLists, rounds_up_to_the_list_that_fits) {
  static_assert(lists::list_bytes(0, 1) == 8 && lists::list_bytes(1, 1) == 8);
  static_assert(lists::list_bytes(8, 8) == 8 && lists::list_bytes(9, 1) == 16);
  static_assert(lists::list_bytes(17, 1) == 24 && lists::list_bytes(128, 1) == 128);
  static_assert(lists::list_bytes(24, 16) == (wide >= 16 ? 32 : 0));
  static_assert(lists::list_bytes(129, 1) == 0 && lists::list_bytes(SIZE_MAX, 1) == 0);
  static_assert(lists::list_bytes(8, 32) == 0, "aligned to more: the source's");
  static_assert(refill_lists<test_source_ref, 24>::list_bytes(20, 16) == 0,
                "32 is above the bound");
  auto* const a = static_cast<std::byte*>(pool_.try_allocate(17, 1));
  auto* const b = static_cast<std::byte*>(pool_.try_allocate(24, 8));
  EXPECT_EQ(b - a, 24) << "the same list";
  EXPECT_EQ(pool_.stats().bytes_in_use, 48u);
  pool_.deallocate(a, 17, 1);
  pool_.deallocate(b, 24, 8);
}

TEST_F(RefillLists, a_refill_makes_fifty_blocks_in_the_order_of_their_addresses) {
  auto* before = static_cast<std::byte*>(pool_.try_allocate(64));
  for (int i = 1; i < 100; ++i) {
    auto* const p = static_cast<std::byte*>(pool_.try_allocate(64));
    EXPECT_EQ(p - before, 64) << i;
    before = p;
  }
  EXPECT_EQ(book_.pieces.size(), 1u) << "the first chunk holds two refills";
  EXPECT_TRUE(pool_.audit());
  pool_.deallocate(before, 64);
  EXPECT_EQ(pool_.try_allocate(60), before) << "freed last, used first";
}

TEST_F(RefillLists, chunks_grow_so_that_they_are_few) {
  for (int i = 0; i < 1'000'000; ++i) (void)pool_.try_allocate(16);
  EXPECT_LE(book_.pieces.size(), 30u);
  EXPECT_LE(book_.bytes, 16'000'000 * 3 / 2 + 16 * 100 + book_.pieces.size() * 64);
  EXPECT_EQ(pool_.stats().chunk_count, book_.pieces.size());
}

TEST_F(RefillLists, memory_is_populated_ahead_in_proportion_to_what_was_used) {
  test_source book;
  std::vector<std::pair<std::byte*, std::size_t>> ranges;
  refill_lists<populating_source_ref> pool({{&book}, &ranges});
  std::size_t used = 0;
  std::size_t covered = 0;  // blocks whose memory was populated before they were handed out
  const auto is_populated = [&ranges](const std::byte* p) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [p](auto& r) { return p >= r.first && p + 128 <= r.first + r.second; });
  };
  for (int i = 0; i < 100'000; ++i) {
    auto* const p = static_cast<std::byte*>(pool.try_allocate(128));
    used += 128;
    if (is_populated(p)) ++covered;
    std::size_t populated = 0;
    for (const auto& range : ranges) populated += range.second;
    const std::size_t taken = pool.stats().chunk_bytes;
    ASSERT_LE(populated, used + taken / 8 + 50 * 128) << "never far ahead of use";
    ASSERT_TRUE(taken >= 8 * least_populated || ranges.empty()) << "not for little";
  }
  EXPECT_GE(covered, 90'000u) << "nearly all of what came after the first half megabyte";
  EXPECT_LE(ranges.size(), 60u) << "one call for each ninth or so that it grows by";
  EXPECT_TRUE(pool.audit()) << "every populated range was in a chunk, or the chunk is broken";
}

TEST_F(RefillLists, large_and_over_aligned_requests_go_to_the_source) {
  test_source book;
  {
    lists pool(test_source_ref{&book});
    void* const large = pool.try_allocate(129, 8);
    EXPECT_EQ(book.bytes, 129u);
    void* const aligned = pool.try_allocate(8, 64);
    EXPECT_TRUE(is_aligned(aligned, 64));
    EXPECT_FALSE(pool.owns(large));
    EXPECT_EQ(pool.stats().chunk_count, 0u);
    pool.deallocate(large, 129, 8);
    pool.deallocate(aligned, 8, 64);
    EXPECT_EQ(book.bytes, 0u);
    EXPECT_EQ(pool.try_allocate(SIZE_MAX, 1), nullptr);
    EXPECT_EQ(pool.try_allocate(SIZE_MAX - 100, 64), nullptr);
    (void)pool.try_allocate(8);
  }
  EXPECT_EQ(book.pieces.size(), 0u) << "chunks are back";
}

// ---- what is left over ----

TEST_F(RefillLists, the_rest_of_a_chunk_is_filed_completely) {
  // Sizes that leave something of every chunk; in the end every byte of all chunks was a block.
  book_.bytes_allowed = 5000;
  std::size_t got = 0;
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (std::size_t size = 128; size >= 8; size -= 8) {
    while (void* const p = pool_.try_allocate(size, 8)) {
      got += size;
      blocks.emplace_back(p, size);
      ASSERT_TRUE(pool_.audit());
    }
  }
  EXPECT_EQ(got, pool_.stats().chunk_bytes) << "every byte of every chunk served";
  EXPECT_GT(got, 0u);
  for (auto [p, size] : blocks) pool_.deallocate(p, size, 8);
  EXPECT_TRUE(pool_.audit());
  EXPECT_EQ(pool_.stats().bytes_in_use, 0u);
}

/// A source of one caller's buffer, whole or not at all.
struct buffer_source {
  std::byte* bytes;
  std::size_t size;
  void* allocate(std::size_t n, std::size_t) noexcept {
    if (n > size) return nullptr;
    size = 0;
    return bytes;
  }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
};

TEST_F(RefillLists, out_of_memory_searches_every_larger_list_to_the_last) {
  for (std::size_t larger = 16; larger <= 128; larger += 8) {
    for (std::size_t wanted = 8; wanted < larger; wanted += 8) {
      alignas(16) std::byte buffer[head + 128];
      refill_lists<buffer_source> pool(buffer_source{buffer, head + larger});
      void* const block = pool.try_allocate(larger, 8);
      ASSERT_NE(block, nullptr) << larger;
      pool.deallocate(block, larger, 8);
      // The only free block of the whole component is on list `larger`.
      void* const p = pool.try_allocate(wanted, 8);
      ASSERT_NE(p, nullptr) << wanted << " out of " << larger;
      ASSERT_TRUE(pool.audit());
      void* const rest = pool.try_allocate(larger - wanted, 8);
      const bool whole = rest != nullptr;
      // What was left is one block, unless it has the size of an aligned block without the
      // alignment: then it is two.
      ASSERT_TRUE(whole || (larger - wanted) % wide == 0) << wanted << " out of " << larger;
      if (!whole) {
        ASSERT_NE(pool.try_allocate(larger - wanted - 8, 8), nullptr);
        ASSERT_NE(pool.try_allocate(8, 8), nullptr);
      }
      EXPECT_EQ(pool.stats().bytes_in_use, larger);
      EXPECT_EQ(pool.try_allocate(8, 8), nullptr);
    }
  }
}

// ---- locks (random programs, also of threads that share one: tests/model/sets.hpp) ----

/// Knows when nobody waits for it, as os::mutex does in a process of one thread.
struct counted_lock {
  static inline bool alone = true;
  static inline int times = 0;
  bool is_alone() const noexcept { return alone; }
  void lock() noexcept { ++times; }
  void unlock() noexcept {}
};

TEST_F(RefillLists, a_miss_takes_the_lock_and_among_threads_every_call_does) {
  test_source book;
  refill_lists<test_source_ref, 128, 8, counted_lock> pool(test_source_ref{&book});
  pool.deallocate(pool.try_allocate(8), 8);
  EXPECT_EQ(counted_lock::times, 1) << "the refill";
  pool.deallocate(pool.allocate(8), 8);
  EXPECT_EQ(counted_lock::times, 1) << "two hits";
  counted_lock::alone = false;
  void* const p = pool.allocate(8);
  EXPECT_EQ(counted_lock::times, 2);
  pool.deallocate(p, 8);
  EXPECT_EQ(counted_lock::times, 3);
}

// ---- exhaustion and misuse ----

using abandoned = refill_lists<buffer_source, 128, 8, at_death::abandon>;
static_assert(std::is_trivially_destructible_v<abandoned>);
static_assert(!std::is_trivially_destructible_v<lists>);
[[maybe_unused]] constinit abandoned serves_to_the_end{buffer_source{nullptr, 0}};

TEST_F(RefillLists, audit_finds_a_broken_link_and_a_circle) {
  void* const a = pool_.try_allocate(32);
  void* const b = pool_.try_allocate(32);
  pool_.deallocate(a, 32);
  pool_.deallocate(b, 32);
  ASSERT_TRUE(pool_.audit());
  const auto set_link = [](void* p, const void* to) {
    detail::tell_open(p, sizeof(to));
    std::memcpy(p, &to, sizeof(to));
  };
  alignas(16) std::byte elsewhere[32] = {};
  set_link(b, elsewhere);
  EXPECT_FALSE(pool_.audit()) << "no block of a chunk";
  std::byte* const inside = static_cast<std::byte*>(a) + 12;
  void* after_a = nullptr;
  detail::tell_open(a, sizeof(after_a));
  std::memcpy(&after_a, a, sizeof(after_a));
  set_link(inside, after_a);
  set_link(b, inside);
  EXPECT_FALSE(pool_.audit()) << "no place where a block begins";
  set_link(b, b);
  EXPECT_FALSE(pool_.audit()) << "a circle";
  set_link(b, nullptr);
  EXPECT_FALSE(pool_.audit()) << "blocks are lost";
  set_link(b, a);
  EXPECT_TRUE(pool_.audit());
}

TEST(RefillListsDeathTest, misuse_is_reported) {
  test_source book;
  refill_lists<test_source_ref, 128, 8, named<"small ones">> pool(test_source_ref{&book});
  alignas(16) std::byte elsewhere[32];
  EXPECT_DEATH(pool.deallocate(elsewhere, 32), "not allocated here.*small ones");
  auto* const a = static_cast<std::byte*>(pool.try_allocate(32));
  auto* const b = static_cast<std::byte*>(pool.try_allocate(32));
  EXPECT_DEATH(pool.deallocate(elsewhere, 32), "not allocated here");
  EXPECT_DEATH(pool.deallocate(a + 1, 32), "inside a block");
  EXPECT_DEATH(pool.deallocate(a + 8, 32), "inside a block");
  pool.deallocate(a, 32);
  EXPECT_DEATH(pool.deallocate(a, 32), "double free");
  pool.deallocate(b, 32);
  EXPECT_DEATH(pool.deallocate(a, 32), "double free") << "nothing is in use";
  EXPECT_DEATH((void)pool.try_allocate(8, 3), "argument");
  EXPECT_DEATH((void)pool.try_allocate(8, 0), "argument");

  pool.deallocate(nullptr, 32);
}

}  // namespace
