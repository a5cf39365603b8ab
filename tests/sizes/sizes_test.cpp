// Small domains are tested exhaustively: every size to 64 KiB that can differ from its neighbours, on the C face.
// What is refused, and alignments to 4 MiB, are in adapt/c_api_test.cpp; alignment_test.cpp has every entry point.
#include <tests/support/pattern.hpp>
#include <tests/support/test_headers.hpp>

#include <ashlar/ashlar.h>

namespace {

constexpr std::size_t last_size = 64 * 1024;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

/// The size after `size`. A class's blocks are multiples of 16 bytes, so what differs beyond the small sizes are the two
/// sides of such a multiple; `make test-all` goes through all that lies between, and sanitizers see a sample.
std::size_t next_size(std::size_t size) {
  constexpr std::size_t granule = 16;
  if (size < 1100 || (support::tests_all && !support::sanitized) || size % granule == 0)
    return size + 1;
  return (size / granule + support::step(std::size_t{7})) * granule;
}

TEST(Sizes, EverySizeGivesAnAlignedBlockWithLittleSlack) {
  std::size_t previous = 0;
  for (std::size_t size = 0; size <= last_size; size = next_size(size)) {
    void* block = xmalloc(size);
    ASSERT_NE(block, nullptr) << size;
    ASSERT_EQ(number(block) % 16, 0u) << size;
    const std::size_t usable = xusable_size(block);
    ASSERT_GE(usable, size);
    const std::size_t slack_allowed = size > 128 ? size / 8 : 32;
    ASSERT_LE(usable - size, slack_allowed) << "slack of a block of " << size;
    ASSERT_GE(usable, previous) << size;
    previous = usable;
    support::fill_pattern(block, size, usable);
    void* second = xmalloc(size);
    ASSERT_NE(second, nullptr) << size;
    ASSERT_TRUE(number(second) >= number(block) + usable ||
                number(second) + xusable_size(second) <= number(block))
        << size;
    ASSERT_NE(second, block) << size;
    support::fill_pattern(second, ~size, xusable_size(second));
    ASSERT_EQ(support::find_damage(block, size, usable), usable) << size;
    xfree(block);
    xfree(second);
  }
}

TEST(Sizes, EverySizeIsZeroFromCallocAlsoOverDirtyBlocks) {
  for (std::size_t size = 1; size <= last_size; size = next_size(size)) {
    void* dirty[3];
    for (void*& block : dirty) {
      block = xmalloc(size);
      ASSERT_NE(block, nullptr);
      std::memset(block, 0xa5, size);
    }
    for (void* block : dirty) xfree(block);
    void* clean[3];
    for (void*& block : clean) {
      block = xcalloc(1, size);
      ASSERT_NE(block, nullptr);
      ASSERT_EQ(support::find_nonzero(block, size), size) << size;
      std::memset(block, 0x5a, size);
    }
    for (void* block : clean) xfree(block);
  }
}

TEST(Sizes, ReallocKeepsBytesOfEverySizeWhenGrowingAndShrinking) {
  for (std::size_t size = 1; size <= last_size; size = next_size(size)) {
    void* block = xmalloc(size);
    ASSERT_NE(block, nullptr);
    support::fill_pattern(block, size, size);
    const std::size_t more = size + size / 3 + 1;
    block = xrealloc(block, more);
    ASSERT_NE(block, nullptr);
    ASSERT_GE(xusable_size(block), more);
    ASSERT_EQ(support::find_damage(block, size, size), size) << "growing";
    support::fill_pattern(block, size, more, size);
    block = xrealloc(block, more);
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(support::find_damage(block, size, more), more) << "same size";
    const std::size_t less = (size + 1) / 2;
    block = xrealloc(block, less);
    ASSERT_NE(block, nullptr);
    ASSERT_GE(xusable_size(block), less);
    ASSERT_EQ(number(block) % 16, 0u);
    ASSERT_EQ(support::find_damage(block, size, less), less) << "shrinking";
    xfree(block);
  }
}

TEST(Sizes, ReallocKeepsBytesAcrossTheOrdersOfMagnitude) {
  std::vector<std::size_t> sizes;
  for (std::size_t power = 1; power <= 8 * mebibyte; power *= 4) {
    for (const std::size_t size : {power - 1, power, power + 1}) {
      if (size != 0) sizes.push_back(size);
    }
  }
  for (const std::size_t from : sizes) {
    for (const std::size_t to : sizes) {
      void* block = xmalloc(from);
      ASSERT_NE(block, nullptr);
      support::fill_pattern(block, from, from);
      block = xrealloc(block, to);
      ASSERT_NE(block, nullptr);
      const std::size_t kept = from < to ? from : to;
      ASSERT_EQ(support::find_damage(block, from, kept), kept) << from << " -> " << to;
      // The part that is new must be there, up to its last byte.
      support::fill_pattern(block, to, xusable_size(block));
      xfree(block);
    }
  }
}

}  // namespace
