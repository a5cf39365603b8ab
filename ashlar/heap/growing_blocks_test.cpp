// Large blocks that grow in small steps: how often they move, what that takes, and that they keep
// what is in them.
// Needs POSIX.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

namespace {

using namespace ashlar;
using namespace test;
constexpr std::size_t kibibyte = 1024, mebibyte = 1024 * kibibyte;

char* make(test_heap& h, std::size_t size) { return static_cast<char*>(large_of(h, size)); }

/// As the runtime's realloc. Returns: the block, null if memory was refused; then it is as it was.
char* resize(test_heap& h, char* block, std::size_t size) {
  if (h.resize_in_place(block, size, "realloc") != 0) return block;
  const std::size_t have = h.usable_size(block, "realloc");
  if (size > have) {
    if (void* moved = h.move_large(block, size); moved != nullptr) return static_cast<char*>(moved);
  }
  char* const fresh = make(h, size);
  if (fresh == nullptr) return nullptr;
  std::memcpy(fresh, block, std::min(have, size));
  h.deallocate_uncached(block, "realloc");
  return fresh;
}

TEST(GrowingBlocks, MovesAreAsFewAsDoublings) {
  for (const bool remapped : {true, false}) {
    SCOPED_TRACE(remapped);
    const auto h = make_heap();
    h->space().fail_always(space_call::move, !remapped);
    constexpr std::size_t low = 160 * kibibyte, high = 8 * mebibyte, step = 12 * kibibyte;
    struct growing {
      char* block;
      int moves = 0;
    };
    std::array<growing, 8> all;
    for (growing& g : all) ASSERT_NE(g.block = make(*h, low), nullptr);
    for (std::size_t size = low + step; size <= high; size += step) {
      for (growing& g : all) {
        char* const now = resize(*h, g.block, size);
        ASSERT_NE(now, nullptr);
        g.moves += now != g.block ? 1 : 0;
        g.block = now;
      }
    }
    // 160 KiB to 8 MiB is less than 6 doublings; a copy may go where there is less room, but is in
    // memory.
    for (const growing& g : all) EXPECT_LE(g.moves, 12);
    EXPECT_EQ(stats_of(*h).large.blocks_in_use, all.size());
  }
}

TEST(GrowingBlocks, AMoveThatIsRefusedSortsNoMoreBackThanItsBudget) {
  const auto h = make_heap();
  test_heap::cache* const own = h->attach();
  std::vector<void*> blocks(20'000);
  for (void*& block : blocks) block = allocate(*h, *own, 64);
  char* const large = make(*h, 700 * kibibyte);
  for (void* block : blocks) deallocate(*h, *own, block);
  h->flush(*own);
  const auto slabs_now = [&] {
    return stats_of(*h, own).classes[test_heap::classes::class_for(64, 1) - 1].slabs;
  };
  const std::uint64_t slabs = slabs_now();
  h->seal(true);
  EXPECT_EQ(h->move_large(large, 4 * mebibyte), nullptr);
  EXPECT_GT(slabs_now(), slabs / 2);
  h->seal(false);
  h->trim();
  EXPECT_EQ(slabs_now(), 0u) << "all can be sorted back";
}

// Where pages are remapped, nothing is there twice: a block may come to take all of a budget.
TEST(GrowingBlocks, ABlockGrowsToTheWholeBudget) {
  const auto h = make_heap();
  h->set_bounds(heap_bounds::of_budget(16 * mebibyte));
  char* block = make(*h, mebibyte);
  char* const other = make(*h, mebibyte);
  ASSERT_TRUE(block != nullptr && other != nullptr);
  std::memset(block, 'a', mebibyte);
  for (std::size_t size = mebibyte + 100 * kibibyte; size < 15 * mebibyte; size += 100 * kibibyte) {
    char* const grown = resize(*h, block, size);
    ASSERT_NE(grown, nullptr) << size;
    block = grown;
    EXPECT_LE(stats_of(*h).total.peak_committed_bytes, 16 * mebibyte);
  }
  EXPECT_EQ(resize(*h, block, 15 * mebibyte + 1), nullptr) << "that is beyond it";
  EXPECT_TRUE(std::all_of(block, block + mebibyte, [](char c) { return c == 'a'; }));
  h->audit();
  // What it does not need any more serves others at once.
  block = resize(*h, block, 2 * mebibyte);
  EXPECT_NE(make(*h, 12 * mebibyte), nullptr);
}

TEST(GrowingBlocks, ABlockThatShrinksAndGrowsAgainStaysWithoutASystemCall) {
  const auto h = make_heap();
  char* block = make(*h, mebibyte);
  ASSERT_NE(make(*h, mebibyte), nullptr);
  block = resize(*h, block, 2 * mebibyte);
  ASSERT_NE(make(*h, mebibyte), nullptr);
  h->space().set_clock(0);
  const std::uint64_t calls = h->space().calls();
  for (std::size_t size = 2 * mebibyte; size > mebibyte; size -= 50 * kibibyte)
    EXPECT_EQ(resize(*h, block, size), block);
  for (std::size_t size = mebibyte; size <= 2 * mebibyte; size += 50 * kibibyte)
    EXPECT_EQ(resize(*h, block, size), block);
  EXPECT_EQ(h->space().calls(), calls);
}

/// Two threads whose blocks grow, shrink and go, each with a pattern that no other may touch.
void grow_and_shrink(test_heap& h, std::uint64_t seed) {
  struct text {
    char* block = nullptr;
    std::size_t size = 0;
  };
  std::array<text, 6> texts;
  std::mt19937_64 random(seed);
  const auto expected = [seed](std::size_t which, std::size_t at) {
    return static_cast<char>(seed * 31 + which * 7 + at / 4096);
  };
  const auto write = [&](std::size_t which, std::size_t from) {
    text& t = texts[which];
    for (std::size_t at = align_up(from, std::size_t{4096}); at < t.size; at += 4096)
      t.block[at] = expected(which, at);
  };
  for (std::size_t i = 0; i < support::times(3000u); ++i) {
    const std::size_t which = random() % texts.size();
    text& t = texts[which];
    for (std::size_t at = 0; at < t.size; at += 4096)
      if (t.block[at] != expected(which, at)) return ADD_FAILURE() << "somebody else wrote here";
    if (t.block == nullptr) {
      t.size = 200 * kibibyte + random() % mebibyte;
      t.block = make(h, t.size);
      if (t.block == nullptr) t.size = 0;
      write(which, 0);
    } else if (random() % 16 == 0 || t.size > 6 * mebibyte) {
      h.deallocate_uncached(t.block, "free");
      t = {};
    } else {
      const std::size_t before = t.size;
      const std::size_t size = random() % 4 == 0 ? std::max(before / 2, 200 * kibibyte)
                                                 : before + random() % (before / 8);
      if (char* const now = resize(h, t.block, size); now != nullptr) {
        t = {now, size};
        write(which, std::min(before, size));
      }
    }
    if (random() % 64 == 0) h.trim();
  }
  for (text& t : texts) h.deallocate_uncached(t.block, "free");
}

TEST(GrowingBlocks, ThreadsGrowAndShrinkThemBesideEachOther) {
  for (const std::size_t budget : {SIZE_MAX, 24 * mebibyte}) {
    SCOPED_TRACE(budget);
    const auto h = make_heap();
    if (budget != SIZE_MAX) h->set_bounds(heap_bounds::of_budget(budget));
    h->set_purge_policy({.delay_ms = -1, .keep_bytes = 0});
    ASSERT_TRUE(h->start());
    std::vector<std::thread> threads;
    for (std::uint64_t seed : {1u, 2u})
      threads.emplace_back([&h, seed] { grow_and_shrink(*h, seed); });
    for (std::thread& t : threads) t.join();
    h->audit();
    EXPECT_EQ(stats_of(*h).large.blocks_in_use, 0u);
    EXPECT_LE(stats_of(*h).total.peak_committed_bytes, budget);
    h->trim();
    EXPECT_EQ(stats_of(*h).total.committed_bytes, 0u);
  }
}

}  // namespace
