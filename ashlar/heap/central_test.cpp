// One class's central on a page heap of its own.
// Needs POSIX.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

#include <ashlar/heap/central.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;
using namespace test;

using CentralWithPages = SlabsWithPages;
using CentralWithPagesDeathTest = SlabsWithPages;
constexpr slab_part first_pages{0, 2};
/// Counts how often it is locked.
struct counting_mutex : std::mutex {
  void lock() {
    std::mutex::lock();
    ++locked;
  }
  static inline std::size_t locked = 0;
};

/// Does something else once before it is locked, as another thread may.
struct awaited_mutex : std::mutex {
  void lock() {
    if (const auto others = std::exchange(meanwhile, nullptr)) others();
    std::mutex::lock();
  }
  static inline std::function<void()> meanwhile;
};

template <class Mutex>
struct fixture_with {
  using central_type = central<test_space, Mutex>;

  fixture_with(class_index of_class, std::size_t stash_capacity,
               std::size_t steady_slabs = SIZE_MAX, std::size_t resting_bytes = 0)
      : size_class(of_class) {
    EXPECT_TRUE(
        heap->start(standard_classes.bit_words_per_page, central_type::sides * stash_capacity));
    at_rest.most = resting_bytes;
    one.place(*heap, of_class, standard_classes.shapes[of_class], stash_capacity, steady_slabs,
              &at_rest);
  }

  /// Returns: the blocks in the order in which a cache would hand them out.
  std::vector<void*> take(std::size_t count, growth g = growth::allowed, unsigned side = 0) {
    std::vector<void*> out(count);
    step_budget all = step_budget::without_end();
    const std::size_t got =
        one.take(out.data() + count, count, g, all, batch_start::lowest_block, side);
    std::reverse(out.begin(), out.end());
    out.resize(got);
    return out;
  }
  /// Returns: as many as that, of however many batches.
  std::vector<void*> take_all(std::size_t count, unsigned side = 0) {
    std::vector<void*> all;
    while (all.size() < count) {
      const std::vector<void*> more = take(count - all.size(), growth::allowed, side);
      if (more.empty()) return all;
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }
  void give(const std::vector<void*>& blocks, unsigned side = 0) {
    step_budget all = step_budget::without_end();
    for (std::size_t done = 0; done < blocks.size();)
      done += one.give(blocks.data() + done, blocks.size() - done, "free", all,
                       resting_place::stash, side);
  }
  void settle() {
    step_budget all = step_budget::without_end();
    one.settle(all);
  }
  void settle_unused() {
    step_budget all = step_budget::without_end();
    EXPECT_TRUE(one.settle_unused(all));
  }
  /// The invariant of central.hpp, with what the test holds as the blocks that are out.
  void audit(std::uint64_t held) {
    const class_counts n = one.counts();
    EXPECT_EQ(n.taken - n.given, held);
    EXPECT_EQ(one.audit() + held, n.made);
    EXPECT_EQ(n.made, n.slabs * standard_classes.shapes[size_class].blocks);
    EXPECT_GE(n.held_peak, held);
    EXPECT_GE(n.made_peak, n.made);
    heap->audit();
  }
  [[nodiscard]] run* slab_of(const void* block) {
    char* begin = nullptr;
    return heap->slab_of(block, size_class, begin);
  }
  [[nodiscard]] std::size_t blocks_of_a_slab() const {
    return standard_classes.shapes[size_class].blocks;
  }

  class_index size_class;
  sealable<test_space> space;
  std::unique_ptr<page_heap<test_space, Mutex>> heap =
      std::make_unique<page_heap<test_space, Mutex>>(space);
  empty_slabs_at_rest at_rest;
  central_type one;
};
using fixture = fixture_with<std::mutex>;

// A class that grows steadily pays one system call for a slab's pages, not a page fault for each.
TEST_F(CentralWithPages, SlabsOfSteadyGrowthAreInMemory) {
  fixture f(standard_classes.of_size(256), 0, 2);
  const auto populated = [&] { return f.space.calls(space_call::populate); };
  const std::size_t slab = f.blocks_of_a_slab();
  const std::vector<void*> blocks = f.take(slab);
  EXPECT_EQ(f.take(slab).size(), slab);
  EXPECT_EQ(populated(), 0u) << "growth to two slabs is not steady yet";
  EXPECT_EQ(f.take(1).size(), 1u);
  EXPECT_EQ(populated(), 1u);
  EXPECT_EQ(f.take(slab - 1).size(), slab - 1);
  EXPECT_EQ(populated(), 1u) << "once for the slab";
  f.audit(3 * slab);

  // Pages that were in use are in memory already.
  f.give(blocks);
  EXPECT_EQ(f.one.counts().slabs, 2u);
  EXPECT_EQ(f.take(1).size(), 1u);
  EXPECT_EQ(populated(), 1u);
  f.audit(2 * slab + 1);
}

// The program may leave most of such a block empty.
TEST(Central, SlabsOfBlocksAboveAPageWaitForTheirPages) {
  fixture f(standard_classes.of_size(2 * page_size), 0, 0);
  EXPECT_EQ(f.take(1).size(), 1u);
  EXPECT_EQ(f.space.calls(space_call::populate), 0u);
}

// While pages of a slab leave, with no lock held, its other blocks may come back: one, so that it
// would move to another list, or all, so that it would go.
TEST_F(CentralWithPages, BlocksComeBackWhilePagesOfTheirSlabLeave) {
  for (const bool all : {false, true}) {
    fixture f(detail::standard_classes.of_size(256), 0);
    std::vector<void*> blocks = f.take(f.blocks_of_a_slab());
    const std::vector<void*> others = f.take(f.blocks_of_a_slab());
    const auto page = static_cast<std::ptrdiff_t>(page_size / 256);
    f.give({blocks.begin() + page, blocks.begin() + 2 * page});
    blocks.erase(blocks.begin() + page, blocks.begin() + 2 * page);
    f.space.before_next_purge([&] {
      const auto end = all ? blocks.end() : blocks.begin() + 3 * page;
      f.give({blocks.begin(), end});
      blocks.erase(blocks.begin(), end);
      EXPECT_TRUE(f.take(1, growth::refused).empty()) << "the only slab with free blocks is away";
    });
    const slab_place place = f.heap->next_slab({});
    EXPECT_EQ(f.one.give_back_free_pages(place, first_pages, true), page_size);
    EXPECT_EQ(f.one.counts().slabs, all ? 1u : 2u);
    f.audit(blocks.size() + others.size());
    EXPECT_EQ(f.take(1, growth::refused).size(), 1u) << "of the slab, or of its pages";
  }
}

TEST(Central, BatchesLeaveTheStashAsTheyCame) {
  step_budget all = step_budget::without_end();
  fixture f(6, 100);
  std::vector<void*> blocks = f.take(90);
  std::mt19937_64 random(1);
  std::shuffle(blocks.begin(), blocks.end(), random);
  const std::vector<void*> first(blocks.begin(), blocks.begin() + 30);
  const std::vector<void*> second(blocks.begin() + 30, blocks.begin() + 60);
  f.give(first);
  f.give(second);
  f.audit(30);
  std::vector<void*> out(30);
  ASSERT_EQ(f.one.take(out.data() + 30, 30, growth::allowed, all), 30u);
  EXPECT_EQ(out, second) << "the newest batch leaves first, and in its own order";
  ASSERT_EQ(f.one.take(out.data() + 30, 30, growth::allowed, all), 30u);
  EXPECT_EQ(out, first);
  f.audit(90);
}

// A key puts its block in memory.
TEST(Central, WhereKeysAreInUseABatchOfSlabsHasThemAndIsShort) {
  for (const auto c : std::to_array<class_index>({1, 6, 40, 72})) {
    fixture f(c, 1000);
    const std::size_t size = standard_classes.shapes[c].block_size;
    f.heap->keys().begin();
    const std::vector<void*> blocks = f.take(1000);
    ASSERT_FALSE(blocks.empty());
    EXPECT_LE(blocks.size(), std::max<std::size_t>(16 * 1024 / size, 1)) << size;
    for (void* block : blocks) {
      EXPECT_EQ(*f.heap->mark_at(block, mark_shift_of(size)), mark_of(block));
      EXPECT_TRUE(has_key(f.heap->keys().secret(), block));
    }
    f.give(blocks);
    EXPECT_EQ(f.take(1000).size(), blocks.size()) << "the stash";
    f.audit(blocks.size());
  }
}

// Else a block would be handed out by its key and without its mark, and its free be a false double
// free.
TEST(Central, ATakeThatWaitsWhileKeysComeIntoUseGivesThem) {
  fixture_with<awaited_mutex> f(6, 0);
  const unsigned shift = mark_shift_of(standard_classes.shapes[6].block_size);
  const std::vector<void*> blocks = f.take(20);
  awaited_mutex::meanwhile = [&] {
    f.heap->keys().begin();
    for (void* block : blocks) {
      *f.heap->mark_at(block, shift) = mark_of(block);
      set_first_word(block, key_of(f.heap->keys().secret(), block));
    }
    f.give(blocks);
  };
  const std::vector<void*> again = f.take(20);
  ASSERT_FALSE(again.empty());
  for (void* block : again) {
    EXPECT_TRUE(has_key(f.heap->keys().secret(), block));
    EXPECT_EQ(*f.heap->mark_at(block, shift), mark_of(block));
  }
}

TEST(Central, OthersGetBlocksWhileAStashIsSorted) {
  fixture_with<counting_mutex> f(3, 2'000);
  f.give(f.take_all(2'000));
  const std::size_t before = counting_mutex::locked;
  f.settle();
  EXPECT_EQ(f.one.stashed(), 0u);
  EXPECT_GE(counting_mutex::locked - before, 2'000u / 128) << "the lock is open in between";
}

// Else two threads would get each other's blocks, whose cache lines are in another processor.
TEST_F(CentralWithPages, SidesHaveSlabsOfTheirOwnAndServeEachOther) {
  fixture f(standard_classes.of_size(256), 0);
  const std::size_t slab = f.blocks_of_a_slab();
  std::vector<void*> mine = f.take(slab), yours = f.take(slab / 2, growth::allowed, 1);
  EXPECT_EQ(f.slab_of(mine[0])->side, 0u);
  EXPECT_EQ(f.slab_of(yours[0])->side, 1u);
  // Each gives blocks of both, and they go where they belong.
  const auto half = static_cast<std::ptrdiff_t>(slab / 2);
  std::vector<void*> mixed;
  for (std::ptrdiff_t i = 0; i != half; ++i)
    mixed.insert(mixed.end(),
                 {mine[static_cast<std::size_t>(i)], yours[static_cast<std::size_t>(i)]});
  f.give({mixed.begin(), mixed.begin() + half});
  f.give({mixed.begin() + half, mixed.end()}, 1);
  f.audit(slab - slab / 2);
  EXPECT_EQ(f.one.counts().slabs, 1u) << "the other one was empty, and left";
  EXPECT_EQ(f.slab_of(f.take(1, growth::refused, 1)[0])->side, 1u) << "its pages serve again";
  EXPECT_EQ(f.slab_of(f.take(slab, growth::refused, 1)[0])->side, 1u);
  EXPECT_EQ(f.slab_of(f.take(1, growth::refused, 1)[0])->side, 0u) << "before the heap grows";
  f.audit(2 * slab - slab / 2 + 1);
}

TEST_F(CentralWithPages, EmptySlabsRestForTheirSideUntilOthersNeedThem) {
  const class_index c = standard_classes.of_size(256);
  fixture f(c, 0, SIZE_MAX, 2 * standard_classes.shapes[c].bytes());
  const std::size_t slab = f.blocks_of_a_slab();
  f.give(f.take(slab));
  const auto three = [&](unsigned side) { return f.take_all(3 * slab, side); };
  f.give(three(0));
  EXPECT_EQ(f.one.empty_slabs(), 2u) << "the third left";
  f.audit(0);
  // Those of the other side serve before the heap grows, and are slabs of this side then.
  const std::size_t committed = f.heap->supply().committed_bytes();
  const std::vector<void*> yours = three(1);
  EXPECT_EQ(f.heap->supply().committed_bytes(), committed);
  EXPECT_EQ(f.slab_of(yours[0])->side, 1u);
  EXPECT_EQ(f.one.empty_slabs(), 0u);
  f.give(yours, 1);
  f.settle_unused();
  EXPECT_EQ(f.one.empty_slabs(), 2u) << "they were needed";
  f.settle_unused();
  EXPECT_EQ(f.one.empty_slabs(), 0u);
  f.give(three(0));
  f.settle();
  EXPECT_EQ(f.one.counts().slabs, 0u);
  f.audit(0);
}

TEST(Central, TheFullestSlabServesFirst) {
  for (const class_index c : {class_index{4}, class_index{20}, class_index{50}}) {
    fixture f(c, 0);
    const std::size_t blocks = f.blocks_of_a_slab();
    std::array<std::vector<void*>, 4> slabs;
    for (std::vector<void*>& slab : slabs)
      while (slab.size() < blocks) slab.push_back(f.take(1).at(0));
    ASSERT_EQ(f.one.counts().slabs, 4u);
    // Free quarters by slab: 3, 1, all but one block, 2.
    const std::size_t quarter = blocks / 4;
    const std::size_t freed[] = {3 * quarter, quarter, blocks - 1, 2 * quarter};
    std::size_t held = 4 * blocks;
    for (std::size_t s = 0; s < 4; ++s) {
      f.give({slabs[s].begin(), slabs[s].begin() + static_cast<long>(freed[s])});
      held -= freed[s];
    }
    f.audit(held);
    for (const std::size_t s : {1u, 3u, 0u, 2u}) {
      for (std::size_t i = 0; i < freed[s]; ++i) {
        const run* from = f.slab_of(f.take(1).at(0));
        ASSERT_EQ(from, f.slab_of(slabs[s][0])) << "class " << int{c} << ", slab " << s;
      }
    }
    f.audit(4 * blocks);
  }
}

TEST(Central, SettlingTheUnusedKeepsWhatWasNeeded) {
  for (const unsigned side : {0u, 1u}) {
    fixture f(6, 1000);
    const auto need = [&](std::size_t count) {
      f.give(f.take(count, growth::allowed, side), side);
    };
    need(300);
    f.settle_unused();
    EXPECT_EQ(f.one.stashed(), 300u) << "the stash was empty not long ago";
    need(100);
    f.settle_unused();
    EXPECT_EQ(f.one.stashed(), 100u) << "200 lay untouched since the last call";
    f.audit(0);
    f.settle_unused();
    EXPECT_EQ(f.one.stashed(), 0u) << "and now the rest, too";
    EXPECT_EQ(f.one.counts().slabs, 0u) << "all is free, so the slab leaves";
    f.audit(0);
    need(100);
    f.settle_unused();
    EXPECT_EQ(f.one.stashed(), 100u);
    EXPECT_EQ(f.take(40, growth::allowed, side).size(), 40u);
    f.settle();
    EXPECT_EQ(f.one.stashed(), 0u) << "settle takes everything";
    f.audit(40);
  }
}

TEST(CentralDeathTest, MisuseInsideAStretchNamesItsBlock) {
  fixture f(6, 0);
  const std::vector<void*> blocks = f.take(200);
  ASSERT_EQ(blocks.size(), 200u);
  f.give({blocks[100]});
  const auto address = [](const void* p) {
    line_writer<64> line;
    line << "free\\(" << p << "\\): the block is free already";
    return std::string(line.data(), line.size());
  };
  EXPECT_DEATH(f.give(blocks), address(blocks[100]));
  std::vector<void*> reversed(blocks.rbegin(), blocks.rend());
  EXPECT_DEATH(f.give(reversed), address(blocks[100]));
  EXPECT_DEATH(f.give({blocks[1], blocks[2], blocks[1]}), address(blocks[1]));
  // What is left over behind the last block of a slab is no block.
  fixture odd(21, 0);
  const std::vector<void*> whole = odd.take(odd.blocks_of_a_slab());
  auto* const behind = static_cast<char*>(whole.back()) + block_sizes[21];
  ASSERT_EQ(odd.slab_of(behind), odd.slab_of(whole[0])) << "this class has no rest";
  EXPECT_DEATH(odd.give({whole.back(), behind}), "the address is inside a block");
  EXPECT_DEATH(odd.give({behind}), "the address is inside a block");
}

// ---- what a call does at most -------------------------------------------------------------------

/// A central with `slabs` full slabs, and a block of each of them.
struct full_slabs : fixture {
  full_slabs(std::size_t slabs, std::size_t stash_capacity)
      : fixture(standard_classes.of_size(256), stash_capacity) {
    for (std::size_t i = 0; i < slabs; ++i) {
      const std::vector<void*> blocks = take(blocks_of_a_slab());
      one_of_each.push_back(blocks[i % blocks.size()]);
      held += blocks.size();
    }
  }
  std::vector<void*> one_of_each;
  std::size_t held = 0;
};

TEST(Central, ABatchIsShortWhenItsBlocksAreOfManySlabsAndTheWorkIsSpent) {
  full_slabs f(20, 0);
  f.give(f.one_of_each);
  std::vector<void*> out(20);
  step_budget little(1);
  EXPECT_EQ(f.one.take(out.data() + 20, 20, growth::refused, little), 1u);
  EXPECT_FALSE(little.is_left());
  step_budget more(5 * cost_of(step::slab_taken_from));
  const std::size_t got = f.one.take(out.data() + 19, 19, growth::refused, more);
  EXPECT_GE(got, 2u);
  EXPECT_LE(got, 5u);
  f.audit(f.held - 20 + 1 + got);
}

TEST(Central, BlocksThatComeBackAreTakenUntilTheWorkIsSpentOneAtLeast) {
  full_slabs f(20, 4);
  step_budget little(1);
  EXPECT_EQ(f.one.give(f.one_of_each.data(), 20, "free", little), 5u) << "the stash costs nothing";
  EXPECT_EQ(f.one.give(f.one_of_each.data() + 5, 15, "free", little), 1u);
  EXPECT_EQ(f.one.give(f.one_of_each.data() + 6, 14, "free", little, resting_place::slabs), 1u);
  step_budget more(5 * cost_of(step::stretch_sorted));
  const std::size_t done = f.one.give(f.one_of_each.data() + 7, 13, "free", more);
  EXPECT_GE(done, 2u);
  EXPECT_LE(done, 5u);
  f.audit(f.held - 7 - done);
}

TEST(Central, SortingGoesOnWhereTheWorkWasSpent) {
  for (const bool unused : {false, true}) {
    full_slabs f(20, 100);
    f.give(f.one_of_each);
    if (unused) f.settle_unused();  // notes what is there
    std::size_t calls = 0;
    for (bool done = false; !done; ++calls) {
      const std::size_t before = f.one.stashed();
      step_budget little(1);
      if (unused)
        done = f.one.settle_unused(little);
      else
        done = f.one.settle(little).blocks == 0;
      EXPECT_LE(before - f.one.stashed(), 1u);
      ASSERT_LT(calls, 100u);
    }
    EXPECT_EQ(f.one.stashed(), 0u);
    EXPECT_GE(calls, 20u);
    f.audit(f.held - 20);
  }
}

TEST(CentralDeathTest, AuditSeesAWrongBitmapAndASlabOnTheWrongList) {
  fixture f(6, 10);
  run* const slab = f.slab_of(f.take(10)[0]);
  f.audit(10);
  const auto audit_with = [&](auto change) {
    change();
    static_cast<void>(f.one.audit());
  };
  constexpr const char* broken = "audit\\(0x[0-9a-f]+\\): an internal";
  EXPECT_DEATH(audit_with([&] { slab->free_bits[3] &= ~std::uint64_t{2}; }), broken);
  EXPECT_DEATH(audit_with([&] { ++slab->fullness; }), broken);
}

TEST_F(CentralWithPagesDeathTest, AuditSeesPagesThatAreNotFree) {
  fixture f(detail::standard_classes.of_size(256), 0);
  run* const slab = f.slab_of(f.take(1)[0]);  // in the first page
  const auto audit_with = [&](auto change) {
    change();
    static_cast<void>(f.one.audit());
  };
  slab->seen_free = 2;
  f.audit(1);
  const page_set absent = slab->absent;
  ASSERT_EQ(absent & 3u, 2u) << "a new slab's pages, but for the first";
  EXPECT_DEATH(audit_with([&] { slab->absent = (absent & ~page_set{2}) | 1; }),
               "an internal invariant");
  EXPECT_DEATH(audit_with([&] { slab->absent = absent & ~page_set{2}; }), "an internal invariant")
      << "one less than was counted";
  EXPECT_DEATH(audit_with([&] { slab->seen_free = 3; }), "an internal invariant");
}

TEST(CentralDeathTest, WhatIsWrongWithAnAddressIsSaid) {
  fixture f(7, 10);  // 112 bytes: a page holds 36 of them, and 64 bytes that are nobody's
  const std::vector<void*> blocks = f.take(1);
  auto* const first = static_cast<char*>(blocks[0]);
  const auto expect = [&](const void* p) { f.one.report_not_in_use(p, "check"); };
  int local = 0;
  EXPECT_DEATH(expect(&local), "no block is in use");
  EXPECT_DEATH(expect(first + 16), "inside a block");
  EXPECT_DEATH(expect(first + 112), "free already");
  EXPECT_DEATH(expect(first + f.blocks_of_a_slab() * 112), "inside a block");
}

}  // namespace
