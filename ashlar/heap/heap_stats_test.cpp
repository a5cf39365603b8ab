// What a heap counts: by itself, and exactly, call by call.
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

namespace {

using namespace ashlar;
using namespace test;
using cache = test_heap::cache;

TEST(HeapStats, CountCachesMetadataAndReservations) {
  const auto h = make_heap();
  cache* a = h->attach();
  cache* b = h->attach();
  EXPECT_NE(a, b);
  EXPECT_EQ(stats_of(*h).total.threads, 2u);
  static_cast<void>(allocate(*h, *a, 100));
  const ashlar_stats s = stats_of(*h);
  EXPECT_GE(s.total.metadata_bytes, 3u * 4096) << "two caches and some tables have been touched";
  EXPECT_LT(s.total.metadata_bytes, s.total.reserved_bytes);
  EXPECT_GT(s.total.reserved_bytes, 0u);
  h->detach(a);
  EXPECT_EQ(stats_of(*h).total.threads, 1u);
  EXPECT_EQ(h->attach(), a) << "a spare cache serves the next owner";
  h->detach(b);
  h->detach(a);
  EXPECT_EQ(stats_of(*h).total.threads, 0u);
}

/// What one block of each slab keeps: the rest of the slab.
TEST(HeapStats, BytesBesideBlocksInUseArePinned) {
  auto [h, own] = heap_with_cache();
  std::vector<void*> held;
  for (std::size_t i = 0; i < 20'000; ++i) held.push_back(allocate(*h, *own, 64));
  const ashlar_stats full = stats_of(*h, own);
  EXPECT_LT(full.total.pinned_bytes, full.total.bytes_in_use / 5);
  for (std::size_t i = 0; i < held.size(); ++i)
    if (i % 100 != 0) deallocate(*h, *own, held[i]);
  h->flush(*own);
  h->trim();
  const ashlar_stats s = stats_of(*h, own);
  EXPECT_EQ(s.total.bytes_in_use, 200u * 64);
  EXPECT_EQ(s.total.pinned_bytes, s.classes[3].committed_bytes - 200 * 64);
  EXPECT_GT(s.total.pinned_bytes, 20'000u * 64 / 2);
  for (std::size_t i = 0; i < held.size(); i += 100) deallocate(*h, *own, held[i]);
  h->flush(*own);
  h->trim();
  EXPECT_EQ(stats_of(*h, own).total.pinned_bytes, 0u);
  h->detach(own);
}

TEST(HeapStats, KeepOnlyForgetsTheOtherCachesAndWhatTheyHeld) {
  const auto h = make_heap();
  cache* a = h->attach();
  cache* b = h->attach();
  cache* c = h->attach();
  void* block = allocate(*h, *b, 40);
  static_cast<void>(allocate(*h, *c, 40));
  const std::size_t in_c = c->count(3);
  h->keep_only(b);
  ashlar_stats s = stats_of(*h, b);
  EXPECT_EQ(s.total.threads, 1u);
  EXPECT_EQ(h->cache_count(), 1u);
  EXPECT_EQ(s.classes[2].blocks_in_use, 2 + in_c);
  check_equations(s);
  deallocate(*h, *b, block);
  h->detach(b);
  h->audit();
  h->keep_only(nullptr);
  s = stats_of(*h);
  EXPECT_EQ(s.total.threads, 0u);
  EXPECT_EQ(s.classes[2].blocks_in_use, 1 + in_c);
  cache* fresh = h->attach();
  EXPECT_TRUE(fresh != a && fresh != c) << "their owners may have been inside them";
  static_cast<void>(allocate(*h, *fresh, 40));
  h->detach(fresh);
}

// The marks of small blocks are the largest of the tables.
TEST(HeapStats, TrimGivesBackTheMarksToo) {
  auto [h, own] = heap_with_cache();
  constexpr std::size_t bytes = 32 << 20;
  std::vector<void*> blocks(bytes / 16);
  for (void*& block : blocks) block = allocate(*h, *own, 16);
  const std::uint64_t full = stats_of(*h, own).total.metadata_bytes;
  EXPECT_GE(full, bytes / 16) << "a byte for each block";
  for (void* block : blocks) deallocate(*h, *own, block);
  h->flush(*own);
  h->trim();
  EXPECT_LE(stats_of(*h, own).total.metadata_bytes + bytes / 16 * 9 / 10, full);
}

// ---- exact counting -----------------------------------------------------------------------------

/// What one class must have counted.
struct counted {
  std::uint64_t allocations = 0, frees = 0, peak = 0, slack = 0;
};

TEST(HeapExact, CountsEveryCallOfARandomProgram) {
  for (const std::size_t limit : {std::size_t{1} << 30, std::size_t{4} << 20}) {
    const auto h = make_heap();
    h->space().set_limit(limit);
    cache* own = h->attach();
    ASSERT_TRUE(h->count_exactly(own));
    std::mt19937_64 random(77);
    std::vector<std::pair<void*, std::size_t>> live;
    std::map<class_index, counted> model;
    const auto class_of = [&](const void* block) {
      const std::size_t usable = h->usable_size(block, "test");
      return usable > small_size_max ? class_index{0} : detail::standard_classes.of_size(usable);
    };
    for (int i = 0; i < 20'000; ++i) {
      const std::size_t size =
          random() % 20 == 0 ? small_size_max + 1 + random() % 100'000 : random() % 3000;
      const bool grows = random() % 5 < (i / 4000 % 2 == 0 ? 3u : 1u);
      if (grows) {
        void* block = allocate(*h, *own, size);
        ASSERT_NE(block, nullptr);
        h->note_allocation(block, size);
        counted& n = model[class_of(block)];
        ++n.allocations;
        n.peak = std::max(n.peak, n.allocations - n.frees);
        n.slack += h->usable_size(block, "test") - size;
        live.emplace_back(block, size);
      } else if (!live.empty()) {
        std::swap(live[random() % live.size()], live.back());
        auto& [block, asked] = live.back();
        const class_index c = class_of(block);
        const std::size_t before = h->usable_size(block, "test");
        if (random() % 3 == 0) {
          if (h->resize_in_place(block, size + 1, "realloc") == 0) continue;
          ASSERT_EQ(class_of(block), c);
          model[c].slack += h->usable_size(block, "test") - (size + 1);
          model[c].slack -= before - asked;
          asked = size + 1;
          h->note_resize(block, asked);
        } else {
          ++model[c].frees;
          model[c].slack -= before - asked;
          h->note_deallocation(block, "free");
          deallocate(*h, *own, block);
          live.pop_back();
        }
      }
      if (i % 1000 != 999) continue;
      const ashlar_stats s = stats_of(*h, own);
      check_equations(s);
      for (std::size_t c = 0; c < class_count; ++c) {
        const ashlar_class_stats& got = c == 0 ? s.large : s.classes[c - 1];
        const counted& n = model[static_cast<class_index>(c)];
        ASSERT_EQ(std::tuple(got.allocations, got.frees, got.blocks_in_use, got.peak_in_use,
                             got.slack_bytes),
                  std::tuple(n.allocations, n.frees, n.allocations - n.frees, n.peak, n.slack))
            << got.block_size;
      }
    }
    h->detach(own);
  }
}

TEST(HeapExact, BeginsWithTheBlocksThatWereInUse) {
  auto [h, own] = heap_with_cache();
  void* small = allocate(*h, *own, 100);
  void* large = allocate(*h, *own, 200'000);
  ASSERT_TRUE(h->count_exactly(own));
  ashlar_stats s = stats_of(*h, own);
  EXPECT_EQ(s.classes[6].blocks_in_use, 1u);
  EXPECT_EQ(s.large.blocks_in_use, 1u);
  check_equations(s);
  for (void* block : {small, large}) {
    h->note_deallocation(block, "free");
    deallocate(*h, *own, block);
  }
  s = stats_of(*h, own);
  check_equations(s);
  EXPECT_EQ(s.total.bytes_in_use, 0u);
  EXPECT_EQ(s.total.slack_bytes, 0u);
}

TEST(HeapExact, SlackBeyondWhatATableEntryHoldsDoesNotStayBehind) {
  auto [h, own] = heap_with_cache();
  ASSERT_TRUE(h->count_exactly(own));
  void* block = allocate(*h, *own, 1 << 20);
  h->note_allocation(block, 1 << 20);
  h->note_resize(block, 40'000);  // as after a shrinking for which no record was left
  h->note_deallocation(block, "free");
  EXPECT_EQ(stats_of(*h, own).large.slack_bytes, 0u);
}

TEST(HeapExact, MayBeRefusedAndTriedAgain) {
  for (std::uint64_t n = 1;; ++n) {
    auto [h, own] = heap_with_cache();
    void* block = allocate(*h, *own, 30);
    h->space().fail_nth(n);
    const bool counts = h->count_exactly(own);
    h->space().fail_nth(0);
    if (!counts) {
      EXPECT_TRUE(h->count_exactly(own));
    }
    void* second = allocate(*h, *own, 30);
    h->note_allocation(second, 30);
    EXPECT_EQ(stats_of(*h, own).classes[1].slack_bytes, 2u);
    h->note_deallocation(block, "free");
    deallocate(*h, *own, block);
    h->audit();
    if (counts) break;
  }
}

}  // namespace
