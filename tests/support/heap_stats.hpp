// tests/support/heap_stats.hpp: what a heap counts, and the equations that hold for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tests/support/test_heap.hpp>

#include <gtest/gtest.h>

#include <ashlar/core/stats.h>

namespace ashlar::test {

/// Returns: the statistics of `h`, of which `own` is the caller's cache.
inline ashlar_stats stats_of(test_heap& h, test_heap::cache* own = nullptr) {
  ashlar_stats stats;
  h.collect(stats, own);
  return stats;
}

/// The equations of core/stats.h.
inline void check_equations(const ashlar_stats& s) {
  ASSERT_EQ(s.class_count, class_count - 1);
  ashlar_total_stats sum{};
  const auto add = [&sum](const ashlar_class_stats& c) {
    EXPECT_EQ(c.allocations - c.frees, c.blocks_in_use) << "blocks of " << c.block_size;
    EXPECT_LE(c.blocks_in_use, c.peak_in_use) << "blocks of " << c.block_size;
    if (c.block_size != 0) {
      EXPECT_EQ(c.peak_bytes, c.peak_in_use * c.block_size);
    } else {
      EXPECT_GE(c.peak_bytes, c.committed_bytes);
    }
    EXPECT_GE(c.committed_bytes, c.blocks_in_use * c.block_size);
    sum.allocations += c.allocations;
    sum.frees += c.frees;
    sum.slack_bytes += c.slack_bytes;
    sum.bytes_in_use += c.block_size != 0 ? c.blocks_in_use * c.block_size : c.committed_bytes;
  };
  for (std::uint32_t i = 0; i < s.class_count; ++i) {
    EXPECT_EQ(s.classes[i].block_size, detail::block_sizes[i + 1]);
    add(s.classes[i]);
  }
  EXPECT_EQ(s.large.block_size, 0u);
  add(s.large);
  EXPECT_EQ(s.total.allocations, sum.allocations);
  EXPECT_EQ(s.total.frees, sum.frees);
  EXPECT_EQ(s.total.slack_bytes, sum.slack_bytes);
  EXPECT_EQ(s.total.bytes_in_use, sum.bytes_in_use);
  EXPECT_GE(s.total.peak_bytes_in_use, s.total.bytes_in_use);
  EXPECT_GE(s.total.committed_bytes, s.total.bytes_in_use);
  EXPECT_GE(s.total.peak_committed_bytes, s.total.committed_bytes);
  EXPECT_GE(s.total.reserved_bytes, s.total.committed_bytes);
}

}  // namespace ashlar::test
