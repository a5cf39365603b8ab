// A library that was built with a program's own block sizes: the C face, the inlined typed face and the statistics all
// have these sizes, and no others.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/adapt/c_api.h>
#include <ashlar/adapt/xmalloc.h>
#include <ashlar/runtime/process_classes.hpp>
#include <ashlar/runtime/tuned_classes.hpp>

namespace {

namespace tuned = ashlar::tuned;

constexpr std::size_t largest_class = std::end(tuned::block_sizes)[-1];

/// The law, without a table.
std::size_t smallest_tuned_size_for(std::size_t size) {
  return *std::ranges::lower_bound(tuned::block_sizes, size);
}

bool is_standard(std::uint32_t size) {
  return ashlar::detail::standard_classes.block_size(
             ashlar::detail::standard_classes.of_size(size)) == size;
}

TEST(TunedBuild, TheSizesAreNotTheStandardOnes) {
  EXPECT_NE(std::ranges::count_if(tuned::block_sizes, is_standard), std::ssize(tuned::block_sizes));
}

TEST(TunedBuild, EachRequestGetsTheSmallestTunedBlockThatHoldsIt) {
  for (std::size_t size = 1; size <= largest_class; size += size < 4096 ? 1 : 61) {
    void* const block = xmalloc(size);
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(xusable_size(block), smallest_tuned_size_for(size)) << "for " << size;
    xfree(block);
  }
}

// The typed face folds an object's class into the program: it has to be the class that the library's own code knows.
template <std::size_t Size>
void expect_typed_face_agrees() {
  using object = std::array<std::byte, Size>;
  ashlar::allocator<object> typed;
  std::vector<object*> blocks(200);
  for (object*& block : blocks) {
    block = typed.allocate(1);
    EXPECT_EQ(xusable_size(block), smallest_tuned_size_for(Size));
  }
  // Given back by turns through both faces: check::cheap compares the class with the size.
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    if (n % 2 == 0)
      typed.deallocate(blocks[n], 1);
    else
      xfree(blocks[n]);
  }
}

TEST(TunedBuild, TheInlinedFaceHasTheSameSizes) {
  expect_typed_face_agrees<1>();
  expect_typed_face_agrees<24>();
  expect_typed_face_agrees<124>();
  expect_typed_face_agrees<224>();
  expect_typed_face_agrees<324>();
  expect_typed_face_agrees<650>();
  expect_typed_face_agrees<20'000>();
}

TEST(TunedBuild, StatisticsNameTheTunedClasses) {
  ashlar_stats stats{};
  ashlar_stats_get(&stats);
  std::vector<std::uint64_t> named;
  for (std::uint32_t n = 0; n < stats.class_count; ++n)
    named.push_back(stats.classes[n].block_size);
  EXPECT_TRUE(std::ranges::equal(named, tuned::block_sizes));
}

}  // namespace
