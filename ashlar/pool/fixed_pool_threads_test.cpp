// Fixed pools that several threads use.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <random>
#include <tests/support/fixed_pools.hpp>
#include <tests/support/type_lists.hpp>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/pool/fixed_pool.hpp>

namespace {

using namespace ashlar;
using namespace support;

template <class Setup>
class SharedPool : public testing::Test {};
using shared = support::types<
    testing::Types<on_storage<spin_lock, check::full<3>>, on_storage<interrupt_mask<test_port>>,
                   on_storage<lock_free<std::uint32_t>, check::none>, on_one_piece<lock_free<>>,
                   on_slabs<std::mutex>>,
    testing::Types<on_storage<std::mutex>, on_storage<spin_lock>, on_storage<lock_free<>>>>;
TYPED_TEST_SUITE(SharedPool, shared);

TYPED_TEST(SharedPool, ThreadsNeverShareABlock) {
  constexpr int threads = 3, rounds = 4000, held_most = 5;
  TypeParam setup({32, 8}, threads * held_most - 4);  // sometimes empty
  auto& pool = setup.pool;
  std::atomic<long> got{0}, wrong{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<unsigned char*> held;
      for (int r = 0; r < rounds; ++r) {
        if (held.size() < held_most && random() % 2 != 0) {
          if (void* p = pool.try_allocate()) {
            std::memset(p, t + 1, 32);
            held.push_back(static_cast<unsigned char*>(p));
            ++got;
          }
        } else if (!held.empty()) {
          unsigned char* const p = held.back();
          held.pop_back();
          for (int i = 0; i < 32; ++i) wrong += p[i] != t + 1;
          pool.deallocate(p);
        }
      }
      for (void* p : held) pool.deallocate(p);
    });
  }
  for (auto& w : workers) w.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(pool.audit());
  const pool_stats s = pool.stats();
  EXPECT_EQ(s.allocations, static_cast<std::size_t>(got));
  EXPECT_EQ(s.frees, s.allocations);
  EXPECT_EQ(s.blocks_in_use, 0u);
  EXPECT_LE(s.peak_in_use, pool.capacity());
}

// Blocks pass from one thread to another: what the first wrote, the second sees.
TEST(LockFree, AFreedBlockCarriesNoRace) {
  std::byte bytes[fixed_pool<lock_free<>>::storage_bytes({sizeof(long), 8}, 2)];
  fixed_pool<lock_free<>> pool({sizeof(long), 8}, bytes);
  std::thread other([&] {
    for (long i = 0; i < 20'000; ++i) {
      if (void* p = pool.try_allocate()) pool.deallocate(::new (p) long(i));
    }
  });
  for (long i = 0; i < 20'000; ++i) {
    if (void* p = pool.try_allocate()) pool.deallocate(::new (p) long(-i));
  }
  other.join();
  EXPECT_TRUE(pool.audit());
}

}  // namespace
