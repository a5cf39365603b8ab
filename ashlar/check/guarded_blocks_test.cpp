// Guarded blocks of the test's own: where they lie, when a slot is used again, what is found, and
// what is said.

#include <tests/support/shared_blocks.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/check/guarded_blocks.hpp>
#include <ashlar/check/misuse_report.hpp>

namespace {

using namespace ashlar;
using detail::block_record;
using detail::guarded_blocks;

constexpr std::size_t page = detail::page_size;

/// Guarded blocks; the address space of a test that ends stays reserved.
struct guarded {
  explicit guarded(std::size_t slots, bool fills = false, unsigned depth = 0) {
    started = blocks.start({.one_of = 1, .slots = slots, .stack_depth = depth, .fills = fills});
  }
  unsigned char* try_make(std::size_t size, std::size_t alignment = 16, bool zeroed = false,
                          const char* call = "malloc") {
    return static_cast<unsigned char*>(blocks.allocate(size, alignment, zeroed, call));
  }
  unsigned char* make(std::size_t size, std::size_t alignment = 16, bool zeroed = false,
                      const char* call = "malloc") {
    return not_null(try_make(size, alignment, zeroed, call));
  }
  unsigned char* try_make_before(std::size_t size, std::size_t alignment = 16) {
    return static_cast<unsigned char*>(
        blocks.allocate(size, alignment, false, "malloc", detail::closed_side::before));
  }
  unsigned char* make_before(std::size_t size, std::size_t alignment = 16) {
    return not_null(try_make_before(size, alignment));
  }
  /// Without pages (tests/sweep lets their requests fail) there is nothing to test.
  static unsigned char* not_null(unsigned char* block) {
    if (block != nullptr) return block;
    std::fputs("no pages for a guarded block\n", stderr);
    std::abort();
  }
  guarded_blocks blocks;
  bool started = false;
};

std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

TEST(GuardedBlocks, AreOffUntilStarted) {
  guarded_blocks off;
  int other = 0;
  EXPECT_FALSE(off.is_on());
  EXPECT_FALSE(off.contains(&other));
  EXPECT_FALSE(off.contains(nullptr));
  EXPECT_FALSE(off.start({.one_of = 0}));
  EXPECT_FALSE(off.start({.one_of = 1, .slots = 0}));
  EXPECT_FALSE(off.is_on());
  EXPECT_EQ(off.look("test"), 0u);
  ashlar_stats stats{};
  off.add_to(stats);
  EXPECT_EQ(stats.total.reserved_bytes, 0u);
}

TEST(GuardedBlocks, EndAtTheClosedPageAsFarAsTheirAlignmentLetsThem) {
  guarded g(256, true);
  ASSERT_TRUE(g.started);
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{16}, std::size_t{256}, page,
                                      16 * page, guarded_blocks::slot_bytes / 2}) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{100}, page - 16, page,
          page + 1, std::size_t{70'000}}) {
      unsigned char* const p = g.make(size, alignment);
      ASSERT_NE(p, nullptr) << size << " at " << alignment;
      ASSERT_TRUE(g.blocks.contains(p));
      EXPECT_EQ(number(p) % std::max(alignment, block_granule), 0u);
      const std::uintptr_t slot_end = align_up(number(p) + 1, guarded_blocks::slot_bytes) - page;
      EXPECT_LE(number(p) + size, slot_end);
      EXPECT_LT(slot_end - (number(p) + size), std::max(alignment, block_granule) + (size == 0));
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(p[i], detail::fresh_fill);
      EXPECT_EQ(g.blocks.size_of(p, "test"), size);
      g.blocks.free(p, "free");
    }
  }
  EXPECT_EQ(g.blocks.look("test"), 0u);
}

TEST(GuardedBlocks, BeginBehindAClosedPageWhereThatIsAskedFor) {
  guarded g(256, true);
  for (const std::size_t alignment : {std::size_t{1}, page, guarded_blocks::slot_bytes / 2}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100}, page - 1, page,
                                   page + 1, std::size_t{70'000}}) {
      unsigned char* const p = g.try_make_before(size, alignment);
      ASSERT_NE(p, nullptr) << size << " at " << alignment;
      EXPECT_EQ(number(p) % guarded_blocks::slot_bytes, 0u);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(p[i], detail::fresh_fill);
      const std::size_t opened = align_up(std::max<std::size_t>(size, 1), page);
      for (std::size_t i = size; i < opened; ++i) ASSERT_EQ(p[i], detail::guard_fill);
      EXPECT_EQ(g.blocks.size_of(p, "test"), size);
      g.blocks.free(p, "free");
    }
  }
  EXPECT_EQ(g.try_make_before(guarded_blocks::room), nullptr);
  ASSERT_NE(g.try_make_before(guarded_blocks::room - 16), nullptr);
  EXPECT_EQ(g.blocks.look("test"), 1u);
}

TEST(GuardedBlocks, AreZeroWhereTheyAreNotFilled) {
  guarded g(2);
  for (int round = 0; round < 6; ++round) {  // used slots, too
    unsigned char* const p = g.make(5000, 16, round % 2 == 0);
    EXPECT_TRUE(std::all_of(p, p + 5000, [](unsigned char c) { return c == 0; }));
    std::memset(p, 1, 5000);
    g.blocks.free(p, "free");
  }
  guarded filling(2, true);
  unsigned char* const zeros = filling.make(5000, 16, true);
  EXPECT_TRUE(std::all_of(zeros, zeros + 5000, [](unsigned char c) { return c == 0; }));
}

TEST(GuardedBlocks, WhatFitsNoSlotIsRefused) {
  guarded g(2);
  EXPECT_EQ(g.try_make(guarded_blocks::room), nullptr);
  EXPECT_EQ(g.try_make(SIZE_MAX), nullptr);
  EXPECT_EQ(g.try_make(SIZE_MAX - 15, 4096), nullptr);
  EXPECT_EQ(g.try_make(1, guarded_blocks::slot_bytes), nullptr);
  EXPECT_EQ(g.try_make(1, std::size_t{1} << 63), nullptr);
  unsigned char* const p = g.try_make(guarded_blocks::room - 16);
  ASSERT_NE(p, nullptr);
  std::memset(p, 1, guarded_blocks::room - 16);
  EXPECT_EQ(g.blocks.look("test"), 1u);
}

TEST(GuardedBlocks, ASlotIsUsedAgainAfterAllOthersThatAreFree) {
  guarded g(8);
  std::vector<unsigned char*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(g.make(64));
  EXPECT_EQ(std::set(blocks.begin(), blocks.end()).size(), 8u);
  EXPECT_EQ(g.try_make(64), nullptr) << "all are live";
  const std::vector<std::size_t> order = {3, 1, 7, 0, 2};
  for (const std::size_t i : order) g.blocks.free(blocks[i], "free");
  for (const std::size_t i : order) EXPECT_EQ(g.make(64), blocks[i]);
  EXPECT_EQ(g.try_make(64), nullptr);
  EXPECT_EQ(g.blocks.look("test"), 8u);
  ashlar_stats stats{};
  g.blocks.add_to(stats);
  EXPECT_EQ(stats.total.guards_refused, 2u);
}

TEST(GuardedBlocks, FiguresAreThoseOfTheBlocks) {
  guarded g(8);
  unsigned char* const a = g.make(100);
  unsigned char* const b = g.make(page + 1);
  g.blocks.free(a, "free");
  ashlar_stats stats{};
  g.blocks.add_to(stats);
  EXPECT_EQ(std::tuple(stats.large.blocks_in_use, stats.large.blocks_made, stats.large.allocations,
                       stats.large.frees),
            std::tuple(1u, 2u, 2u, 1u));
  EXPECT_EQ(std::tuple(stats.large.committed_bytes, stats.large.slack_bytes, stats.large.peak_bytes,
                       stats.total.bytes_in_use, stats.total.given_back_bytes),
            std::tuple(2 * page, page - 1, 3 * page, 2 * page, page));
  EXPECT_GT(stats.total.reserved_bytes, 8 * guarded_blocks::slot_bytes) << "the slots";
  EXPECT_LE(stats.total.reserved_bytes, 9 * guarded_blocks::slot_bytes) << "and a page before them";
  EXPECT_EQ(stats.total.allocations - stats.total.frees, 1u);
  std::size_t seen = 0;
  g.blocks.for_each_live([&](const block_record& r) {
    EXPECT_EQ(r.address, reinterpret_cast<std::byte*>(b));
    EXPECT_EQ(r.size, page + 1);
    EXPECT_STREQ(r.made.call, "malloc");
    ++seen;
  });
  EXPECT_EQ(seen, 1u);
  g.blocks.free(b, "free");
  stats = {};
  g.blocks.add_to(stats);
  EXPECT_EQ(stats.total.bytes_in_use, 0u);
  EXPECT_EQ(stats.large.slack_bytes, 0u);
}

TEST(GuardedBlocks, ARandomProgramOfManyThreadsIsNeverAccused) {
  guarded g(64, true);
  std::atomic<unsigned> calls{0};
  const std::size_t got = support::share_blocks(
      {.threads = 4, .rounds = 1500, .held_most = 20, .size_least = 0, .size_most = 10'000},
      [&](std::size_t size) -> void* {
        const std::size_t alignment = std::size_t{1} << size % 10;
        return ++calls % 4 == 0 ? g.try_make_before(size, alignment) : g.try_make(size, alignment);
      },
      [&](void* p, std::size_t size) {
        EXPECT_EQ(g.blocks.size_of(p, "test"), size);
        g.blocks.free(p, "free");
        if (++calls % 500 == 0) g.blocks.look("test");
      });
  EXPECT_GT(got, 2000u);
  EXPECT_EQ(g.blocks.look("test"), 0u);
  // No slot was lost, and none is there twice.
  std::set<unsigned char*> all;
  for (int i = 0; i < 64; ++i) all.insert(g.try_make(16));
  EXPECT_EQ(all.size(), 64u);
  EXPECT_EQ(all.count(nullptr), 0u);
}

guarded_blocks* watched = nullptr;
/// For a child: from now on its faults are told by `g`.
void watch(guarded& g) {
  watched = &g.blocks;
  if (!os::watch_access_faults([](const os::access_fault& f) noexcept { watched->report(f); }))
    std::abort();
}
char read(const volatile unsigned char* p) { return static_cast<char>(*p); }

#if defined(__x86_64__) || defined(__aarch64__)
#define READ "read"
#define WRITE "write"
#else
#define READ "access"
#define WRITE "access"
#endif

using GuardedBlocksDeathTest = testing::Test;

TEST(GuardedBlocksDeathTest, AccessesBeyondABlockAndAfterItsFreeEndAtOnce) {
  guarded g(8);
  unsigned char* const other = g.make(64);
  unsigned char* const p = g.make(100);
  EXPECT_DEATH((watch(g), read(p + 112)),
               "is 13 bytes past the end of the block of 100 bytes at 0x[0-9a-f]+\nashlar: " READ
               " in thread [0-9]+:\n.*#0 0x[0-9a-f]+.*\n.*allocated by malloc in thread [0-9]+\n"
               "ashlar: " READ
               ".0x[0-9a-f]+.: memory behind the block was accessed, block size 100");
  EXPECT_DEATH((watch(g), p[112 + page] = 1),
               "past the end of the block of 100 bytes.*\n(.*\n)*ashlar: " WRITE
               ".*behind the block");
  EXPECT_DEATH((watch(g), read(p - page)),
               "is " + std::to_string(page) +
                   " bytes before the block of 100 bytes.*\n(.*\n)*ashlar: " READ
                   ".*before the block");
  EXPECT_DEATH((watch(g), read(other + 64 + 200)),
               "is 201 bytes past the end of the block of 64 bytes")
      << "the nearest block is meant, though the address is in another's slot";
  g.blocks.free(p, "free");
  EXPECT_DEATH(
      (watch(g), read(p + 7)),
      "is byte 7 of the block of 100 bytes.*\nashlar: " READ
      " in thread.*\n.*\n.*allocated by malloc.*\n.*freed by free in thread.*\nashlar: " READ
      ".*the block was accessed after it was freed, block size 100");
  EXPECT_DEATH((watch(g), p[99] = 1),
               "is byte 99 of(.*\n)*ashlar: " WRITE ".*accessed after it was freed");
}

TEST(GuardedBlocksDeathTest, AccessesBeforeABlockBehindAClosedPageEndAtOnce) {
  guarded g(8);
  unsigned char* const first = g.make_before(100);
  unsigned char* const second = g.make_before(100);
  for (unsigned char* const p : {first, second}) {
    EXPECT_DEATH((watch(g), read(p - 1)),
                 "is 1 byte before the block of 100 bytes at 0x[0-9a-f]+\nashlar: " READ
                 " in thread.*\n.*\n.*allocated by malloc.*\nashlar: " READ
                 ".*memory before the block was accessed, block size 100");
    EXPECT_DEATH((watch(g), p[page] = 1),
                 "is " + std::to_string(page - 99) +
                     " bytes past the end of the block of 100 bytes(.*\n)*ashlar: " WRITE
                     ".*memory behind the block");
    EXPECT_DEATH((p[100] = 1, g.blocks.free(p, "free")),
                 "is 1 byte past the end.*\n.*\n.*free.*bytes behind the block were overwritten");
  }
  EXPECT_DEATH(
      (watch(g), read(second - 2 * page)),
      "is " + std::to_string(2 * page) +
          " bytes before the block of 100 bytes(.*\n)*.*memory before the block was accessed");
  g.blocks.free(first, "free");
  EXPECT_DEATH((watch(g), first[99] = 1),
               "is byte 99 of(.*\n)*ashlar: " WRITE ".*accessed after it was freed");
}

TEST(GuardedBlocksDeathTest, TheLockOfTheFaultingThreadIsNotWaitedFor) {
  guarded g(8);
  unsigned char* const p = g.make(100);
  EXPECT_DEATH(
      {
        watch(g);
        g.blocks.for_each_live([&](const block_record&) { read(p + 112); });
      },
      "13 bytes past the end of the block of 100 bytes(.*\n)*.*behind the block was accessed");
}

TEST(GuardedBlocksDeathTest, WhatLiesInNoBlockIsToldSo) {
  guarded g(8);
  unsigned char* const p = g.make(100);
  EXPECT_DEATH((watch(g), read(p + 4 * guarded_blocks::slot_bytes)),
               "no block is in use at the address");
}

TEST(GuardedBlocksDeathTest, FreesAndPatternsAreLookedAt) {
  guarded g(8);
  unsigned char* const p = g.make(100);
  EXPECT_DEATH(
      (p[100] = 1, g.blocks.free(p, "free")),
      "is 1 byte past the end.*\n.*allocated by malloc.*\n.*free.*bytes behind the block were "
      "overwritten");
  EXPECT_DEATH((p[-1] = 1, g.blocks.look("look")),
               "is 1 byte before.*\n.*\n.*look.*bytes before the block were overwritten");
  EXPECT_DEATH(g.blocks.free(p, "operator delete"), "allocated by another family of calls");
  EXPECT_DEATH(g.blocks.free(p + 16, "free"), "byte 16 of(.*\n)*.*inside a block, not its start");
  EXPECT_DEATH(g.blocks.free(p - 16, "free"), "16 bytes before(.*\n)*.*no block is in use");
  EXPECT_DEATH(g.blocks.free(p + guarded_blocks::slot_bytes, "free"),
               "ashlar: free\\(.*no block is in use");
  g.blocks.free(p, "free");
  EXPECT_DEATH(g.blocks.free(p, "free"),
               "allocated by malloc.*\n.*freed by free.*\n.*free.*double free");
  EXPECT_DEATH(static_cast<void>(g.blocks.size_of(p, "realloc")), "freed by free.*\n.*realloc");
}

}  // namespace
