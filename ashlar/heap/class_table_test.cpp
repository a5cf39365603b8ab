// The domain is small, so it is tested whole, in both directions; for the standard classes and for
// others.
#include <tests/support/test_headers.hpp>

#include <ashlar/heap/class_table.hpp>
#include <ashlar/pages/slab.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;

std::vector<std::uint32_t> of_standard() { return {block_sizes.begin() + 1, block_sizes.end()}; }

/// Few classes; many small ones; what fits no slab well; one class for everything.
const std::vector<std::vector<std::uint32_t>>& all_sizes() {
  static const std::vector<std::vector<std::uint32_t>> all = [] {
    std::vector<std::uint32_t> small;
    for (std::uint32_t size = 16; small.size() < class_count - 2; size += 16) small.push_back(size);
    small.push_back(small_size_max);
    std::vector<std::uint32_t> awkward;
    for (std::uint32_t size = 10'000 / 16 * 16; size < 32'768; size += 784) awkward.push_back(size);
    for (const std::uint32_t size : {32'768u, 36'864u, 126'976u, 131'072u}) awkward.push_back(size);
    return std::vector{of_standard(),
                       {48, 1104, 4368, 32'768, 131'072},
                       small,
                       awkward,
                       {static_cast<std::uint32_t>(small_size_max)}};
  }();
  return all;
}

const char* wrong_with(const std::vector<std::uint32_t>& sizes, std::size_t& at) {
  return what_is_wrong_with(sizes, at);
}

TEST(ClassTable, EverySizeGetsTheSmallestBlockThatHoldsIt) {
  for (const auto& sizes : all_sizes()) {
    std::size_t at = 0;
    ASSERT_EQ(wrong_with(sizes, at), nullptr) << "size " << at;
    const class_table table = make_class_table(sizes);
    ASSERT_EQ(table.count, sizes.size() + 1);
    for (std::size_t size = 0; size <= small_size_max; ++size) {
      const class_index c = table.of_size(size);
      ASSERT_GT(c, 0u);
      ASSERT_LT(c, table.count);
      ASSERT_GE(table.block_size(c), size);
      if (c > 1) {
        ASSERT_LT(table.block_size(static_cast<class_index>(c - 1)), size);
      }
    }
    for (std::size_t c = 1; c < table.count; ++c) {
      const auto index = static_cast<class_index>(c);
      EXPECT_EQ(table.block_size(index), sizes[c - 1]);
      EXPECT_EQ(table.shapes[c].block_size, sizes[c - 1]);
      const std::size_t alignment = table.alignments[c];
      EXPECT_EQ(sizes[c - 1] % alignment, 0u);
      EXPECT_TRUE(alignment == page_size || sizes[c - 1] / alignment % 2 == 1);
      EXPECT_EQ(table.of_size(sizes[c - 1]), index);
    }
  }
}

TEST(ClassTable, StandardSlackIsBelowAnEighthAbove128Bytes) {
  for (std::size_t size = 129; size <= small_size_max; ++size)
    ASSERT_LT((standard_classes.block_size(standard_classes.of_size(size)) - size) * 8, size)
        << size;
}

TEST(ClassTable, AlignedClassesAreTheFirstMultiplesOfTheAlignment) {
  for (const auto& sizes : all_sizes()) {
    const class_table table = make_class_table(sizes);
    for (std::size_t alignment = 1; alignment <= small_size_max; alignment *= 2) {
      for (std::size_t size = 0; size <= small_size_max; size += 7 * support::step(5u)) {
        std::size_t first = 0;  // by looking at each
        for (const std::uint32_t block : sizes)
          if (first == 0 && block >= size && (alignment <= block_granule || block % alignment == 0))
            first = block;
        const class_index c = table.of_aligned_size(size, alignment);
        ASSERT_EQ(c == 0 ? 0 : table.block_size(c), first) << size << " at " << alignment;
      }
    }
    EXPECT_EQ(table.of_aligned_size(16, small_size_max * 2), 0u);
    EXPECT_EQ(table.of_aligned_size(200, 0), table.of_size(200));
  }
  EXPECT_EQ(class_table{}.of_aligned_size(200, 64), 0u);  // one that was not made yet has none
}

TEST(ClassTable, NoClassServesMoreThanTheLargestBlockAndAPagesAlignment) {
  EXPECT_TRUE(class_table::serves(0, 0));
  EXPECT_TRUE(class_table::serves(small_size_max, page_size));
  EXPECT_FALSE(class_table::serves(small_size_max + 1, 0));
  EXPECT_FALSE(class_table::serves(16, 2 * page_size));
}

// What every slab must be for the heap to work, whatever the sizes.
TEST(ClassTable, EveryPossibleBlockSizeHasASlab) {
  for (std::size_t size = block_granule; size <= small_size_max;
       size += size < shared_slab_block_max ? block_granule : page_size) {
    const slab_shape shape = slab_shape_of(size);
    ASSERT_EQ(shape.block_size, size);
    ASSERT_GE(shape.blocks, size > shared_slab_block_max ? 1u : 4u);
    ASSERT_EQ(shape.blocks, shape.bytes() / size);
    ASSERT_LE(shape.words, slab_words_max) << size;
    ASSERT_EQ(shape.words, divide_up(shape.blocks, std::size_t{64}));
    if (may_be_hollow(shape)) {
      ASSERT_LE(shape.pages, 32u) << size << ": a page_set holds no more";
    }
    // The last byte of each block and the first: in between the quotient cannot differ.
    for (std::uint32_t i = 0; i < shape.blocks; ++i) {
      ASSERT_EQ(shape.index_of(i * size), i) << size;
      ASSERT_EQ(shape.index_of(i * size + size - 1), i) << size;
    }
    ASSERT_LT(shape.bytes() % size * 16, shape.bytes()) << size << ": more than a 16th left over";
  }
}

TEST(ClassTable, WhatIsWrongIsNamed) {
  const auto expect = [](const std::vector<std::uint32_t>& sizes, std::size_t where,
                         std::string_view part) {
    std::size_t at = 0;
    const char* why = wrong_with(sizes, at);
    ASSERT_NE(why, nullptr);
    EXPECT_EQ(at, where);
    EXPECT_NE(std::string_view(why).find(part), std::string_view::npos) << why;
  };
  expect({}, 0, "the last block size");
  expect({16, 32}, 2, "131072");
  expect({0, 131'072}, 0, "multiple of 16");
  expect({16, 40, 131'072}, 1, "multiple of 16");
  expect({16, 16, 131'072}, 1, "not larger");
  expect({64, 32, 131'072}, 1, "not larger");
  expect({32'784, 131'072}, 0, "4096");
  expect({16, 131'072, 135'168}, 2, "larger than any class");
  std::vector<std::uint32_t> many;
  for (std::uint32_t size = 16; many.size() < class_count; size += 16) many.push_back(size);
  expect(many, class_count - 1, "one class too many");
  many.resize(class_count - 2);
  many.push_back(131'072);
  std::size_t at = 0;
  EXPECT_EQ(wrong_with(many, at), nullptr);
}

}  // namespace
