// Slabs that have free pages beside blocks in use: which pages those are, and when they leave.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using namespace test;
using cache = test_heap::cache;

using HollowSlabsWithPages = SlabsWithPages;
constexpr std::uint64_t delay = 100;

/// Block by block, byte by byte.
page_set free_pages_by_hand(const run& slab, const slab_shape& shape) {
  page_set held = 0;
  for (std::uint32_t i = 0; i < shape.blocks; ++i) {
    if (is_free(slab, i)) continue;
    const std::size_t begin = std::size_t{i} * shape.block_size;
    for (std::size_t at = begin; at < begin + shape.block_size; ++at)
      held |= page_set{1} << (at >> page_shift);
  }
  return pages_between(0, shape.pages) & ~held;
}

TEST(FreePages, AreThoseOnWhichNobodyHoldsAByte) {
  std::mt19937 random(1);
  for (std::size_t c = 1; c < class_count; ++c) {
    const slab_shape& shape = standard_classes.shapes[c];
    if (!may_be_hollow(shape)) continue;
    std::array<std::uint64_t, slab_words_max> bits{};
    run slab;
    slab.free_bits = bits.data();
    slab.size_class = static_cast<class_index>(c);
    const auto expect = [&] {
      ASSERT_EQ(free_pages(slab, shape, {0, shape.pages}), free_pages_by_hand(slab, shape))
          << shape.block_size;
    };
    for (std::uint32_t i = 0; i < shape.blocks; ++i) ASSERT_TRUE(put_block(slab, i));
    expect();
    EXPECT_EQ(free_pages(slab, shape, {0, shape.pages}), pages_between(0, shape.pages));
    for (const std::uint32_t one_in : {2u, 20u, 200u}) {
      bits.fill(0);
      for (std::uint32_t i = 0; i < shape.blocks; ++i)
        if (random() % one_in != 0) static_cast<void>(put_block(slab, i));
      expect();
    }
    for (const std::uint32_t held : {0u, shape.blocks / 2, shape.blocks - 1}) {  // all but one
      bits.fill(0);
      for (std::uint32_t i = 0; i < shape.blocks; ++i)
        if (i != held) static_cast<void>(put_block(slab, i));
      expect();
    }
  }
}

/// A heap whose blocks of one size all are in use, each with its number written at both ends; then
/// most of them free.
class hollow_heap {
 public:
  hollow_heap(std::size_t size, std::size_t bytes, const heap_bounds& bounds = {}) : size_(size) {
    heap.set_bounds(bounds);
    heap.set_purge_policy({.delay_ms = delay, .keep_bytes = 0});
    own = heap.attach();
    for (std::size_t got = 0; got < bytes; got += size) {
      blocks.push_back(allocate(heap, *own, size));
      mark(blocks.size() - 1);
    }
  }
  ~hollow_heap() {
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i] != nullptr) drop(i);
    heap.trim();
    heap.audit();
    EXPECT_EQ(stats().total.bytes_in_use, 0u);
  }

  void keep_one_in(std::size_t n) {
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (i % n != 0) drop(i);
    heap.flush(*own);
  }
  void fill_again() {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] != nullptr) continue;
      blocks[i] = allocate(heap, *own, size_);
      mark(i);
    }
  }
  /// Effects: one block in `n` is in use, and what was free before has been taken once since.
  void keep_again_one_in(std::size_t n) {
    keep_one_in(n);
    heap.trim();  // sorts back what is stashed
    fill_again();
    keep_one_in(n);
  }
  reclaim_progress reclaim_at_once() {
    reclaim_progress scan;
    scan.at_once = true;
    while (heap.reclaim_step(scan)) continue;
    return scan;
  }
  /// Effects: misses at time `ms`, of a class of their own, each of which does a part of a scan if
  /// it is time.
  void scan(std::uint64_t ms) {
    heap.space().set_clock(ms);
    for (int miss = 0; miss < 100; ++miss) deallocate(heap, *own, large_of(heap, 600'000));
  }
  void check() const {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] == nullptr) continue;
      ASSERT_EQ(std::memcmp(blocks[i], &i, sizeof i), 0);
      ASSERT_EQ(std::memcmp(end_of(i), &i, sizeof i), 0);
    }
  }
  /// Returns: bytes in memory from the lowest to the highest block that there ever was.
  [[nodiscard]] std::size_t resident() {
    const std::uintptr_t begin = align_down(lowest_, page_size);
    return heap.space().resident(reinterpret_cast<void*>(begin),
                                 align_up(highest_ + size_, page_size) - begin);
  }
  [[nodiscard]] ashlar_stats stats() {
    ashlar_stats s;
    heap.collect(s, own);
    return s;
  }

  void drop(std::size_t i) {
    deallocate(heap, *own, blocks[i]);
    blocks[i] = nullptr;
  }

  test_heap heap;
  cache* own = nullptr;
  std::vector<void*> blocks;

 private:
  [[nodiscard]] char* end_of(std::size_t i) const {
    return static_cast<char*>(blocks[i]) + size_ - sizeof i;
  }
  void mark(std::size_t i) {
    ASSERT_NE(blocks[i], nullptr);
    const auto place = reinterpret_cast<std::uintptr_t>(blocks[i]);
    lowest_ = std::min(lowest_, place);
    highest_ = std::max(highest_, place);
    std::memcpy(blocks[i], &i, sizeof i);
    std::memcpy(end_of(i), &i, sizeof i);
  }

  std::size_t size_;
  std::uintptr_t lowest_ = UINTPTR_MAX, highest_ = 0;
};

constexpr std::size_t mebibyte = std::size_t{1} << 20;

TEST(HollowSlabs, TrimGivesTheirFreePagesBack) {
  for (const std::size_t size : {16u, 64u, 1024u, 2560u, 3328u, 8192u, 32'768u}) {
    const auto h = std::make_unique<hollow_heap>(size, 4 * mebibyte);
    const std::size_t before = h->resident();
    // One block stays of every eight pages or so: at most two pages each, and never a slab leaves
    // whole.
    const std::size_t one_in = 8 * page_size / size + (size > page_size ? 2 : 0);
    h->keep_one_in(one_in);
    const std::size_t kept = divide_up(h->blocks.size(), one_in);
    const std::size_t returned = h->heap.trim();
    const std::size_t most =
        kept * (align_up(size, page_size) + (size % page_size != 0 ? page_size : 0));
    EXPECT_LE(h->resident(), most) << size;
    EXPECT_GE(h->resident() + returned, before) << size;
    EXPECT_EQ(h->stats().total.given_back_bytes, returned) << size;
    h->check();
    h->heap.audit();
    h->fill_again();
    h->check();
    h->heap.audit();
    EXPECT_GE(h->resident(), before) << size;
  }
}

TEST_F(HollowSlabsWithPages, TheirPagesLeaveAtTheSecondLookThatFindsThemFree) {
  const auto h = std::make_unique<hollow_heap>(64, 8 * mebibyte);
  h->keep_again_one_in(512);
  std::uint64_t left = 0;
  const std::size_t full = h->resident();
  for (std::uint64_t t = 1; t <= 6 * delay; t += 10) {
    h->scan(t);
    if (left == 0 && h->resident() < full / 4) left = t;
  }
  // Looks are half a delay apart; what was stashed is sorted back by the second one.
  EXPECT_GE(left, delay)
      << "they were not given time: the first scan of these was half a delay after the start";
  EXPECT_LE(left, 2 * delay + 40);
  h->check();
}

// A thread beside the program looks in steps, so that nobody waits for it for long.
TEST_F(HollowSlabsWithPages, ALookGoesInSteps) {
  const auto h = std::make_unique<hollow_heap>(64, 16 * mebibyte);
  h->keep_one_in(512);
  h->heap.let_misses_reclaim(false);
  const std::size_t full = h->resident();
  const std::size_t step_bytes_max =
      64 * page_size * standard_classes.shapes[test_heap::classes::of_size(64)].pages;
  const auto look_at = [&](std::uint64_t ms) {
    h->heap.space().set_clock(ms);
    reclaim_progress scan;
    std::size_t steps = 0;
    for (std::size_t before = 0; h->heap.reclaim_step(scan); ++steps, before = scan.bytes)
      EXPECT_LE(scan.bytes - before, step_bytes_max) << "the free pages of 64 slabs";
    EXPECT_TRUE(scan.saw_last_slab);
    EXPECT_GT(steps, full / step_bytes_max);
    return scan.bytes;
  };
  // What the stash held is sorted back by the second scan, and leaves at the second one from then
  // on.
  std::size_t returned = 0;
  for (std::uint64_t t = delay; t <= 6 * delay; t += delay / 2 + 1) returned += look_at(t);
  EXPECT_LT(h->resident(), full / 4);
  EXPECT_EQ(h->stats().total.given_back_bytes, returned);
  EXPECT_EQ(look_at(7 * delay), 0u) << "all has gone";
  h->check();
  h->heap.audit();
}

TEST_F(HollowSlabsWithPages, ALookAtOnceWaitsForNothing) {
  const auto h = std::make_unique<hollow_heap>(64, 8 * mebibyte);
  h->keep_one_in(512);
  const std::size_t full = h->resident();
  deallocate(h->heap, *h->own, large_of(h->heap, mebibyte / 2));
  ASSERT_EQ(h->resident(), full);
  EXPECT_GE(h->reclaim_at_once().bytes, mebibyte);
  EXPECT_LT(h->resident(), full / 4);
  h->check();
}

TEST(HollowSlabs, WhatIsToBeKeptStaysAtOnceToo) {
  const auto h = std::make_unique<hollow_heap>(64, 2 * mebibyte);
  h->heap.set_purge_policy({.delay_ms = delay, .keep_bytes = 100 * mebibyte});
  h->keep_one_in(512);
  deallocate(h->heap, *h->own, large_of(h->heap, mebibyte));
  const reclaim_progress scan = h->reclaim_at_once();
  EXPECT_EQ(scan.bytes, 0u);
  EXPECT_TRUE(scan.saw_last_slab) << "there is nothing to wait for";
}

TEST(HollowSlabs, IdleIsWhatNobodyHolds) {
  const auto h = std::make_unique<hollow_heap>(64, 8 * mebibyte);
  const std::size_t committed = h->heap.supply().committed_bytes();
  EXPECT_EQ(committed, h->stats().total.committed_bytes);
  const std::size_t before = h->heap.idle_bytes();
  EXPECT_LT(before, mebibyte);
  h->keep_one_in(512);
  EXPECT_GT(h->heap.idle_bytes(), 7 * mebibyte);
  EXPECT_EQ(h->heap.supply().committed_bytes(), committed) << "the slabs stay";
  h->fill_again();
  EXPECT_LT(h->heap.idle_bytes(), mebibyte);
  deallocate(h->heap, *h->own, large_of(h->heap, mebibyte));
  EXPECT_GE(h->heap.idle_bytes(), mebibyte);
  h->heap.trim();
  EXPECT_EQ(h->heap.supply().committed_bytes(), h->stats().total.committed_bytes);
}

TEST(HollowSlabs, WhatIsTakenInBetweenStays) {
  const auto h = std::make_unique<hollow_heap>(64, 2 * mebibyte);
  const std::size_t full = h->resident();
  for (std::uint64_t t = delay; t <= 6 * delay; t += delay / 2 + 1) {
    h->keep_one_in(512);
    h->scan(t);
    h->fill_again();
    EXPECT_EQ(h->resident(), full);
  }
  h->check();
}

/// A heap in which a miss has begun a scan. One block in `n` is kept.
class heap_in_a_look : public hollow_heap {
 public:
  explicit heap_in_a_look(std::size_t n)
      : hollow_heap(64, 2 * mebibyte, heap_bounds{.instructions_a_call = 1000}) {
    if (n != 1) keep_one_in(n);
    for (int i = 0; i != 1000; ++i, heap.flush(*own)) miss(2000);  // what is under way ends
    heap.space().set_clock(delay);
    miss(2000);
  }
  void miss(std::size_t size) { deallocate(heap, *own, allocate(heap, *own, size)); }
  [[nodiscard]] bool opens_stacks() {
    miss(1000);
    return own->is_open(standard::class_for(1000, 1));
  }
};

TEST(HollowSlabs, AMissBringsTheNextWhileALookGoesOnAndMostIsIdle) {
  EXPECT_FALSE(std::make_unique<heap_in_a_look>(512)->opens_stacks());
  EXPECT_TRUE(std::make_unique<heap_in_a_look>(1)->opens_stacks()) << "little is idle";
}

TEST(HollowSlabs, MissesBringNoneWhenTheirLookHasEnded) {
  const auto h = std::make_unique<heap_in_a_look>(512);
  std::size_t misses = 0;
  while (!h->opens_stacks() && misses < 10'000) ++misses;
  EXPECT_GT(misses, 2u);
  EXPECT_LT(misses, 10'000u);
}

TEST(HollowSlabs, MissesBringNoneWhereNoMoreIsIdleThanBefore) {
  const auto h = std::make_unique<heap_in_a_look>(512);
  unsigned looks_with_misses = 0;
  for (std::uint64_t t = delay; t <= 10 * delay; t += delay) {
    h->heap.space().set_clock(t);
    bool brings = false;
    for (int miss = 0; miss < 1000; ++miss) {
      h->heap.flush(*h->own);
      brings |= !h->opens_stacks();
    }
    looks_with_misses += brings ? 1u : 0u;
  }
  EXPECT_GE(looks_with_misses, 2u);
  EXPECT_LE(looks_with_misses, 5u);
}

TEST(HollowSlabs, MissesBringNoneForALookThatDoesNotGoOn) {
  constexpr std::pair<const char*, void (*)(test_heap&)> all[] = {
      {"another thread looks", [](test_heap& h) { h.let_misses_reclaim(false); }},
      {"never", [](test_heap& h) { h.set_purge_policy({.delay_ms = -1, .keep_bytes = 0}); }},
      {"a block that was freed last is not to leave",
       [](test_heap& h) { h.close_freed(closing::always); }}};
  for (const auto& [why, stop] : all) {
    const auto h = std::make_unique<heap_in_a_look>(512);
    stop(h->heap);
    EXPECT_TRUE(h->opens_stacks()) << why;
  }
}

/// A heap whose blocks of 64 bytes are nearly all free. It grows by blocks of another size, while
/// no time passes, so that nobody looks.
class growing_heap : public hollow_heap {
 public:
  explicit growing_heap(std::size_t bytes, std::size_t keep_one = 512) : hollow_heap(64, bytes) {
    keep_one_in(keep_one);
    full = resident();
  }
  ~growing_heap() {
    for (void* block : more)
      if (block != nullptr) deallocate(heap, *own, block);
  }
  /// Returns: the bytes that left meanwhile.
  std::size_t grow(std::size_t bytes, std::size_t size = 1024) {
    const std::uint64_t before = stats().total.given_back_bytes;
    for (std::size_t got = 0; got < bytes; got += size) {
      void* block = allocate(heap, *own, size);
      EXPECT_NE(block, nullptr);
      more.push_back(block);
    }
    heap.audit();
    return stats().total.given_back_bytes - before;
  }

  std::vector<void*> more;
  std::size_t full = 0;
};

TEST_F(HollowSlabsWithPages, TheirPagesLeaveAtOnceWhenTheHeapGrows) {
  const auto h = std::make_unique<growing_heap>(16 * mebibyte);
  EXPECT_GT(h->grow(8 * mebibyte), 8 * mebibyte);
  EXPECT_LE(h->resident() + 8 * mebibyte, h->full + 2 * mebibyte) << "little more than before";
  h->check();
  h->fill_again();
  h->check();
}

TEST_F(HollowSlabsWithPages, TheirPagesLeaveAtTheNextMissesForALargeBlock) {
  const auto h = std::make_unique<growing_heap>(16 * mebibyte);
  void* large = large_of(h->heap, 8 * mebibyte);
  ASSERT_NE(large, nullptr);
  for (int miss = 0; miss < 200; ++miss) deallocate(h->heap, *h->own, large_of(h->heap, 600'000));
  EXPECT_GT(h->stats().total.given_back_bytes, 8 * mebibyte);
  deallocate(h->heap, *h->own, large);
  h->check();
}

TEST_F(HollowSlabsWithPages, GrowthGivesBackEightTimesAsMuchAtMost) {
  const auto h = std::make_unique<growing_heap>(64 * mebibyte);
  const std::uint64_t reserved = h->stats().total.committed_bytes;
  const std::size_t left = h->grow(3 * mebibyte);
  const std::uint64_t grown = h->stats().total.committed_bytes - reserved;
  EXPECT_GT(left, 2 * mebibyte);
  EXPECT_LE(left, 8 * grown + 32 * page_size) << "and the rest of the slab that was the last";
}

TEST(HollowSlabs, PagesThatAreNeededAgainStayWhenTheHeapGrows) {
  const auto h = std::make_unique<growing_heap>(16 * mebibyte);
  std::size_t left = 0;
  for (int step = 0; step < 3; ++step) {
    h->fill_again();
    h->keep_one_in(512);
    left += h->grow(5 * mebibyte / 4);
  }
  EXPECT_EQ(left, 0u) << "all blocks of 64 bytes were taken once since the step before";
}

TEST(HollowSlabs, BelowThePeakNoneLeavesAtOnceWhenTheHeapGrows) {
  const auto h = std::make_unique<growing_heap>(16 * mebibyte);
  h->grow(5 * mebibyte);  // the peak: then most pages of the small blocks leave
  const std::size_t kept = h->more.size();
  h->grow(8 * mebibyte, 128);
  for (std::size_t i = kept; i < h->more.size(); ++i)
    if (i % 512 != 0) deallocate(h->heap, *h->own, std::exchange(h->more[i], nullptr));
  h->heap.flush(*h->own);
  EXPECT_EQ(h->grow(2 * mebibyte), 0u) << "much is idle, but more was in memory before";
}

TEST(HollowSlabs, WhereTheHeapDoesNotGrowNoneLeavesAtOnce) {
  const auto h = std::make_unique<growing_heap>(16 * mebibyte);
  h->grow(8 * mebibyte);
  const std::uint64_t before = h->stats().total.given_back_bytes;
  for (int i = 0; i < 10; ++i) {
    h->fill_again();
    h->keep_one_in(512);
  }
  EXPECT_EQ(h->stats().total.given_back_bytes, before);
}

TEST(HollowSlabs, GrowthGivesNothingBackWhereLittleIsIdle) {
  const auto h = std::make_unique<growing_heap>(16 * mebibyte, 1);
  EXPECT_EQ(h->grow(16 * mebibyte), 0u) << "all is in use";
  const auto other = std::make_unique<hollow_heap>(64, 16 * mebibyte);
  for (std::size_t i = 0; i < other->blocks.size(); i += 8) other->drop(i);
  deallocate(other->heap, *other->own, large_of(other->heap, 16 * mebibyte));
  EXPECT_EQ(other->stats().total.given_back_bytes, 0u) << "an eighth is free";
}

TEST(HollowSlabs, GrowthLeavesWhatIsToBeKept) {
  constexpr std::pair<const char*, void (*)(test_heap&)> all[] = {
      {"never", [](test_heap& h) { h.set_purge_policy({.delay_ms = -1, .keep_bytes = 0}); }},
      {"to be kept",
       [](test_heap& h) { h.set_purge_policy({.delay_ms = delay, .keep_bytes = 64 * mebibyte}); }},
      {"another thread looks", [](test_heap& h) { h.let_misses_reclaim(false); }},
      {"refused", [](test_heap& h) { h.space().fail_always(space_call::purge, true); }}};
  for (const auto& [why, keep] : all) {
    const auto h = std::make_unique<growing_heap>(8 * mebibyte);
    keep(h->heap);
    EXPECT_EQ(h->grow(8 * mebibyte), 0u) << why;
    h->heap.space().fail_always(space_call::purge, false);
  }
}

TEST_F(HollowSlabsWithPages, NoneLeavesThatIsToBeKept) {
  const auto h = std::make_unique<hollow_heap>(64, 2 * mebibyte);
  h->heap.set_purge_policy({.delay_ms = delay, .keep_bytes = 64 * mebibyte});
  const std::size_t full = h->resident();
  h->keep_one_in(512);
  for (std::uint64_t t = delay; t <= 20 * delay; t += delay) h->scan(t);
  EXPECT_EQ(h->resident(), full);
  h->heap.seal(true);
  EXPECT_EQ(h->heap.trim(), 0u);
  EXPECT_EQ(h->resident(), full);
  h->heap.seal(false);
  EXPECT_GT(h->heap.trim(), mebibyte);
}

// A scan goes on where the last one ended, and begins anew after the last slab.
TEST_F(HollowSlabsWithPages, ManyAreLookedAtPieceByPiece) {
  const auto h =
      std::make_unique<hollow_heap>(1024, 16 * mebibyte, heap_bounds{.slabs_a_scan = 100});
  h->keep_again_one_in(64);
  const std::size_t full = h->resident();
  std::size_t least = full, first = full;
  for (std::uint64_t t = delay; t <= 12 * delay; t += delay / 2 + 1) {
    h->scan(t);
    least = std::min(least, h->resident());
    if (first == full) first = least;
  }
  EXPECT_LE(least, full / 4);
  EXPECT_GT(first, least) << "all at once";
  h->check();
}

// A call that may do little looks at a part of a slab, and the next calls at the rest.
TEST_F(HollowSlabsWithPages, OneIsLookedAtInParts) {
  const auto h =
      std::make_unique<hollow_heap>(1024, mebibyte, heap_bounds{.instructions_a_call = 500});
  h->keep_again_one_in(64);
  const std::size_t full = h->resident();
  const std::uint64_t before = h->heap.space().calls(space_call::purge);
  for (std::uint64_t t = 1; t <= 100 * delay; t += delay / 2 + 1) h->scan(t);
  const std::size_t gone = full - h->resident();
  EXPECT_GE(gone, full / 4 * 3);
  EXPECT_GT(h->heap.space().calls(space_call::purge) - before, gone / page_size / 2);
  h->check();
}

TEST_F(HollowSlabsWithPages, TrimBeginsAnewWhereALookHasStopped) {
  std::size_t least = SIZE_MAX;
  for (int misses = 0; misses <= 200; ++misses) {
    const auto h =
        std::make_unique<hollow_heap>(1024, mebibyte, heap_bounds{.instructions_a_call = 500});
    h->keep_one_in(64);
    h->heap.space().set_clock(delay);
    for (int miss = 0; miss < misses; ++miss)
      deallocate(h->heap, *h->own, large_of(h->heap, 600'000));
    h->heap.trim();
    least = std::min(least, h->resident());
    EXPECT_EQ(h->resident(), least) << misses;
  }
}

}  // namespace
