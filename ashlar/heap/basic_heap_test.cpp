// A whole heap on a steered address space: what it serves, to whom and at which addresses.
#include <tests/model/engine.hpp>
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

#include <ashlar/heap/basic_heap.hpp>

namespace {

using namespace ashlar;
using namespace test;
using cache = test_heap::cache;

TEST(Heap, IsUsableBeforeItsStart) {
  const auto h = make_heap();
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
    const auto h = make_heap();
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

TEST(Heap, WhereMemoryIsOutWhatOneClassGivesBackServesTheNext) {
  for (const bool cached : {false, true}) {
    const auto h = make_heap();
    h->space().set_limit(16 << 20);  // one range of 4 MiB
    cache* const own = h->attach();
    const auto take = [&](std::size_t size) {
      return cached ? allocate(*h, *own, size)
                    : h->allocate_uncached(test_heap::classes::of_size(size));
    };
    ASSERT_NE(allocate(*h, *own, 16), nullptr);
    h->space().set_reserve_max(h->space().live_bytes());
    for (const std::size_t size : {16u, 100u, 3000u, 32'768u, 16u}) {
      std::vector<void*> blocks;
      while (void* block = take(size)) blocks.push_back(block);
      EXPECT_GE(blocks.size() * size, std::size_t{3} << 20) << size;
      // Stashed or not.
      for (void* block : blocks)
        cached ? deallocate(*h, *own, block) : h->deallocate_uncached(block, "free");
      if (cached) h->flush(*own);
      h->audit();
    }
  }
}

// It has no mark in the tables that hits have: a hit would write beside them.
TEST(Heap, ABlockOfALaterRangeIsAMissToOneWhoIsBelievedToo) {
  const auto h = make_heap();
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
}

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
}

TEST(Heap, RequestsThatNobodyCanServeGiveNull) {
  const auto h = make_heap();
  constexpr std::size_t far = std::size_t{1} << (sizeof(void*) == 8 ? 50 : 31);
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX / 2 + 1, SIZE_MAX / 2, far}) {
    const auto [block, is_zero] = h->allocate_large(size, 1, true);
    EXPECT_TRUE(block == nullptr && !is_zero) << size;
  }
  EXPECT_EQ(h->allocate_large(1, SIZE_MAX / 2 + 1).address, nullptr);
  EXPECT_EQ(h->allocate_large(1, far).address, nullptr);
  void* block = large_of(*h, 100'000);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(h->resize_in_place(block, SIZE_MAX, "realloc"), 0u);
  EXPECT_EQ(h->move_large(block, SIZE_MAX), nullptr);
  EXPECT_EQ(h->move_large(&block, 200'000), nullptr) << "no large block is there";
  EXPECT_EQ(h->usable_size(block, "test"), align_up(std::size_t{100'000}, detail::page_size));
}

TEST(Heap, LongBlocksThatAreToBeZeroAreNotWritten) {
  const auto h = make_heap();
  constexpr std::size_t size = 40 << 20;
  const auto take = [&](bool wanted) {
    const auto [block, is_zero] = h->allocate_large(size, 1, wanted);
    EXPECT_NE(block, nullptr);
    return std::pair(static_cast<char*>(block), is_zero);
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
