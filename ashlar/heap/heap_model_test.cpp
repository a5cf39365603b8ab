// Random programs on a whole heap against a shadow of each block, also while system calls fail.
#include <cstdint>
#include <random>
#include <tests/support/extent.hpp>
#include <tests/support/heap_stats.hpp>
#include <tests/support/modelled_heap.hpp>

#include <gtest/gtest.h>

namespace {

using namespace ashlar;
using test::stats_of;
using modelled = test::modelled_heap;

TEST(Heap, RandomProgramsAgreeWithTheShadow) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    modelled m(3);
    // Seed 4: a first range of 1 MiB, so that most blocks are found by the slow way.
    if (seed == 4) m.space().set_limit(4 << 20);
    m.heap().set_purge_policy({.delay_ms = seed == 2 ? 0 : 500, .keep_bytes = 0});
    for (int phase = 0; phase < 6; ++phase) {
      m.run(random, 4000, phase % 2 == 0 ? 24 << 20 : 1 << 20);
      m.detach_all();
      m.check_accounts();
      if (HasFailure()) return;
    }
    m.drop_all();
    m.detach_all();
    m.check_accounts();
    m.heap().trim();
    m.check_accounts();
    EXPECT_EQ(stats_of(m.heap()).total.committed_bytes, 0u) << "all is free and was given back";
  }
}

TEST(HeapRefusals, EverySystemCallMayFail) {
  for (const bool all_after : {false, true}) {
    for (std::uint64_t n = 1;; n += support::step(7u)) {
      SCOPED_TRACE(testing::Message() << "call " << n << (all_after ? " and later" : ""));
      modelled m(2);
      m.space().set_limit(4 << 20);  // the first range: 1 MiB, so that more are added
      m.heap().set_purge_policy({.delay_ms = 100, .keep_bytes = 0});
      std::mt19937_64 random(9);
      all_after ? m.space().fail_from(n) : m.space().fail_nth(n);
      m.run(random, 400, 6 << 20);
      const bool ran_out = m.space().calls() < n;
      m.detach_all();
      m.check_accounts();
      m.space().fail_nth(0);
      m.run(random, 300, 8 << 20);
      EXPECT_GT(m.live_bytes(), 0u) << "nothing works any more";
      m.drop_all();
      m.detach_all();
      m.check_accounts();
      if (HasFailure()) return;
      if (ran_out) break;
    }
  }
}

}  // namespace
