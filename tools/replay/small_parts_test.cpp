// The tests of the small sources of tools/replay: a part for each, with its name.

#include <tests/support/test_headers.hpp>

#include "tools/replay/executor.hpp"
#include "tools/replay/pool_classes.hpp"

namespace ashlar::replay {
namespace {

// ---- pool_classes ------------------------------------------------------------------------------
// Which class serves, when none does, and what is counted.

constexpr std::array<class_request, 3> classes{{{16, 16, 2}, {64, 16, 1}, {128, 64, 1}}};

TEST(PoolClasses, TheSmallestThatFitsServesToItsCapacityAndNoFurther) {
  pool_classes pools(classes, 16);
  void* const a = pools.allocate(1);
  void* const b = pools.allocate(16);
  ASSERT_TRUE(a != nullptr && b != nullptr && a != b);
  EXPECT_EQ(pools.usable_size(a), 16u);
  EXPECT_EQ(pools.allocate(16), nullptr);
  void* const c = pools.allocate(17);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(pools.usable_size(c), 64u);
  EXPECT_EQ(pools.allocate(64), nullptr);
  pools.release(a, 1);
  EXPECT_NE(pools.zeroed(0), nullptr);
  const auto results = pools.results();
  EXPECT_EQ(results[0].capacity, 2u);  // no more, though the system gives whole pages
  EXPECT_EQ(std::tuple(results[0].births, results[0].failures, results[0].peak, results[1].failures,
                       results[2].births),
            std::tuple(4u, 1u, 2u, 1u, 0u));
  EXPECT_TRUE(pools.audit());
}

TEST(PoolClasses, AnAlignmentFindsAClassThatHasIt) {
  pool_classes pools(classes, 16);
  void* const block = pools.aligned(10, 64);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
  EXPECT_EQ(pools.usable_size(block), 128u);
  EXPECT_EQ(pools.aligned(10, 4096), nullptr);
  EXPECT_EQ(pools.allocate(129), nullptr);
  EXPECT_EQ(pools.unserved(), 2u);
}

// ---- run_result --------------------------------------------------------------------------------
// Percentiles of counted latencies against those of the sorted list.

TEST(LatencyCounts, GiveThePercentilesOfTheListToAStep) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    auto counts = std::make_unique<latency_counts>();
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 5000; ++i) {
      const std::uint64_t ns = random() % 3000;
      all.push_back(ns);
      counts->add(ns);
    }
    std::ranges::sort(all);
    EXPECT_EQ(counts->longest_ns(), all.back());
    for (const double share : {0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(share * 5000)) - 1;
      const std::uint64_t step_end = (all[rank] / 10 + 1) * 10;
      EXPECT_EQ(counts->percentile_ns(share), std::min(step_end, all.back())) << share;
    }
  }
}

TEST(LatencyCounts, TheBoundedAverageLeavesInterruptionsOut) {
  auto counts = std::make_unique<latency_counts>();
  EXPECT_EQ(counts->bounded_average_ns(0.999), 0);
  for (int i = 0; i < 9990; ++i) counts->add(i % 2 == 0 ? 22 : 48);
  EXPECT_DOUBLE_EQ(counts->bounded_average_ns(0.999), 35);  // middles of steps: 25 and 45
  for (int i = 0; i < 10; ++i) counts->add(4'000'000);
  EXPECT_NEAR(counts->bounded_average_ns(0.999), 35, 0.1);
  EXPECT_GT(counts->bounded_average_ns(1), 2000);
}

TEST(LatencyCounts, LongOnesAreCountedByDoublings) {
  auto counts = std::make_unique<latency_counts>();
  for (int i = 0; i < 99; ++i) counts->add(50);
  counts->add(1'000'000);
  counts->add(70'000'000'000);
  EXPECT_EQ(counts->calls(), 101u);
  EXPECT_EQ(counts->percentile_ns(0.5), 60u);
  EXPECT_GE(counts->percentile_ns(0.985), 1'000'000u);
  EXPECT_LE(counts->percentile_ns(0.985), 2'000'000u);
  EXPECT_EQ(counts->percentile_ns(1.0), 70'000'000'000u);
  counts->add(UINT64_MAX);
  EXPECT_EQ(counts->longest_ns(), UINT64_MAX);
}

TEST(LatencyCounts, AddUp) {
  auto one = std::make_unique<latency_counts>();
  auto two = std::make_unique<latency_counts>();
  one->add(15);
  two->add(500);
  two->add(505);
  one->add(*two);
  EXPECT_EQ(one->calls(), 3u);
  EXPECT_EQ(one->percentile_ns(0.3), 20u);
  EXPECT_EQ(one->percentile_ns(0.9), 505u);
  EXPECT_EQ(std::make_unique<latency_counts>()->percentile_ns(0.5), 0u);
}

// ---- stamp -------------------------------------------------------------------------------------
// Every byte that a stamp covers is seen when it changes, and no other is touched.

constexpr std::uint64_t most = 70;

bool covered(std::uint64_t byte, std::uint64_t size, touch which) {
  if (size < 16) return true;
  if (which == touch::all) return byte < size / 8 * 8 || byte >= size - 8;
  return byte < 8 || byte >= size - 8;
}

TEST(Stamp, SeesEveryByteThatItWroteAndNoOther) {
  for (const touch which : {touch::ends, touch::all}) {
    for (std::uint64_t size = 0; size <= most; ++size) {
      const std::uint64_t stamp = stamp_of(7, static_cast<std::uint32_t>(size));
      std::vector<unsigned char> bytes(size + 16, 0xee);
      write_stamp(bytes.data() + 8, size, stamp, which);
      ASSERT_TRUE(has_stamp(bytes.data() + 8, size, stamp, which)) << size;
      for (std::uint64_t i = 0; i < bytes.size(); ++i) {
        const bool inside = i >= 8 && i < size + 8;
        const bool seen = inside && covered(i - 8, size, which);
        if (!seen) {
          ASSERT_EQ(bytes[i], 0xee) << size << " at " << i;
        }
        bytes[i] ^= 1;
        ASSERT_EQ(has_stamp(bytes.data() + 8, size, stamp, which), !seen) << size << " at " << i;
        bytes[i] ^= 1;
      }
    }
  }
}

TEST(Stamp, OfTwoBirthsDiffer) {
  EXPECT_NE(stamp_of(1, 0), stamp_of(1, 2));
  EXPECT_NE(stamp_of(1, 0), stamp_of(2, 0));
}

// After a realloc the old stamp's first bytes are there, however much of it is kept.
TEST(Stamp, BeginsAsTheWholeDoes) {
  const std::uint64_t stamp = stamp_of(3, 4);
  std::vector<unsigned char> bytes(most);
  write_stamp(bytes.data(), most, stamp, touch::ends);
  for (std::uint64_t kept = 0; kept <= most; ++kept)
    EXPECT_TRUE(begins_with_stamp(bytes.data(), kept, stamp)) << kept;
  bytes[2] ^= 1;
  for (std::uint64_t kept = 0; kept <= most; ++kept)
    EXPECT_EQ(begins_with_stamp(bytes.data(), kept, stamp), kept < 3) << kept;
}

TEST(Stamp, ZeroIsSeenAtTheEndsOrEverywhere) {
  for (std::uint64_t size = 0; size <= most; ++size) {
    std::vector<unsigned char> bytes(size, 0);
    for (const touch which : {touch::ends, touch::all}) {
      ASSERT_TRUE(is_zero(bytes.data(), size, which));
      for (std::uint64_t i = 0; i < size; ++i) {
        bytes[i] = 1;
        const bool seen = which == touch::all || size < 16 || i < 8 || i >= size - 8;
        ASSERT_EQ(is_zero(bytes.data(), size, which), !seen) << size << " at " << i;
        bytes[i] = 0;
      }
    }
  }
}

}  // namespace

}  // namespace ashlar::replay
