// Tests of pool/static_run_pool.hpp and pool/run_map.hpp.
#include <tests/support/shared_blocks.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/pool/static_run_pool.hpp>

namespace {

using namespace ashlar;

// ---- the map ----

/// The same by a list of lengths: a slot's value is the length of the run that begins there, -1 in
/// its inside, 0 where it is free.
template <std::size_t N>
struct plain_map {
  int slot[N] = {};
  std::size_t take(std::size_t n) {
    for (std::size_t i = 0; i + n <= N; ++i) {
      std::size_t k = 0;
      while (k < n && slot[i + k] == 0) ++k;
      if (k < n) continue;
      for (k = 0; k < n; ++k) slot[i + k] = k == 0 ? static_cast<int>(n) : -1;
      return i;
    }
    return SIZE_MAX;
  }
  void give(std::size_t i) {
    const auto n = static_cast<std::size_t>(slot[i]);
    for (std::size_t k = 0; k < n; ++k) slot[i + k] = 0;
  }
};

template <std::size_t N>
void maps_agree(unsigned seed) {
  detail::run_map<N> map;
  plain_map<N> model;
  std::mt19937 random(seed);
  for (int step = 0; step < 4000; ++step) {
    if (random() % 2 == 0) {
      const std::size_t n = random() % 4 == 0 ? 1 + random() % (N + 1) : 1 + random() % 3;
      ASSERT_EQ(map.take(n), model.take(n)) << "the lowest run of " << n;
    } else {
      const std::size_t i = random() % N;
      const std::size_t length = model.slot[i] > 0 ? static_cast<std::size_t>(model.slot[i]) : 0;
      ASSERT_EQ(map.length(i), length) << i;
      if (length != 0) {
        map.give(i);
        model.give(i);
      }
    }
    std::size_t taken = 0;
    for (std::size_t i = 0; i < N; ++i) {
      ASSERT_EQ(map.is_taken(i), model.slot[i] != 0) << i;
      if (model.slot[i] != 0) ++taken;
    }
    ASSERT_EQ(map.taken(), taken);
  }
}

TEST(RunMap, agrees_with_a_plain_model) {
  maps_agree<1>(1);
  maps_agree<7>(2);
  maps_agree<63>(3);
  maps_agree<64>(4);
  maps_agree<65>(5);
  maps_agree<200>(6);
}

TEST(RunMap, slots_outside_are_no_runs) {
  detail::run_map<10> map;
  EXPECT_EQ(map.take(11), map.none);
  EXPECT_EQ(map.take(SIZE_MAX), map.none);
  EXPECT_EQ(map.take(10), 0u);
  EXPECT_EQ(map.length(0), 10u);
  for (const std::size_t i : {std::size_t{1}, std::size_t{9}, std::size_t{10}, SIZE_MAX}) {
    EXPECT_EQ(map.length(i), 0u);
  }
}

// ---- the pool ----

struct alignas(32) wide {
  char bytes[96];
};
static_assert(detail::tools_present || std::is_trivially_destructible_v<static_run_pool<wide, 4>>);
static_assert(detail::tools_present || sizeof(static_run_pool<std::uint64_t, 640>) ==
                                           640 * 8 + 640 / 4 + 2 * sizeof(std::size_t));
constinit static_run_pool<int, 100, exhaustion::throw_bad_alloc, spin_lock, named<"ints">> ints;

TEST(StaticRunPool, threads_with_a_lock) {
  support::share_blocks(
      {.size_most = 5 * sizeof(int)},
      [](std::size_t size) { return ints.try_allocate((size + 3) / sizeof(int)); },
      [](void* p, std::size_t) { ints.deallocate(p); });
  EXPECT_EQ(ints.in_use(), 0u);
}

TEST(StaticRunPoolDeathTest, misuse_is_reported) {
  int elsewhere = 0;
  auto* const p = static_cast<int*>(ints.allocate(4));
  EXPECT_DEATH(ints.deallocate(&elsewhere), "not allocated here.*ints");
  EXPECT_DEATH(ints.deallocate(p + 1), "inside a block");
  EXPECT_DEATH(ints.deallocate(reinterpret_cast<char*>(p) + 1), "inside a block");
  EXPECT_DEATH(ints.deallocate(p + 4), "free already");
  ints.deallocate(p);
  EXPECT_DEATH(ints.deallocate(p), "double free");
}

}  // namespace
