// A whole heap on a steered address space: what it serves, to whom and at which addresses.
#include <tests/model/engine.hpp>
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

#include <ashlar/heap/basic_heap.hpp>

namespace {

using namespace ashlar;
using namespace test;
using cache = test_heap::cache;

TEST(Heap, InstancesAreIndependent) {
  const auto a = std::make_unique<test_heap>();
  const auto b = std::make_unique<test_heap>();
  cache* in_a = a->attach();
  cache* in_b = b->attach();
  std::vector<void*> blocks;
  for (std::size_t size : {0u, 16u, 500u, 32'768u, 100'000u})
    blocks.push_back(allocate(*a, *in_a, size));
  EXPECT_EQ(stats_of(*b, in_b).total.bytes_in_use, 0u);
  void* other = allocate(*b, *in_b, 500);
  EXPECT_EQ(stats_of(*b, in_b).total.bytes_in_use, 512u);
  EXPECT_DEATH(static_cast<void>(a->usable_size(other, "realloc")), "was not allocated here");
  EXPECT_DEATH(deallocate(*a, *in_a, other), "was not allocated here");
  for (void* block : blocks) deallocate(*a, *in_a, block);
  EXPECT_EQ(stats_of(*a, in_a).total.bytes_in_use, 0u);
  EXPECT_EQ(stats_of(*b, in_b).total.bytes_in_use, 512u);
  a->audit();
  b->audit();
}

TEST(Heap, IsUsableBeforeItsStart) {
  const auto h = std::make_unique<test_heap>();
  h->audit();
  EXPECT_EQ(h->trim(), 0u);
  check_equations(stats_of(*h));
  EXPECT_EQ(h->space().calls(), 0u) << "asking costs nothing";
  void* block = h->allocate_uncached(4);
  ASSERT_NE(block, nullptr);
  h->deallocate_uncached(block, "free");
  h->deallocate_uncached(nullptr, "free");
}

TEST(Heap, StartsOnceAndTriesAgainWhenRefused) {
  for (std::uint64_t n = 1;; ++n) {
    const auto h = std::make_unique<test_heap>();
    h->space().fail_nth(n);
    const bool started = h->start();
    h->space().fail_nth(0);
    EXPECT_TRUE(h->start());
    const std::uint64_t calls = h->space().calls();
    EXPECT_TRUE(h->start());
    EXPECT_EQ(h->space().calls(), calls);
    EXPECT_EQ(h->space().live_reservations(), 3u) << "a range, its tables, the stashes";
    EXPECT_NE(h->allocate_uncached(1), nullptr);
    if (started && n > 20) break;
  }
}

TEST(Heap, EveryClassIsServedWithoutACache) {
  const auto h = std::make_unique<test_heap>();
  cache* watching = h->attach();
  for (std::size_t i = 1; i < class_count; ++i) {
    const auto c = static_cast<class_index>(i);
    const std::size_t size = detail::standard_classes.block_size(c);
    std::map<void*, unsigned char> live;
    for (int k = 0; k < 150; ++k) {
      void* block = h->allocate_uncached(c);
      ASSERT_NE(block, nullptr);
      ASSERT_TRUE(is_aligned(block, block_granule));
      ASSERT_EQ(h->usable_size(block, "test"), size);
      const auto mark = static_cast<unsigned char>(k + 1);
      ASSERT_TRUE(live.emplace(block, mark).second) << "one block for two owners";
      std::memset(block, mark, size);
    }
    const ashlar_class_stats s = stats_of(*h).classes[i - 1];
    EXPECT_EQ(s.blocks_in_use, 150u);
    EXPECT_EQ(s.allocations - s.frees, 150u);
    // One is freed by somebody who has a cache, the others as they came.
    for (const auto& [block, mark] : live) {
      const std::vector<unsigned char> written(size, mark);
      ASSERT_EQ(std::memcmp(block, written.data(), size), 0);
      if (block == live.begin()->first)
        deallocate(*h, *watching, block);
      else
        h->deallocate_uncached(block, "free");
    }
    EXPECT_EQ(stats_of(*h, watching).classes[i - 1].blocks_in_use, 0u);
  }
  h->deallocate_uncached(large_of(*h, 100'000), "free");
  EXPECT_EQ(stats_of(*h, watching).total.bytes_in_use, 0u);
  h->detach(watching);
  h->trim();
  EXPECT_EQ(stats_of(*h).total.committed_bytes, 0u);
  h->audit();
}

TEST(Heap, WithoutACacheExhaustionIsNullAndMemoryComesBack) {
  const auto h = std::make_unique<test_heap>();
  h->space().set_limit(16 << 20);  // one range of 4 MiB
  ASSERT_TRUE(h->start());
  h->space().set_reserve_max(h->space().live_bytes());
  for (const class_index c : {class_index{1}, class_index{30}, class_index{72}, class_index{8}}) {
    std::vector<void*> blocks;
    while (void* block = h->allocate_uncached(c)) blocks.push_back(block);
    EXPECT_GE(blocks.size() * detail::standard_classes.block_size(c), std::size_t{3} << 20)
        << "class " << int{c};
    // The next class is served by what this one gives back, stashed or not.
    for (void* block : blocks) h->deallocate_uncached(block, "free");
    h->audit();
  }
}

// It has no mark in the tables that hits have: a hit would write beside them.
TEST(Heap, ABlockOfALaterRangeIsAMissToOneWhoIsBelievedToo) {
  const auto h = std::make_unique<test_heap>();
  h->space().set_gap_max(0);
  h->space().set_limit(16 << 20);  // a first range of 4 MiB
  cache* own = h->attach();
  const class_index c = test_heap::classes::class_for(1000, 1);
  std::vector<void*> blocks;
  do {
    blocks.push_back(allocate(*h, *own, 1000));
    ASSERT_NE(blocks.back(), nullptr);
  } while (own->tops.tables.class_of(blocks.back()) != 0);
  EXPECT_FALSE(test_heap::try_deallocate_trusted(own->tops, blocks.back(), c));
  EXPECT_TRUE(test_heap::try_deallocate_trusted(own->tops, blocks.front(), c));
  blocks.erase(blocks.begin());
  for (void* each : blocks) deallocate(*h, *own, each);
  h->audit();
}

void serve_every_size_and_alignment(bool in_rooms) {
  const auto h = std::make_unique<test_heap>();
  if (!in_rooms) h->space().set_gap_max(0);
  cache* own = h->attach();
  for (std::size_t size = 0; size <= small_size_max + 5000; size += size < 300 ? 1 : 61) {
    void* block = allocate(*h, *own, size);
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(is_aligned(block, 16));
    ASSERT_GE(h->usable_size(block, "test"), size);
    deallocate(*h, *own, block);
  }
  for (std::size_t alignment = 32; alignment <= 4 << 20; alignment *= 2) {
    for (std::size_t size = 0; size <= small_size_max; size += 509) {
      bool zeroed = false;
      const class_index c = test_heap::classes::class_for(size, alignment);
      void* block =
          c != 0 ? h->allocate_class(*own, c) : h->allocate_large(size, alignment, zeroed);
      ASSERT_NE(block, nullptr);
      ASSERT_TRUE(is_aligned(block, alignment));
      ASSERT_GE(h->usable_size(block, "test"), size);
      deallocate(*h, *own, block);
    }
  }
  h->detach(own);
  h->audit();
}

TEST(Heap, EverySizeAndAlignmentIsServed) { serve_every_size_and_alignment(true); }

// A reservation is aligned to the system's page only, which may be smaller than the heap's.
TEST(Heap, EverySizeAndAlignmentIsServedInReservedRanges) { serve_every_size_and_alignment(false); }

TEST(Heap, AClassThatTheCallerKnowsIsComparedNotBelieved) {
  auto [h, own] = heap_with_cache();
  void* const block = allocate(*h, *own, 48);
  const class_index right = detail::standard_classes.of_size(48);
  int local = 0;
  for (const int wrong : {0, right - 1, right + 1}) {
    EXPECT_FALSE(test_heap::try_deallocate(own->tops, block, static_cast<class_index>(wrong)));
  }
  EXPECT_FALSE(test_heap::try_deallocate(own->tops, &local, right));
  EXPECT_FALSE(test_heap::try_deallocate(own->tops, nullptr, right));
  EXPECT_TRUE(test_heap::try_deallocate(own->tops, block, right));
  EXPECT_EQ(test_heap::try_allocate(own->tops, 48), block);
  h->deallocate_slow(*own, block, "free");
  h->deallocate_slow(*own, nullptr, "free");
  h->audit();
}

TEST(Heap, RequestsThatNobodyCanServeGiveNull) {
  const auto h = std::make_unique<test_heap>();
  bool zeroed = true;
  constexpr std::size_t far = std::size_t{1} << (sizeof(void*) == 8 ? 50 : 31);
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX / 2 + 1, SIZE_MAX / 2, far}) {
    EXPECT_EQ(h->allocate_large(size, 1, zeroed), nullptr) << size;
    EXPECT_FALSE(zeroed);
  }
  EXPECT_EQ(h->allocate_large(1, SIZE_MAX / 2 + 1, zeroed), nullptr);
  EXPECT_EQ(h->allocate_large(1, far, zeroed), nullptr);
  void* block = h->allocate_large(100'000, 1, zeroed);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(h->resize_in_place(block, SIZE_MAX, "realloc"), 0u);
  EXPECT_EQ(h->move_large(block, SIZE_MAX), nullptr);
  EXPECT_EQ(h->move_large(&zeroed, 200'000), nullptr) << "no large block is there";
  EXPECT_EQ(h->usable_size(block, "test"), align_up(std::size_t{100'000}, detail::page_size));
  h->audit();
}

TEST(Heap, LargeBlocksThatGrowMoveByRemappingOrByCopying) {
  const auto h = std::make_unique<test_heap>();
  bool zeroed = false;
  constexpr std::size_t size = 1 << 20;
  auto* block = static_cast<char*>(h->allocate_large(size, 1, zeroed));
  std::memset(block, 'a', size);
  h->space().fail_always(space_call::move, true);
  block = static_cast<char*>(h->move_large(block, 2 * size));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(h->usable_size(block, "test"), 2 * size);
  EXPECT_TRUE(std::all_of(block, block + size, [](char c) { return c == 'a'; }));
  EXPECT_EQ(stats_of(*h).large.blocks_in_use, 1u);
  h->space().fail_always(space_call::move, false);
  const std::uint64_t moves = h->space().calls(space_call::move);
  auto* moved = static_cast<char*>(h->move_large(block, 3 * size));
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(h->space().calls(space_call::move), moves + 1);
  EXPECT_TRUE(std::all_of(moved, moved + size, [](char c) { return c == 'a'; }));
  std::memset(moved + size, 'b', 2 * size);
  EXPECT_EQ(stats_of(*h).large.blocks_in_use, 1u);
  // What the block left behind is handed out again as zero only if it is.
  auto* again = static_cast<char*>(h->allocate_large(size, 1, zeroed));
  ASSERT_NE(again, nullptr);
  EXPECT_TRUE(!zeroed || std::all_of(again, again + size, [](char c) { return c == 0; }));
  h->audit();
}

TEST(Heap, LongBlocksThatAreToBeZeroAreNotWritten) {
  const auto h = std::make_unique<test_heap>();
  constexpr std::size_t size = 40 << 20;
  const auto take = [&](bool wanted) {
    bool zeroed = wanted;
    auto* block = static_cast<char*>(h->allocate_large(size, 1, zeroed));
    EXPECT_NE(block, nullptr);
    return std::pair(block, zeroed);
  };
  char* const first = take(true).first;
  first[size / 2] = 'a';
  h->deallocate_uncached(first, "free");
  EXPECT_EQ(take(false), std::pair(first, false)) << "it is dirty, and may stay so";
  h->deallocate_uncached(first, "free");
  EXPECT_EQ(take(true), std::pair(first, true));
  EXPECT_EQ(first[size / 2], 0);
  first[size / 2] = 'a';
  h->deallocate_uncached(first, "free");
  h->space().fail_always(space_call::purge, true);
  EXPECT_EQ(take(true), std::pair(first, false))
      << "the system refuses, so the caller has to write";
  h->audit();
}

TEST(Heap, AFailedMoveThatTookItsTargetAwayHurtsNobody) {
  for (const bool renewed : {true, false}) {
    SCOPED_TRACE(renewed);
    const auto h = std::make_unique<test_heap>();
    h->space().set_refused_moves_unmap(true);
    h->space().set_gap_max(0);
    h->space().set_limit(64 << 20);  // one range of 16 MiB
    constexpr std::size_t size = 1 << 20;
    auto* block = static_cast<char*>(large_of(*h, size));
    ASSERT_NE(block, nullptr);
    std::memset(block, 'a', size);
    h->space().fail_always(space_call::move, true);
    h->space().fail_always(space_call::renew, !renewed);
    block = static_cast<char*>(h->move_large(block, 2 * size));
    ASSERT_NE(block, nullptr) << "it is copied";
    EXPECT_TRUE(std::all_of(block, block + size, [](char c) { return c == 'a'; }));
    // Everything there is, written to: what is unmapped would end the test.
    h->space().set_reserve_max(h->space().live_bytes());
    std::size_t bytes = 2 * size;
    while (auto* p = static_cast<char*>(large_of(*h, 60'000))) {
      std::memset(p, 'b', 60'000);
      bytes += h->usable_size(p, "test");
    }
    EXPECT_GE(bytes, (renewed ? 15 : 13) * size);
    EXPECT_LE(bytes, (renewed ? 16 : 14) * size);
    EXPECT_TRUE(std::all_of(block, block + size, [](char c) { return c == 'a'; }));
    h->audit();
  }
}

// ---- a heap against a model ---------------------------------------------------------------------
// Random programs on a whole heap against a model of its blocks (tests/model), also while system
// calls fail: each in turn.

using engine = model::engine_face<ashlar::detail::standard>;
using subject = model::subject_of<engine>;

void run(subject& heap, model::sequence& operations, int steps) {
  constexpr int stretch = 50;
  for (; steps > 0; steps -= stretch) {
    heap.run(0, operations, stretch);
    heap.face().rarely(model::draw(operations.next()));
  }
}

// What breaks is thrown (model::broken).
TEST(Heap, RandomProgramsAgreeWithTheModel) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    // Seed 4: a first range of 1 MiB, so that most blocks are found by the slow way.
    const auto plan = [](engine::heap& h, std::uint64_t number) {
      if (number == 4) h.space().set_limit(4 << 20);
      h.set_purge_policy({.delay_ms = number == 2 ? 0 : 500, .keep_bytes = 0});
    };
    subject heap("heap", 1, model::draw(seed), plan, seed);
    model::sequence operations(seed, 0);
    for (int phase = 0; phase < 6; ++phase) {
      run(heap, operations, 4'000);
      heap.audit();
    }
    heap.end();
  }
}

template <bool AllAfter>
void let_each_system_call_fail() {
  for (std::uint64_t n = 1;; n += support::step(7u)) {
    SCOPED_TRACE(testing::Message() << "call " << n << (AllAfter ? " and later" : ""));
    const auto plan = [](engine::heap& h, std::uint64_t number) {
      h.space().set_limit(4 << 20);  // the first range: 1 MiB, so that more are added
      h.set_purge_policy({.delay_ms = 100, .keep_bytes = 0});
      AllAfter ? h.space().fail_from(number) : h.space().fail_nth(number);
    };
    subject heap("heap", 1, model::draw(n), plan, n);
    model::sequence operations(9, 0);
    run(heap, operations, 400);
    const bool ran_out = heap.face().space().calls() < n;
    heap.audit();
    heap.face().space().fail_nth(0);
    run(heap, operations, 300);
    std::size_t blocks = 0;
    heap.each_block([&](const model::block&) { ++blocks; });
    ASSERT_GT(blocks, 0u) << "nothing works any more";
    heap.end();
    if (ran_out) break;
  }
}
TEST(HeapRefusals, EverySystemCallMayFail) {
  let_each_system_call_fail<false>();
  let_each_system_call_fail<true>();
}

}  // namespace
