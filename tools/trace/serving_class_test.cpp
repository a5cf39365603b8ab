// tools/trace/serving_class_test.cpp: the rule against its own words, and against a pool set.
#include "tools/trace/serving_class.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/pool/pool_set.hpp>

namespace ashlar::trace {
namespace {

struct shape {
  std::uint64_t block_size;
  std::uint64_t alignment;
};

// The rule as it is said: the first class that is large and aligned enough.
std::size_t first_that_fits(std::span<const shape> classes, std::uint64_t size,
                            std::uint64_t alignment) {
  std::size_t c = 0;
  while (c < classes.size() && (classes[c].block_size < size || classes[c].alignment < alignment))
    ++c;
  return c;
}

// All sets of up to three classes of sizes 1 to 4 and alignments 1 to 4, and all requests.
TEST(ServingClass, IsTheFirstThatFitsInEverySmallSet) {
  const std::vector<std::uint64_t> sizes{1, 2, 3, 4};
  const std::vector<std::uint64_t> alignments{1, 2, 4};
  std::vector<std::vector<shape>> sets{{}};
  for (std::size_t begin = 0, length = 1; length <= 3; ++length) {
    const std::size_t end = sets.size();
    for (; begin < end; ++begin) {
      for (const std::uint64_t size : sizes) {
        for (const std::uint64_t alignment : alignments) {
          std::vector<shape> set = sets[begin];
          if (!set.empty() && (size < set.back().block_size ||
                               (size == set.back().block_size && alignment < set.back().alignment)))
            continue;
          set.push_back({size, alignment});
          sets.push_back(set);
        }
      }
    }
  }
  ASSERT_GT(sets.size(), 400u);
  for (const std::vector<shape>& set : sets) {
    for (std::uint64_t size = 0; size <= 5; ++size)
      for (const std::uint64_t alignment : {0u, 1u, 2u, 4u, 8u})
        ASSERT_EQ(serving_class(std::span<const shape>(set), size, alignment),
                  first_that_fits(set, size, alignment));
  }
}

TEST(ServingClass, IsThatOfAPoolSet) {
  using set = static_pool_set<blocks<16, 1, 8>, blocks<24, 1, 8>, blocks<64, 1, 64>>;
  constexpr std::array<shape, 3> classes{{{16, 8}, {24, 8}, {64, 64}}};
  for (std::size_t size = 1; size <= 65; ++size)
    for (std::size_t alignment = 1; alignment <= 128; alignment *= 2)
      ASSERT_EQ(serving_class(std::span<const shape>(classes), size, alignment),
                set::class_of(size, alignment))
          << size << " at " << alignment;
}

}  // namespace
}  // namespace ashlar::trace
