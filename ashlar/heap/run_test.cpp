// The geometry of slabs is a small domain, so it is tested whole.
#include <gtest/gtest.h>

#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/run.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;

TEST(SlabShape, IsTheLeastThatKeepsWasteBelowOneIn64) {
  const auto fits = [](std::size_t bytes, std::size_t size) {
    return bytes >= 4 * size && (bytes % size) * 64 <= bytes;
  };
  for (std::size_t c = 1; c < class_count; ++c) {
    const slab_shape& shape = standard_classes.shapes[c];
    const std::size_t size = block_sizes[c];
    const std::size_t bytes = std::size_t{shape.pages} * page_size;
    if (size > shared_slab_block_max && size % page_size == 0) {
      EXPECT_EQ(bytes, size);
      EXPECT_EQ(shape.blocks, 1u);
      continue;
    }
    EXPECT_GE(bytes, 64u * 1024) << size;
    EXPECT_EQ(shape.blocks, bytes / size) << size;
    EXPECT_GE(shape.blocks, 4u) << size;
    EXPECT_LE((bytes - shape.blocks * size) * 64, bytes) << size;
    for (std::size_t less = 64 * 1024; less < bytes; less += page_size)
      EXPECT_FALSE(fits(less, size)) << size << ": " << less << " bytes would do";
  }
}

TEST(SlabShape, HasABitForEachBlockAndNoWordToSpare) {
  for (std::size_t c = 1; c < class_count; ++c) {
    EXPECT_GE(standard_classes.shapes[c].words * 64, standard_classes.shapes[c].blocks);
    EXPECT_LT((standard_classes.shapes[c].words - 1) * 64, standard_classes.shapes[c].blocks);
    EXPECT_LE(standard_classes.shapes[c].words, slab_words_max);
  }
}

TEST(SlabShape, BlockIndexIsTheQuotientForEveryByteOfEverySlab) {
  for (std::size_t i = 1; i < class_count; ++i) {
    const auto c = static_cast<class_index>(i);
    const std::size_t size = block_sizes[c];
    const std::size_t bytes = standard_classes.shapes[c].bytes();
    ASSERT_EQ(standard_classes.shapes[c].block_size, size);
    ASSERT_EQ(bytes, std::size_t{standard_classes.shapes[c].pages} * page_size);
    std::size_t wrong = 0;
    // The quotient is counted, not divided: an independent way to the same number.
    for (std::size_t offset = 0, quotient = 0, rest = 0; offset < bytes; ++offset) {
      wrong += standard_classes.shapes[c].index_of(offset) != quotient ? 1u : 0u;
      if (++rest == size) {
        rest = 0;
        ++quotient;
      }
    }
    EXPECT_EQ(wrong, 0u) << "class of " << size << " bytes";
  }
}

}  // namespace
