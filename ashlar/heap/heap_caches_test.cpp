// The caches of a heap: how many, how much they hold, who may use them; and threads that pass
// blocks to each other.
#include <deque>
#include <tests/support/test_headers.hpp>
#include <tests/support/test_heap.hpp>

#include <ashlar/os/mutex.hpp>

namespace {

using namespace ashlar;
using namespace test;
using cache = test_heap::cache;

/// Waves of every class, so that each stack wants more room.
void use_all_classes(test_heap& h, cache& own, int waves = 8) {
  for (int wave = 0; wave < waves; ++wave) {
    for (std::size_t c = 1; c < class_count; ++c) {
      std::vector<void*> blocks;
      const std::size_t count = std::min<std::size_t>(600, 262'144 / detail::block_sizes[c]);
      for (std::size_t i = 0; i < count; ++i)
        blocks.push_back(h.allocate_class(own, static_cast<class_index>(c)));
      for (void* block : blocks) deallocate(h, own, block);
    }
  }
}

/// Bytes that the cache has on its stacks.
std::size_t held_by(cache& own) {
  std::size_t bytes = 0;
  for (std::size_t i = 1; i < class_count; ++i) {
    const auto c = static_cast<class_index>(i);
    bytes += own.count(c) * detail::block_sizes[c];
  }
  return bytes;
}

/// The cache lines of blocks of `size` bytes.
std::set<std::uintptr_t> lines_of(const std::vector<void*>& blocks, std::size_t size) {
  std::set<std::uintptr_t> lines;
  for (const void* block : blocks) {
    const auto begin = reinterpret_cast<std::uintptr_t>(block);
    for (std::uintptr_t line = begin / 64; line <= (begin + size - 1) / 64; ++line)
      lines.insert(line);
  }
  return lines;
}

// Where RLIMIT_DATA is used up, by free pages too: they are closed, and leave room.
TEST(HeapCaches, AThreadThatBeginsWhereMemoryIsOutHasACacheWhenPagesAreFree) {
  const auto h = make_heap();
  void* const used = large_of(*h, 8 << 20);
  ASSERT_NE(used, nullptr);
  h->space().refuse_memory_until_closed();
  EXPECT_EQ(h->attach(), nullptr);
  h->deallocate_uncached(used, "free");
  cache* const own = h->attach();
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(h->space().calls(space_call::close), 1u);
  h->audit();
  h->detach(own);
}

// One thread allocates for two others. They free what they got and allocate for themselves. A
// thread has no cache before it allocates, but for a few that free much.
TEST(HeapCaches, NeighboursThatAreHandedOverShareNoLineAfterwards) {
  for (const std::size_t size : {16u, 32u, 48u, 80u, 112u}) {
    for (const auto& [by_turns, have_caches] :
         {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
      const auto h = make_heap();
      cache* giver = h->attach();
      std::array<cache*, 2> owners{};
      if (have_caches) owners = {h->attach(), h->attach()};
      std::array<std::vector<void*>, 2> blocks;
      for (int i = 0; i < 16; ++i)
        for (auto& of_one : blocks) of_one.push_back(allocate(*h, *giver, size));
      const auto free_all = [&](std::size_t who) {
        for (void* block : blocks[who]) {
          if (have_caches)
            deallocate(*h, *owners[who], block);
          else
            h->deallocate_uncached(block, "free");
        }
        blocks[who].clear();
      };
      const auto allocate_some = [&](std::size_t who) {
        if (!have_caches) owners[who] = h->attach();
        for (int i = 0; i < 16; ++i) blocks[who].push_back(allocate(*h, *owners[who], size));
      };
      for (const std::size_t who : {0u, 1u}) {
        free_all(who);
        if (by_turns) allocate_some(who);
      }
      if (!by_turns)
        for (const std::size_t who : {0u, 1u}) allocate_some(who);
      std::vector<std::uintptr_t> shared;
      std::ranges::set_intersection(lines_of(blocks[0], size), lines_of(blocks[1], size),
                                    std::back_inserter(shared));
      EXPECT_EQ(shared.size(), 0u)
          << size << (by_turns ? ", by turns" : "") << (have_caches ? ", with caches" : "");
      check_equations(stats_of(*h, owners[0]));
    }
  }
}

TEST(HeapCaches, AThreadThatOnlyFreesSoonHasAStack) {
  const auto h = make_heap();
  cache* giver = h->attach();
  cache* taker = h->attach();
  constexpr std::size_t count = 100, handed_over = 32;
  for (std::size_t i = 0; i < count; ++i) deallocate(*h, *taker, allocate(*h, *giver, 24));
  const class_index c = test_heap::classes::class_for(24, 1);
  EXPECT_EQ(taker->count(c), count - handed_over);
  deallocate(*h, *taker, allocate(*h, *giver, 500));
  EXPECT_EQ(taker->count(test_heap::classes::class_for(500, 1)), 1u)
      << "a block with lines of its own";
  h->detach(taker);
}

constexpr std::size_t mib = std::size_t{1} << 20;

TEST(HeapCaches, KeepWithinTheirShareOfATotal) {
  const auto h = make_heap();  // on two processors
  heap_bounds bounds;
  bounds.caches_bytes = 4 * mib;
  h->set_bounds(bounds);
  const std::size_t total = bounds.caches_total(2);
  ASSERT_EQ(total, 8 * mib);
  void* much = large_of(*h, 64 << 20);
  cache* own = h->attach();
  std::vector<cache*> others;
  std::size_t before = SIZE_MAX;
  for (const std::size_t caches : {1u, 2u, 4u, 16u, 128u, 1000u}) {
    while (others.size() + 1 < caches) others.push_back(h->attach());
    use_all_classes(*h, *own, 6);
    EXPECT_LE(own->room_bytes(), total / caches) << caches;
    EXPECT_GT(own->room_bytes(), total / caches / 2) << caches;
    EXPECT_LE(held_by(*own), own->room_bytes());
    EXPECT_LT(own->room_bytes(), before);
    before = own->room_bytes();
  }
  for (cache* other : others) h->detach(other);
  use_all_classes(*h, *own);
  EXPECT_GT(own->room_bytes(), total / 2) << "its share is larger again";
  EXPECT_LE(own->room_bytes(), total);
  deallocate(*h, *own, much);
  h->detach(own);
}

TEST(HeapCaches, GrowInProportionToWhatIsInUse) {
  const auto h = make_heap();
  h->space().set_processors(16);
  cache* own = h->attach();
  use_all_classes(*h, *own);
  const std::size_t with_little_in_use = own->capacity_bytes;
  EXPECT_GT(with_little_in_use, 256u << 10);
  EXPECT_LE(with_little_in_use, 3 * mib);
  void* much = large_of(*h, 64 << 20);
  use_all_classes(*h, *own);
  EXPECT_GT(own->capacity_bytes, 4 * mib);
  EXPECT_LE(own->capacity_bytes, 32 * mib);
  deallocate(*h, *own, much);
  h->detach(own);
}

TEST(HeapCaches, WithATinyShareEveryClassIsServed) {
  const auto h = make_heap();
  h->let_misses_reclaim(false);  // a look would close stacks
  h->space().set_processors(1);
  heap_bounds bounds;
  bounds.caches_bytes = 4096;
  h->set_bounds(bounds);
  std::vector<cache*> owners;
  // Shares of 4096, 292, 136 and 0 bytes: the last ones keep nothing.
  for (const std::size_t caches : {1u, 14u, 30u, 5000u}) {
    while (owners.size() < caches) owners.push_back(h->attach());
    cache* own = owners.back();
    use_all_classes(*h, *own, 1);
    EXPECT_LE(own->room_bytes(), 4096 / caches);
    EXPECT_EQ(own->room_bytes() != 0, caches != 5000) << caches;
  }
  for (cache* own : owners) h->detach(own);
  EXPECT_EQ(stats_of(*h).total.bytes_in_use, 0u);
}

TEST(HeapCaches, AFullCacheGivesUpWhatRestsForAnotherClass) {
  const auto h = make_heap();
  h->space().set_processors(1);
  heap_bounds bounds;
  bounds.caches_bytes = 64 << 10;
  h->set_bounds(bounds);
  cache* own = h->attach();
  use_all_classes(*h, *own);
  // After a few misses each class has a stack, whatever the cache was full of before.
  for (const std::size_t size : {16u, 100u, 1000u, 4000u, 8000u}) {
    const class_index c = detail::standard_classes.of_size(size);
    for (int i = 0; i < 32 && !own->is_open(c); ++i)
      deallocate(*h, *own, h->allocate_class(*own, c));
    EXPECT_TRUE(own->is_open(c)) << size;
    EXPECT_LE(own->room_bytes(), bounds.caches_bytes);
  }
  h->detach(own);
}

// ---- threads ------------------------------------------------------------------------------------

struct os_config {
  using space = test_space;
  using mutex = os::mutex;
};

TEST(HeapThreads, LockAllKeepsTheOthersOut) {
  const auto h = std::make_unique<basic_heap<os_config>>();
  cache* own = h->attach();
  ASSERT_NE(allocate(*h, *own, 64), nullptr);
  std::atomic<int> done{0};
  h->lock_all();
  std::thread small([&] { done += h->allocate_uncached(4) != nullptr ? 1 : 0; });
  std::thread large([&] { done += large_of(*h, 100'000) != nullptr ? 1 : 0; });
  std::thread newcomer([&] { done += h->attach() != nullptr ? 1 : 0; });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(done, 0);
  h->unlock_all();
  small.join();
  large.join();
  newcomer.join();
  EXPECT_EQ(done, 3);
  h->audit();
}

// ---- cache_set ----------------------------------------------------------------------------------
// The lists of a heap's caches, and what each may hold.

using namespace ashlar::detail;

constexpr std::size_t total = 1000;

struct set_fixture {
  ~set_fixture() { caches.release_all(space); }

  template <class IsCallers>
  thread_cache* attach(IsCallers is_callers) {
    return caches.attach(space, {}, keys, total, is_callers);
  }
  thread_cache* attach() {
    return attach([](const thread_cache&) { return false; });
  }
  void detach(thread_cache* c) { caches.detach(space, c, {}); }
  std::vector<const thread_cache*> owned() {
    std::vector<const thread_cache*> found;
    caches.for_each([&](const thread_cache& c) { found.push_back(&c); });
    return found;
  }

  sealable<test_space> space;
  heap_keys keys;
  cache_set<test_space, std::mutex> caches;
};

TEST(CacheSet, CachesShareEvenly) {
  set_fixture f;
  EXPECT_EQ(f.caches.count(), 0u);
  thread_cache* const a = f.attach();
  EXPECT_EQ(f.caches.share(), total);
  f.attach();
  thread_cache* const c = f.attach();
  EXPECT_EQ(f.caches.count(), 3u);
  EXPECT_EQ(f.caches.share(), total / 3);
  EXPECT_FALSE(f.caches.is_beyond_share(total / 3));
  EXPECT_TRUE(f.caches.is_beyond_share(total / 3 + 1));
  f.detach(a);
  f.detach(c);
  EXPECT_EQ(f.caches.share(), total);
}

TEST(CacheSet, TheSecondCacheBringsKeysIntoUseForAllAndForEver) {
  set_fixture f;
  f.keys.place(7);
  thread_cache* const a = f.attach();
  EXPECT_FALSE(a->uses_keys());
  thread_cache* const b = f.attach();
  EXPECT_EQ(a->tops.sign.secret(), 7u) << "without a call of its owner's";
  EXPECT_TRUE(b->uses_keys());
  f.detach(b);
  f.detach(a);
  EXPECT_TRUE(f.attach()->uses_keys()) << "alone again";
}

TEST(CacheSet, ACacheThatIsTheCallersAlreadyStaysAsItIs) {
  set_fixture f;
  thread_cache* const a = f.attach();
  f.attach();
  a->of_owner.bytes[0] = std::byte{1};
  EXPECT_EQ(f.attach([](thread_cache& c) { return c.of_owner.bytes[0] == std::byte{1}; }), a);
  EXPECT_EQ(f.caches.count(), 2u);
  f.detach(a);
  EXPECT_EQ(f.attach()->of_owner.bytes[0], std::byte{0}) << "a new owner's";
}

TEST(CacheSet, AnOwnerThatEndsLeavesItsCacheToTheNext) {
  set_fixture f;
  thread_cache* const a = f.attach();
  thread_cache* const b = f.attach();
  thread_cache* const c = f.attach();
  EXPECT_EQ(f.owned(), (std::vector<const thread_cache*>{c, b, a}));
  f.detach(b);
  EXPECT_EQ(f.owned(), (std::vector<const thread_cache*>{c, a})) << "out of the middle";
  const auto calls = f.space.calls();
  EXPECT_EQ(f.attach(), b);
  EXPECT_EQ(f.space.calls(), calls) << "no memory is needed for that";
  f.detach(a);
  EXPECT_EQ(f.owned(), (std::vector<const thread_cache*>{b, c})) << "off the end";
  f.detach(b);
  EXPECT_EQ(f.owned(), (std::vector<const thread_cache*>{c})) << "off the front";
}

TEST(CacheSet, KeepsEightSpareOnesAndAllWhileItIsSealed) {
  set_fixture f;
  std::vector<thread_cache*> all(12);
  for (thread_cache*& c : all) c = f.attach();
  const std::size_t bytes_each = f.space.live_bytes() / all.size();
  for (thread_cache* c : all) f.detach(c);
  EXPECT_EQ(f.space.live_bytes(), 8 * bytes_each);
  const std::uint64_t calls = f.space.calls();
  for (std::size_t i = 0; i < 8; ++i) all[i] = f.attach();
  EXPECT_EQ(f.space.calls(), calls) << "spare ones cost no system call";
  for (std::size_t i = 8; i < all.size(); ++i) all[i] = f.attach();
  f.space.seal(true);
  for (thread_cache* c : all) f.detach(c);
  EXPECT_EQ(f.space.live_bytes(), 12 * bytes_each) << "releasing would be a system call";
  f.space.seal(false);
}

}  // namespace
