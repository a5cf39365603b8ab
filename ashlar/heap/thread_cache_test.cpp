#include <algorithm>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include <ashlar/heap/thread_cache.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;

/// A cache in zeroed memory, as `start` requires.
std::unique_ptr<thread_cache> new_cache() {
  auto cache = std::make_unique<thread_cache>();
  cache->start({});
  return cache;
}

/// As a stack grows that its owner both fills and empties.
bool grow_both_ways(thread_cache& cache, class_index c, std::size_t budget) {
  const bool grew = cache.grow(c, miss::empty, budget);
  return cache.grow(c, miss::full, budget) || grew;
}

TEST(ThreadCache, StartsEmptyAndSmall) {
  const auto cache = new_cache();
  for (std::size_t i = 1; i < class_count; ++i) {
    const auto c = static_cast<class_index>(i);
    EXPECT_EQ(cache->count(c), 0u);
    EXPECT_EQ(cache->top[c][-1], nullptr) << "popping must meet the null at the bottom";
    EXPECT_EQ(cache->limit[c] - cache->top[c], cache->capacity[c]);
    EXPECT_GE(cache->capacity[c], block_sizes[c] > shared_slab_block_max ? 1 : cached_blocks_min);
    EXPECT_LE(cache->capacity[c], cached_blocks_max);
    if (cache->capacity[c] > cached_blocks_min) {
      EXPECT_LE(cache->capacity[c] * block_sizes[c], cached_bytes_first) << "class " << i;
    }
  }
}

TEST(ThreadCache, ClassZeroIsEmptyAndFull) {
  const auto cache = new_cache();
  EXPECT_EQ(cache->top[0][-1], nullptr);
  EXPECT_EQ(cache->top[0], cache->limit[0]);
}

TEST(ThreadCache, SlotsOfClassesDoNotOverlapAndFillTheArray) {
  const auto cache = new_cache();
  while ([&] {
    bool grew = false;
    for (std::size_t c = 1; c < class_count; ++c)
      grew |= grow_both_ways(*cache, static_cast<class_index>(c), SIZE_MAX);
    return grew;
  }()) {
  }
  EXPECT_EQ(cache->bottom(1), cache->slots + 1) << "slot 0 is class 0's";
  for (std::size_t i = 1; i < class_count; ++i) {
    const auto c = static_cast<class_index>(i);
    void** const next = i + 1 < class_count ? cache->bottom(static_cast<class_index>(i + 1))
                                            : cache->slots + slots_total;
    EXPECT_EQ(cache->limit[c], next) << "class " << i;
  }
  // Written full, a stack changes no neighbour's null.
  for (std::size_t i = 1; i < class_count; ++i) {
    const auto c = static_cast<class_index>(i);
    while (cache->top[c] != cache->limit[c]) *cache->top[c]++ = &cache->slots;
  }
  for (std::size_t i = 1; i < class_count; ++i) {
    const auto c = static_cast<class_index>(i);
    EXPECT_EQ(*cache->bottom(c), nullptr) << "class " << i;
    EXPECT_EQ(cache->count(c), cache->capacity[c]);
  }
  EXPECT_EQ(cache->top[0][-1], nullptr);
}

TEST(ThreadCache, GrowsByDoublingUpToItsBounds) {
  const auto cache = new_cache();
  for (std::size_t i = 1; i < class_count; ++i) {
    const auto c = static_cast<class_index>(i);
    std::size_t before = cache->capacity[c];
    while (grow_both_ways(*cache, c, SIZE_MAX)) {
      const std::size_t now = cache->capacity[c];
      EXPECT_GT(now, before);
      EXPECT_LE(now, 4 * before);
      EXPECT_EQ(cache->limit[c], cache->bottom(c) + 1 + now);
      EXPECT_EQ(cache->top[c], cache->bottom(c) + 1) << "growing moves no block";
      before = now;
    }
    EXPECT_EQ(before, cache_capacity(c, cached_bytes_max));
    EXPECT_TRUE(before == cached_blocks_max || before == cached_blocks_min ||
                (before * block_sizes[c] <= cached_bytes_max &&
                 (before + 1) * block_sizes[c] > cached_bytes_max));
    EXPECT_FALSE(grow_both_ways(*cache, c, SIZE_MAX));
    EXPECT_EQ(cache->capacity[c], before);
  }
}

TEST(ThreadCache, GrowsNoFurtherThanItsBudget) {
  EXPECT_EQ(cached_blocks_min, 2u);
  for (const std::size_t budget : {std::size_t{0}, std::size_t{1}, std::size_t{4096},
                                   std::size_t{100'000}, std::size_t{3} << 20}) {
    const auto cache = new_cache();
    const auto room = [&] {
      std::size_t bytes = 0;
      for (std::size_t c = 1; c < class_count; ++c) bytes += cache->capacity[c] * block_sizes[c];
      return bytes;
    };
    const std::size_t at_start = room();
    for (int round = 0; round < 12; ++round) {
      for (std::size_t i = 1; i < class_count; ++i) {
        const auto c = static_cast<class_index>(i);
        const std::size_t before = cache->capacity[c];
        const bool grew = grow_both_ways(*cache, c, budget);
        ASSERT_EQ(grew, cache->capacity[c] > before);
        ASSERT_LE(cache->capacity_bytes, budget);
        ASSERT_EQ(cache->capacity_bytes, room() - at_start) << "what has grown is what is counted";
      }
    }
    // Refused for want of budget only: the least step there is would be too much, or all are full.
    for (std::size_t i = 1; i < class_count; ++i) {
      const auto c = static_cast<class_index>(i);
      const std::size_t most = cache_capacity(c, cached_bytes_max);
      const std::size_t step =
          (std::min<std::size_t>(most, cache->capacity[c] * 2u) - cache->capacity[c]) *
          block_sizes[c];
      EXPECT_TRUE(step == 0 || cache->capacity_bytes + step > budget) << "class " << i;
    }
  }
}

TEST(ThreadCache, StartsAgainAsIfNew) {
  const auto cache = new_cache();
  while (grow_both_ways(*cache, 4, SIZE_MAX)) {
  }
  const auto fresh = new_cache();
  cache->start({});
  EXPECT_EQ(cache->capacity[4], fresh->capacity[4]);
  EXPECT_EQ(cache->capacity_bytes, 0u);
  EXPECT_EQ(cache->count(4), 0u);
  EXPECT_EQ(cache->limit[4] - cache->bottom(4), fresh->limit[4] - fresh->bottom(4));
}

TEST(ThreadCache, GrowsLittleForWhoOnlyTakesOrOnlyGives) {
  for (const miss what : {miss::empty, miss::full}) {
    const auto cache = new_cache();
    for (std::size_t i = 1; i < class_count; ++i) {
      const auto c = static_cast<class_index>(i);
      while (cache->grow(c, what, SIZE_MAX)) {
      }
      const std::size_t bytes = cache->capacity[c] * block_sizes[c];
      EXPECT_TRUE(bytes <= one_way_bytes_max || cache->capacity[c] <= cached_blocks_min)
          << "class " << i;
      EXPECT_TRUE(2 * bytes > one_way_bytes_max || cache->capacity[c] == cached_blocks_max)
          << "class " << i;
      const bool at_most = cache->capacity[c] == cache_capacity(c, cached_bytes_max);
      EXPECT_EQ(cache->grow(c, what == miss::empty ? miss::full : miss::empty, SIZE_MAX), !at_most);
      EXPECT_FALSE(cache->grow(c, what, SIZE_MAX)) << "both are asked for anew";
    }
  }
}

}  // namespace
