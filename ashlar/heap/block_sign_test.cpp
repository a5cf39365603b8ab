// The sum of heap/block_sign.hpp: no two windows share a mark, and no two addresses of a window
// look alike.
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/block_sign.hpp>
#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/page_range.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;

TEST(BlockSign, AWindowIsNoLongerThanItsBlock) {
  for (std::size_t c = 1; c < class_count; ++c) {
    const std::size_t window = std::size_t{1} << standard::mark_shift(static_cast<class_index>(c));
    EXPECT_LE(window, block_sizes[c]);
    EXPECT_TRUE(window == std::size_t{1} << mark_shift_max || window * 2 > block_sizes[c]);
  }
}

TEST(BlockSign, NoTwoAddressesOfAWindowHaveTheSameMarkAndNoneHasNone) {
  for (std::uintptr_t begin = 0x1000; begin < 0x1200; begin += 1u << mark_shift_max) {
    std::set<block_mark> seen;
    for (std::uintptr_t at = begin; at < begin + (1u << mark_shift_max); ++at) {
      const block_mark mark = mark_of(reinterpret_cast<const void*>(at));
      EXPECT_NE(mark, 0);
      EXPECT_TRUE(seen.insert(mark).second) << at;
    }
  }
}

TEST(BlockSign, TheTablesOfARangeTouchAndNeverOverlap) {
  constexpr std::uintptr_t memory = 0x7000'0000, base = 0x10'2000'0000 & UINTPTR_MAX;
  for (const std::size_t bytes :
       {std::size_t{4096}, std::size_t{1} << 20, (std::size_t{5} << 20) + 8192}) {
    const std::vector<page_class> classes(marks_span(bytes) >>
                                          page_shift);  // zeros, and then the range's
    const block_tables tables = tables_placed(base, bytes, classes.data() + classes.size(),
                                              reinterpret_cast<void*>(memory));
    std::uintptr_t end = memory;
    for (unsigned shift = mark_shift_max; shift >= mark_shift_min; --shift) {
      const auto first = reinterpret_cast<std::uintptr_t>(
          tables.mark_at(reinterpret_cast<const void*>(base), shift));
      const auto last = reinterpret_cast<std::uintptr_t>(
          tables.mark_at(reinterpret_cast<const void*>(base + bytes - 1), shift));
      EXPECT_GE(first, end) << shift;
      EXPECT_EQ(first % page_size, 0u) << "a table is committed by itself";
      EXPECT_EQ(last - first, (bytes - 1) >> shift);
      end = last + 1;
    }
    EXPECT_LE(end, memory + marks_bytes(bytes));
  }
}

}  // namespace
