#include "tools/report/class_set.hpp"

#include <gtest/gtest.h>

#include <ashlar/core/config.hpp>
#include <ashlar/heap/class_table.hpp>

namespace ashlar::report {
namespace {

using ashlar::detail::standard_classes;

TEST(ClassSet, TheProcessHeapsClassesAreItsOwn) {
  const class_set heap = class_set::process_heap();
  ASSERT_EQ(heap.size(), class_count - 1);
  for (const std::size_t alignment : {0u, 16u, 64u, 4096u}) {
    for (std::size_t size = 0; size <= small_size_max; size += 7) {
      const class_set::place place = heap.of(size, alignment);
      const class_index c = standard_classes.of_aligned_size(size, alignment == 0 ? 1 : alignment);
      ASSERT_EQ(place.index, c - 1u) << size;
      ASSERT_EQ(place.block_size, standard_classes.block_size(c)) << size;
    }
  }
}

TEST(ClassSet, AboveTheClassesThereArePages) {
  const class_set heap = class_set::process_heap();
  const std::uint64_t page = std::uint64_t{1} << heap_page_shift;
  EXPECT_EQ(heap.of(small_size_max + 1, 0).index, heap.size());
  EXPECT_EQ(heap.of(small_size_max + 1, 0).block_size, small_size_max + page);
  EXPECT_EQ(heap.of(10 * page * 100, 0).block_size, 10 * page * 100);
  EXPECT_GE(heap.of(UINT64_MAX, 0).block_size, UINT64_MAX);
  EXPECT_EQ(heap.of(100, 2 * page).index, heap.size()) << "a slab begins at a page";
}

TEST(ClassSet, TheSmallestChosenClassThatHoldsARequestTakesIt) {
  const class_set chosen("chosen", {{256, 64, 4}, {24, 8, 1}, {64, 64, 2}, {100, 16, 3}});
  EXPECT_EQ(chosen.of(0, 0).block_size, 24u);
  EXPECT_EQ(chosen.of(24, 8).block_size, 24u);
  EXPECT_EQ(chosen.of(24, 16).block_size, 64u);
  EXPECT_EQ(chosen.of(65, 0).block_size, 100u);
  EXPECT_EQ(chosen.of(65, 64).block_size, 256u);
  EXPECT_EQ(chosen.of(257, 0).index, chosen.size());
  EXPECT_EQ(chosen.of(257, 0).block_size,
            standard_classes.block_size(standard_classes.of_size(257)));
  EXPECT_EQ(chosen.of(20, 128).index, chosen.size());
}

}  // namespace
}  // namespace ashlar::report
