// The caches of a heap: how many, how much they hold, who may use them; and threads that pass blocks to each other.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <tests/support/heap_stats.hpp>
#include <tests/support/test_heap.hpp>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/os/mutex.hpp>

namespace {

using namespace ashlar;
using test::allocate;
using test::check_equations;
using test::deallocate;
using test::stats_of;
using test::test_heap;
using test::test_space;
using cache = test_heap::cache;

TEST(HeapCaches, AtMostEightSpareOnesAreKept) {
  const auto h = std::make_unique<test_heap>();
  ASSERT_TRUE(h->start());
  const std::size_t before = h->space().live_reservations();
  for (int round = 0; round < 3; ++round) {
    std::vector<cache*> owners;
    for (int i = 0; i < 20; ++i) {
      owners.push_back(h->attach());
      EXPECT_EQ(h->cache_count(), owners.size());
    }
    EXPECT_EQ(h->space().live_reservations(), before + 20);
    for (cache* own : owners) {
      void* block = allocate(*h, *own, 100);
      deallocate(*h, *own, block);
      h->detach(own);
    }
    EXPECT_EQ(h->cache_count(), 0u);
    EXPECT_EQ(h->space().live_reservations(), before + 8);
  }
  const std::uint64_t calls = h->space().calls();
  for (int i = 0; i < 8; ++i) static_cast<void>(h->attach());
  EXPECT_EQ(h->space().calls(), calls) << "spare ones cost no system call";
  h->audit();
}

TEST(HeapCaches, ShareWhatAllTogetherMayHold) {
  const auto h = std::make_unique<test_heap>();
  std::vector<cache*> owners;
  for (int i = 0; i < 128; ++i) owners.push_back(h->attach());
  cache* own = owners.back();
  // Waves of every class, so that each stack wants more room.
  const auto waves = [&] {
    for (int wave = 0; wave < 8; ++wave) {
      for (std::size_t c = 1; c < class_count; ++c) {
        std::vector<void*> blocks;
        const std::size_t count = std::min<std::size_t>(600, 262'144 / detail::block_sizes[c]);
        for (std::size_t i = 0; i < count; ++i)
          blocks.push_back(h->allocate_class(*own, static_cast<class_index>(c)));
        for (void* block : blocks) deallocate(*h, *own, block);
      }
    }
    return own->capacity_bytes;
  };
  const std::size_t with_others = waves();
  EXPECT_GT(with_others, 256u * 1024);
  EXPECT_LE(with_others, 512u * 1024) << "each may hold this much, however many there are";
  owners.pop_back();
  for (cache* other : owners) h->detach(other);
  const std::size_t with_little_in_use = waves();
  EXPECT_LE(with_little_in_use, 3u << 20) << "in proportion to what is in use";
  bool zeroed = false;
  void* much = h->allocate_large(64 << 20, 1, zeroed);
  const std::size_t alone = waves();
  EXPECT_GT(alone, 4u << 20);
  EXPECT_LE(alone, 32u << 20);
  deallocate(*h, *own, much);
  h->detach(own);
  h->audit();
}

TEST(HeapCaches, AnOwnersEndSortsBackMuchThatRests) {
  const auto h = std::make_unique<test_heap>();
  cache* own = h->attach();
  std::vector<void*> blocks(60'000);
  for (void*& block : blocks) block = allocate(*h, *own, 128);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(7));
  for (void* block : blocks) deallocate(*h, *own, block);
  const class_index c = detail::standard_classes.of_size(128);
  ASSERT_GT(stats_of(*h, own).classes[c - 1].slabs, 50u) << "what rests holds its slabs";
  h->detach(own);
  EXPECT_EQ(stats_of(*h).classes[c - 1].slabs, 0u);
  h->audit();

  // An owner that moved little does not sort what others left.
  own = h->attach();
  for (void*& block : blocks) block = allocate(*h, *own, 128);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(8));
  cache* other = h->attach();
  for (void* block : blocks) deallocate(*h, *own, block);
  deallocate(*h, *other, allocate(*h, *other, 128));
  h->detach(other);
  EXPECT_GT(stats_of(*h, own).classes[c - 1].slabs, 50u);
  h->detach(own);
  h->audit();
}

// ---- threads ------------------------------------------------------------------------------------

TEST(HeapThreads, PassBlocksToEachOther) {
  const auto h = std::make_unique<test_heap>();
  struct channel {
    std::mutex mutex;
    std::deque<std::pair<unsigned char*, std::size_t>> blocks;
  };
  channel to[2];
  std::atomic<int> running{2};
  std::atomic<std::size_t> passed{0}, wrong{0};
  const auto work = [&](std::size_t me) {
    std::mt19937_64 random(me + 1);
    cache* own = h->attach();
    const auto consume = [&](std::size_t count) {
      while (count-- != 0) {
        std::pair<unsigned char*, std::size_t> block;
        {
          const std::lock_guard guard(to[me].mutex);
          if (to[me].blocks.empty()) return;
          block = to[me].blocks.front();
          to[me].blocks.pop_front();
        }
        const auto mark = static_cast<unsigned char>(block.second % 251);
        if (block.first[0] != mark || block.first[block.second - 1] != mark) ++wrong;
        deallocate(*h, *own, block.first);
        ++passed;
      }
    };
    for (int i = 0; i < 20'000; ++i) {
      const std::size_t size = random() % 500 == 0 ? 1 + random() % 100'000 : 1 + random() % 400;
      auto* block = static_cast<unsigned char*>(allocate(*h, *own, size));
      ASSERT_NE(block, nullptr);
      block[0] = block[size - 1] = static_cast<unsigned char>(size % 251);
      const std::size_t receiver = random() % 8 == 0 ? me : 1 - me;
      {
        const std::lock_guard guard(to[receiver].mutex);
        to[receiver].blocks.emplace_back(block, size);
      }
      if (random() % 16 == 0) consume(random() % 32);
      // Statistics may be read at any time by anybody.
      if (i % 2000 == 0) static_cast<void>(stats_of(*h, own));
      if (i % 5000 == 4999) h->trim();
    }
    --running;
    while (running != 0) consume(1000);
    consume(SIZE_MAX);
    h->detach(own);
  };
  std::thread a(work, 0), b(work, 1);
  a.join();
  b.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(passed, 40'000u);
  h->audit();
  const ashlar_stats s = stats_of(*h);
  check_equations(s);
  EXPECT_EQ(s.total.bytes_in_use, 0u);
  h->trim();
  EXPECT_EQ(stats_of(*h).total.committed_bytes, 0u);
}

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
  std::thread large([&] {
    bool zeroed = false;
    done += h->allocate_large(100'000, 1, zeroed) != nullptr ? 1 : 0;
  });
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

}  // namespace
