#include <tests/support/test_headers.hpp>

#include <ashlar/heap/thread_cache.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;

std::vector<class_index> all_classes() {
  std::vector<class_index> all(class_count - 1);
  std::iota(all.begin(), all.end(), class_index{1});
  return all;
}

/// A cache in zeroed memory, as `start` requires.
std::unique_ptr<thread_cache> new_cache() {
  auto cache = std::make_unique<thread_cache>();
  cache->start({});
  return cache;
}
/// As a cache with a large share opens a stack.
bool open(thread_cache& cache, class_index c, std::size_t bytes = cached_bytes_first) {
  return cache.open(c, block_sizes[c], first_capacity(block_sizes[c], bytes));
}
std::unique_ptr<thread_cache> new_open_cache(std::size_t bytes = cached_bytes_first) {
  auto cache = new_cache();
  for (const class_index c : all_classes()) EXPECT_TRUE(open(*cache, c, bytes));
  return cache;
}

/// The invariant of a stack's slots, whatever it holds.
void expect_null_at_the_ends_only(thread_cache& cache, class_index c) {
  ASSERT_EQ(*cache.bottom(c), nullptr) << "popping must meet it; class " << int{c};
  ASSERT_EQ(*cache.limit(c), nullptr) << "pushing must meet it; class " << int{c};
  for (void** slot = cache.first(c); slot < cache.limit(c); ++slot)
    ASSERT_NE(*slot, nullptr) << "class " << int{c} << ", slot " << slot - cache.first(c);
  ASSERT_GE(cache.top(c), cache.first(c));
  ASSERT_LE(cache.top(c), cache.limit(c));
}

/// As a heap lets a stack grow. Returns: whether it did.
bool grow(thread_cache& cache, class_index c, miss what) {
  const std::uint16_t blocks = cache.wanted(c, block_sizes[c], what);
  return blocks != cache.capacity[c] && cache.grow(c, block_sizes[c], blocks);
}
/// As a stack grows that its owner both fills and empties.
bool grow_both_ways(thread_cache& cache, class_index c) {
  const bool grew = grow(cache, c, miss::empty);
  return grow(cache, c, miss::full) || grew;
}

std::size_t bytes_of_all(const thread_cache& cache) {
  std::size_t bytes = 0;
  for (std::size_t c = 1; c < class_count; ++c) bytes += cache.capacity[c] * block_sizes[c];
  return bytes;
}

TEST(ThreadCache, FirstCapacitiesFollowTheBytes) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{256}, cached_bytes_first}) {
    for (std::size_t c = 1; c < class_count; ++c) {
      const std::size_t size = block_sizes[c], blocks = first_capacity(size, bytes);
      EXPECT_GE(blocks, size > shared_slab_block_max ? 1 : cached_blocks_min);
      EXPECT_LE(blocks, cached_blocks_max);
      if (blocks > cached_blocks_min) {
        EXPECT_LE(blocks * size, bytes) << "class " << c;
      }
    }
  }
}

TEST(ThreadCache, AClosedStackIsEmptyAndFullAndOpensAgainInItsRoom) {
  const auto cache = new_open_cache();
  for (const class_index c : all_classes())
    while (grow_both_ways(*cache, c)) {
    }
  const std::uint16_t used = cache->last_limit;
  for (const class_index c : all_classes()) {
    const std::uint16_t most = cache->capacity[c];
    while (*cache->top(c) != nullptr) *cache->top(c)++ = cache.get();
    cache->top(c) = cache->first(c);
    cache->close(c, block_sizes[c]);
    EXPECT_FALSE(cache->is_open(c));
    EXPECT_EQ(cache->top(c)[-1], nullptr) << "nothing to pop";
    EXPECT_EQ(cache->top(c)[0], nullptr) << "nowhere to push";
    EXPECT_EQ(cache->room_bytes(), bytes_of_all(*cache));
    ASSERT_TRUE(open(*cache, c, 256));
    expect_null_at_the_ends_only(*cache, c);
    for (std::uint16_t before = 0; before != cache->capacity[c];) {
      before = cache->capacity[c];
      grow_both_ways(*cache, c);
      expect_null_at_the_ends_only(*cache, c);
      EXPECT_EQ(cache->room_bytes(), bytes_of_all(*cache));
    }
    EXPECT_EQ(cache->capacity[c], most);
  }
  EXPECT_EQ(cache->last_limit, used) << "no slot was taken twice";
}

void grow_all_to_the_most(thread_cache& cache) {
  for (bool grew = true; grew;) {
    grew = false;
    for (const miss what :
         {miss::empty, miss::full})  // one step each, so that every room is left behind
      for (const class_index c : all_classes()) grew |= grow(cache, c, what);
  }
}

/// Fills every stack of an open cache, and looks at all afterwards.
void expect_rooms_apart(thread_cache& cache) {
  for (const class_index c : all_classes()) {
    ASSERT_GT(cache.bottom(c), cache.slots) << "the slots of closed stacks are nobody's room";
    ASSERT_LT(cache.limit(c), cache.slots + slots_total);
    while (*cache.top(c) != nullptr) *cache.top(c)++ = &cache.slots;
  }
  // Written full, a stack changes no neighbour's null.
  for (const class_index c : all_classes()) {
    expect_null_at_the_ends_only(cache, c);
    EXPECT_EQ(cache.count(c), cache.capacity[c]);
  }
  EXPECT_EQ(cache.top(0)[-1], nullptr);
  EXPECT_EQ(cache.top(0)[0], nullptr);
}

TEST(ThreadCache, TheLastRoomGrowsInPlace) {
  const auto cache = new_cache();
  ASSERT_TRUE(open(*cache, 5));
  ASSERT_TRUE(open(*cache, 9));
  void** const bottom = cache->bottom(9);
  while (grow_both_ways(*cache, 9)) EXPECT_EQ(cache->bottom(9), bottom);
  ASSERT_TRUE(grow_both_ways(*cache, 5));
  EXPECT_EQ(cache->bottom(5), cache->limit(9));
}

TEST(ThreadCache, WithoutSlotsThereIsNoMoreRoomAndNothingElseChanges) {
  // 255 blocks of 16 bytes: doubled to 510, they still want another room.
  const auto cache = new_open_cache(4080);
  grow_all_to_the_most(*cache);
  expect_rooms_apart(*cache);
  const std::uint16_t used = cache->last_limit;
  EXPECT_LT(used, slots_total);
  std::size_t below_their_most = 0;
  for (const class_index c : all_classes()) {
    const std::size_t capacity = cache->capacity[c], bytes = cache->capacity_bytes;
    below_their_most += capacity < most_capacity(block_sizes[c]);
    EXPECT_FALSE(grow_both_ways(*cache, c));
    EXPECT_EQ(cache->capacity[c], capacity);
    EXPECT_EQ(cache->capacity_bytes, bytes);
  }
  EXPECT_EQ(cache->last_limit, used);
  EXPECT_GT(below_their_most, 0u) << "or this test shows nothing";
}

TEST(ThreadCache, FirstRoomsOfAllStacksAreThreePagesWithAllElse) {
  const auto cache = new_open_cache();
  EXPECT_LE(reinterpret_cast<char*>(cache->limit(class_count - 1) + 1) -
                reinterpret_cast<char*>(cache.get()),
            3 * 4096);
}

TEST(ThreadCache, GrowingKeepsEveryBlockInItsOrder) {
  const auto cache = new_open_cache();
  for (const class_index c : all_classes()) {
    const auto block = [&](std::size_t n) -> void* { return cache->slots + n; };  // n != 0
    std::size_t count = 0;
    do {
      while (*cache->top(c) != nullptr) *cache->top(c)++ = block(++count);
      ASSERT_EQ(cache->count(c), count) << "class " << int{c};
      for (std::size_t n = 0; n < count; ++n)
        ASSERT_EQ(cache->first(c)[n], block(n + 1)) << "class " << int{c} << ", block " << n;
    } while (grow_both_ways(*cache, c));
    EXPECT_EQ(count, most_capacity(block_sizes[c]));
  }
}

TEST(ThreadCache, StartsAgainAsIfNew) {
  const auto cache = new_open_cache();
  while (grow_both_ways(*cache, 4)) {
  }
  const auto fresh = new_cache();
  cache->start({});
  EXPECT_EQ(cache->capacity[4], 0u);
  EXPECT_EQ(cache->room_bytes(), 0u);
  EXPECT_EQ(cache->count(4), 0u);
  expect_null_at_the_ends_only(*cache, 4);
  // What it was before is stale now: opened and grown again, its ends are where they were at first.
  EXPECT_TRUE(open(*cache, 4));
  EXPECT_TRUE(open(*fresh, 4));
  while (true) {
    EXPECT_EQ(cache->bottom(4) - cache->slots, fresh->bottom(4) - fresh->slots);
    EXPECT_EQ(cache->limit(4) - cache->slots, fresh->limit(4) - fresh->slots);
    expect_null_at_the_ends_only(*cache, 4);
    const bool grew = grow_both_ways(*cache, 4);
    ASSERT_EQ(grew, grow_both_ways(*fresh, 4));
    if (!grew) break;
  }
}

TEST(ThreadCache, GrowsLittleForWhoOnlyTakesOrOnlyGives) {
  for (const miss what : {miss::empty, miss::full}) {
    const std::size_t most = what == miss::empty ? built_bytes_max : freed_bytes_max;
    const auto cache = new_open_cache();
    for (const class_index c : all_classes()) {
      while (grow(*cache, c, what)) {
      }
      const std::size_t bytes = cache->capacity[c] * block_sizes[c];
      EXPECT_TRUE(bytes <= most || cache->capacity[c] <= cached_blocks_min) << "class " << int{c};
      EXPECT_TRUE(2 * bytes > most || cache->capacity[c] == cached_blocks_max)
          << "class " << int{c};
      const bool at_most = cache->capacity[c] == most_capacity(block_sizes[c]);
      const miss other = what == miss::empty ? miss::full : miss::empty;
      const std::size_t all = cache->capacity[c], half = (all + 1) / 2;
      EXPECT_EQ(std::pair(cache->batch(c, what), cache->batch(c, other)), std::pair(all, half));
      EXPECT_EQ(grow(*cache, c, other), !at_most);
      EXPECT_EQ(cache->batch(c, what), (cache->capacity[c] + 1u) / 2) << "it went both ways";
      EXPECT_FALSE(grow(*cache, c, what)) << "both are asked for anew";
    }
  }
}

}  // namespace
