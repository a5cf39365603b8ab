// Heap instances: their budgets, and the sources that they take memory from.
#include <tests/support/test_headers.hpp>
#include <tests/support/written_stats.hpp>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/instance/heap_space.hpp>
#include <ashlar/instance/test_heaps.hpp>
#include <ashlar/runtime/control.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace {

using namespace ashlar;
using ashlar_test::test_source;
using ashlar_test::test_source_ref;

// ---- budgets ------------------------------------------------------------------------------------

/// What statistics list: each heap with a name once, the newest first, while it lives.
TEST(HeapBudget, NamedHeapsAreListed) {
  const auto listed = [] {
    std::vector<std::string> names;
    runtime::named_heap which;
    ashlar_stats now;
    while (runtime::ask_named_heap.load()(which, nullptr, now))
      if (std::string_view(which.name) != "early")
        names.emplace_back(which.name);  // heap_test.cpp's stays
    return names;
  };
  const std::string long_name(200, 'x');
  const heap first({.name = "twice"});
  const heap unnamed;
  const heap empty({.name = ""});
  {
    const heap ends({.name = long_name.c_str()});
    const heap second({.name = "twice"});
    EXPECT_EQ(listed(), (std::vector<std::string>{"twice", long_name.substr(0, 63), "twice"}));
  }
  EXPECT_EQ(listed(), std::vector<std::string>{"twice"});
}

/// What the texts of statistics say of them, whatever bytes a name has: those of one name are one
/// row, of 64 heaps at most.
TEST(HeapBudget, NamedHeapsAreInStatistics) {
  EXPECT_EQ(test::written_stats(ASHLAR_STATS_JSON).find("\"last\""), std::string::npos);
  std::vector<std::unique_ptr<heap<>>> many;
  for (int i = 0; i < 70; ++i)
    many.push_back(
        std::make_unique<heap<>>(heap_options{.budget_bytes = mib, .name = "é\"\n\xC3"}));
  const heap last({.name = "last"});
  const std::string json = test::written_stats(ASHLAR_STATS_JSON);
  EXPECT_NE(json.find("\"heaps\": [\n  {\"heap\": \"last\", \"heaps\": 1, "), std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("budget_bytes": 0},
  {"heap": "é\"\u000a\u00c3", "heaps": 63, "bytes_in_use": 0,)"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"budget_bytes\": 66060288}]}\n"), std::string::npos) << json;
  const std::string metrics = test::written_stats(ASHLAR_STATS_PROMETHEUS);
  EXPECT_NE(metrics.find("# TYPE ashlar_named_heaps gauge\n"
                         "ashlar_named_heaps{heap=\"last\"} 1\n"
                         "ashlar_named_heaps{heap=\"é\\\"\\\\u000a\\\\u00c3\"} 63\n# HELP"),
            std::string::npos)
      << metrics;
}

TEST(HeapBudget, IsNeverExceededAndWhollyUsable) {
  for (const std::size_t budget : {64 * page, 256 * page, 1280 * page + 12'345,
                                   support::takes_samples ? 16 * mib : 64 * mib}) {
    heap h({.budget_bytes = budget});
    // Every round uses another class or large blocks, after all of the round before has been freed.
    for (const std::size_t size : {std::size_t{64}, std::size_t{16}, std::size_t{3000},
                                   std::size_t{32768}, std::size_t{100'000}, std::size_t{512}}) {
      std::vector<void*> blocks = fill(h, size);
      const ashlar_stats s = h.stats();
      EXPECT_LE(s.total.committed_bytes, budget);
      EXPECT_LE(s.total.peak_committed_bytes, budget);
      // What may be left over: less than one slab or block, and the rests of slabs.
      ASSERT_FALSE(blocks.empty());
      EXPECT_GE(blocks.size() * h.usable_size(blocks[0]) + 33 * page + budget / 64, budget)
          << budget << ' ' << size;
      for (void* p : blocks) std::memset(p, 0x5a, size);
      release(h, blocks);
      EXPECT_EQ(h.stats().total.bytes_in_use, 0u);
    }
    h.audit();
    // Trimming leaves nothing committed.
    h.trim();
    EXPECT_EQ(h.stats().total.committed_bytes, 0u);
  }
}

TEST(HeapBudget, TooSmallForAnythingIsNullAtOnce) {
  for (const std::size_t budget : {std::size_t{0}, std::size_t{1}, std::size_t{4096}}) {
    heap h({.budget_bytes = budget});
    EXPECT_EQ(h.try_allocate(1), nullptr);
    EXPECT_EQ(h.try_allocate(4096, 4096), nullptr);
    EXPECT_EQ(h.try_allocate(100'000), nullptr);
    EXPECT_EQ(h.stats().total.committed_bytes, 0u);
  }
  heap h({.budget_bytes = mib});
  EXPECT_EQ(h.try_allocate(mib + 1), nullptr);
  void* p = h.try_allocate(mib);
  EXPECT_NE(p, nullptr);
  EXPECT_EQ(h.try_allocate(1), nullptr);
  EXPECT_EQ(h.try_reallocate(p, 2 * mib), nullptr);
  EXPECT_EQ(h.usable_size(p), mib);
  EXPECT_EQ(h.stats().total.limit_bytes, mib);
  EXPECT_EQ(h.stats().total.limit_refusals, 3u);
  h.deallocate(p);
}

// The other thread's next miss must succeed: one that fails trims, which gives back its cache's
// share whoever asked.
TEST(HeapBudget, AThreadThatMissesGivesItsShareToOneThatFoundNothing) {
  heap h({.budget_bytes = 4 * mib});
  void* const room = h.try_allocate(32'000);  // for that miss, in a slab of another class
  std::vector<void*> blocks = fill(h, 640);
  const std::size_t all = blocks.size();
  std::atomic<int> phase{0};
  void* missed = nullptr;
  std::thread other([&] {
    release(h, blocks);
    phase = 1;
    while (phase != 2) std::this_thread::yield();
    missed = h.try_allocate(32'000);
    phase = 3;
    while (phase != 4) std::this_thread::yield();
  });
  while (phase != 1) std::this_thread::yield();
  const std::vector<void*> again = fill(h, 640);
  EXPECT_LT(again.size(), all) << "the other thread's cache has a share";
  h.deallocate(room);
  h.trim();
  phase = 2;
  while (phase != 3) std::this_thread::yield();
  EXPECT_NE(missed, nullptr);
  EXPECT_GE(again.size() + fill(h, 640).size(), all);
  phase = 4;
  other.join();
}

TEST(HeapBudget, PoliciesSayWhatHappensThen) {
  heap<exhaustion::throw_bad_alloc> throws({.budget_bytes = mib});
  fill(throws, 100);
  EXPECT_THROW(static_cast<void>(throws.allocate(100)), std::bad_alloc);
  heap silent({.budget_bytes = mib});
  fill(silent, 100);
  EXPECT_EQ(silent.allocate(100), nullptr);
  using policy = exhaustion::handler_and_retry<exhaustion::null, exhaustion::own_handler>;
  static heap<policy>* running = nullptr;
  static std::vector<void*> blocks;
  policy p;
  p.source.handler = [] { release(*running, blocks); };
  heap<policy> asks({.budget_bytes = mib}, {}, p);
  running = &asks;
  blocks = fill(asks, 1000);
  ASSERT_FALSE(blocks.empty()) << "else the handler has nothing to give, and is called for ever";
  EXPECT_NE(asks.allocate(1000), nullptr);
  EXPECT_TRUE(blocks.empty());
}

/// A program's cache in a heap, which its function drops.
struct dropped_cache {
  heap<>* of = nullptr;
  std::vector<void*> blocks;
  int calls = 0;
  std::size_t asked = 0;

  static void drop(std::size_t bytes, void* argument) {
    auto& own = *static_cast<dropped_cache*>(argument);
    ++own.calls;
    own.asked = bytes;
    errno = EDOM;
    const int calls = own.calls;
    EXPECT_EQ(own.of->try_allocate(own.of->stats().total.limit_bytes), nullptr);
    EXPECT_EQ(own.calls, calls) << "not called inside itself";
    for (std::size_t freed = 0; freed < bytes && !own.blocks.empty(); freed += page) {
      own.of->deallocate(own.blocks.back());
      own.blocks.pop_back();
    }
  }
  void fill(std::size_t bytes) {
    for (; bytes != 0; bytes -= page) blocks.push_back(of->try_allocate(page));
  }
};

TEST(HeapBudget, TheFunctionIsCalledInTime) {
  dropped_cache own;
  heap h({.budget_bytes = 16 * mib, .on_budget = {dropped_cache::drop, &own}});
  own.of = &h;
  own.fill(12 * mib);
  EXPECT_EQ(own.calls, 0);
  own.fill(3 * mib / 2);
  EXPECT_EQ(own.calls, 1) << "once for a crossing";
  EXPECT_GE(own.asked, mib) << "a sixteenth below 80 %";
  EXPECT_LT(h.stats().total.committed_bytes, 13 * mib) << "what it dropped has gone back";
  EXPECT_EQ(h.stats().total.limit_refusals, 1u) << "the function's own";
  // Nothing to drop: it is called before a request is refused, and that one is counted.
  std::vector<void*> kept = std::exchange(own.blocks, {});
  for (void* const block : fill(h, page)) kept.push_back(block);
  EXPECT_GE(own.calls, 2);
  const int calls = own.calls;
  const std::uint64_t refused = h.stats().total.limit_refusals;
  EXPECT_EQ(h.try_allocate(17 * mib), nullptr) << "nothing that it could drop would be enough";
  EXPECT_EQ(own.calls, calls);
  EXPECT_EQ(h.stats().total.limit_refusals, refused + 1);
  // Something to drop: it serves the request.
  std::swap(kept, own.blocks);
  errno = 0;
  void* const large = h.try_allocate(4 * mib);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(errno, 0) << "the function's errno is its own";
  EXPECT_GE(own.calls, calls + 1);
  EXPECT_GE(own.asked, 4 * mib);
  h.deallocate(large);
}

TEST(HeapBudget, TheFunctionFollowsABudgetThatChanges) {
  dropped_cache own;
  heap h(
      {.budget_bytes = 64 * mib, .name = "changed", .on_budget = {dropped_cache::drop, &own, 50}});
  own.of = &h;
  own.fill(10 * mib);
  EXPECT_EQ(own.calls, 0);
  const std::uint64_t budget = 16 * mib;
  ashlar_stats now;
  runtime::named_heap which{.wanted = "changed"};
  ASSERT_TRUE(runtime::ask_named_heap.load()(which, &budget, now));
  own.fill(mib / 2);
  EXPECT_EQ(own.calls, 1);
  EXPECT_LT(h.stats().total.committed_bytes, 8 * mib);
}

TEST(HeapBudget, WithoutAFunctionFreePagesStay) {
  heap h({.budget_bytes = 16 * mib});
  std::vector<void*> blocks;
  for (int i = 0; i < 14; ++i) blocks.push_back(h.try_allocate(mib));
  for (int i = 0; i < 7; ++i)
    h.deallocate(std::exchange(blocks[static_cast<std::size_t>(i)], nullptr));
  h.deallocate(h.try_allocate(100));
  EXPECT_GE(h.stats().total.committed_bytes, 14 * mib);
}

using HeapBudgetDeathTest = testing::Test;
TEST(HeapBudgetDeathTest, StopNamesWhatHoldsMost) {
  const auto by_size = [] {
    heap<exhaustion::counted<exhaustion::stop>> h({.budget_bytes = 8 * mib, .name = "tenant"});
    for (int i = 0; i < 3; ++i) static_cast<void>(h.allocate(mib));
    while (true) static_cast<void>(h.allocate(512));
  };
  EXPECT_DEATH(
      by_size(),
      "ashlar: allocate\\(0x0\\): out of memory, pool 'tenant', needed 512, budget 8388608, "
      "committed 8388608, in use [0-9]+, most of it held by blocks of 512 bytes \\([45][0-9]+ "
      "bytes\\), large blocks \\(3145728 bytes\\), check::full<> tells which call sites hold "
      "it\n");
  const auto by_place = [] {
    heap<check::full<>, exhaustion::handler_and_retry<exhaustion::stop>> h({.budget_bytes = mib});
    while (true) static_cast<void>(h.allocate(500));
  };
  EXPECT_DEATH(
      by_place(),
      "out of memory, needed 500, budget 1048576, committed [0-9]+, in use [0-9]+, most of it "
      "held by [^,]+ at [^,]+ from [^,]+ at [^,]+ \\([0-9]+ bytes\\)\n");
  const auto by_source = [] {
    heap<> bounded({.budget_bytes = 8 * mib});
    heap<exhaustion::stop, heap_source> h({}, heap_source{&bounded});
    while (true) static_cast<void>(h.allocate(512));
  };
  EXPECT_DEATH(by_source(), "out of memory, needed 512, its source has no more, committed [1-9]");
}

// ---- sources ------------------------------------------------------------------------------------

TEST(HeapSource, EverythingIsReturnedAndTheBudgetKept) {
  constexpr std::size_t much = (support::takes_samples ? 6 : 40) * mib;
  for (const std::size_t budget : {48 * page, 768 * page, much, SIZE_MAX}) {
    test_source book;
    if (budget == SIZE_MAX) book.bytes_allowed = much + much / 4;
    const std::size_t most = std::min(budget, book.bytes_allowed);
    {
      heap h({.budget_bytes = budget}, test_source_ref{&book});
      EXPECT_EQ(book.calls, 0u);
      for (const std::size_t size : {40u, 7000u, 90'000u, 256u}) {
        std::vector<void*> blocks = fill(h, size);
        // The last piece, and a block's share of each piece, may be too short for one more.
        EXPECT_GE(blocks.size() * size + 32 * page, most / 10 * 8) << budget << ' ' << size;
        for (void* p : blocks) {
          EXPECT_TRUE(h.owns(p));
          std::memset(p, 0x11, size);
        }
        const ashlar_stats s = h.stats();
        EXPECT_EQ(s.total.committed_bytes, book.bytes);
        EXPECT_EQ(s.total.peak_committed_bytes, book.peak);
        release(h, blocks);
        const std::size_t before = book.bytes;
        const std::size_t given_back = h.trim();
        EXPECT_EQ(given_back, before - book.bytes);
        h.audit();
      }
      EXPECT_LE(book.peak, most);
      static_cast<void>(fill(h, 333));  // these stay
    }
    EXPECT_EQ(book.bytes, 0u);
    EXPECT_EQ(book.wrong, 0u);
  }
}

// A heap has a bounded number of pieces at a time, and any number one after the other.
TEST(HeapSource, PiecesMayComeAndGoForEver) {
  test_source book;
  heap h({.budget_bytes = 16 * mib}, test_source_ref{&book});
  void* const kept = h.try_allocate(100);  // in the first piece, so that each round needs another
  std::size_t pieces = 0;
  for (std::uint32_t round = 0; round < 3 * runtime::heap_space::ranges_max; ++round) {
    const std::size_t before = book.pieces.size();
    void* const block = h.try_allocate(5 * mib);
    ASSERT_NE(block, nullptr) << "round " << round;
    pieces += book.pieces.size() - before;
    h.deallocate(block);
    h.trim();
    ASSERT_EQ(book.pieces.size(), before) << "an empty piece goes back";
  }
  EXPECT_GT(pieces, runtime::heap_space::ranges_max) << "or nothing was tried";
  h.deallocate(kept);
}

TEST(HeapSource, ChainsOfHeapsThatShareASlotWork) {
  // Ids that are equal modulo the slots of a thread's table: the worst case for one thread's
  // caches.
  heap outer;
  std::vector<std::unique_ptr<heap<>>> between;
  for (std::size_t i = 1; i < runtime::heap_slots; ++i)
    between.push_back(std::make_unique<heap<>>());
  heap inner({}, heap_source{&outer});
  std::array<std::vector<void*>, 2> blocks;
  for (int round = 0; round < 300; ++round) {
    blocks[0].push_back(inner.try_allocate(1 + static_cast<std::size_t>(round) * 97));
    blocks[1].push_back(outer.try_allocate(1 + static_cast<std::size_t>(round) * 89));
    ASSERT_NE(blocks[0].back(), nullptr);
    ASSERT_NE(blocks[1].back(), nullptr);
  }
  std::thread([&] {
    release(inner, blocks[0]);
    release(outer, blocks[1]);
    inner.trim();
  }).join();
  EXPECT_EQ(inner.stats().total.bytes_in_use, 0u);
  // No cache was lost when one heap's miss ran inside the other's.
  EXPECT_LE(inner.stats().total.threads, 1u);
  EXPECT_LE(outer.stats().total.threads, 1u);
  inner.audit();
  outer.audit();
}

}  // namespace
