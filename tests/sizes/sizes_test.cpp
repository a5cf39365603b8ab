// Small domains are tested exhaustively: every size to 64 KiB that can differ from its neighbours, every alignment to 4 MiB,
// on the C face. What is refused is in adapt/c_api_test.cpp.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <tests/support/extent.hpp>
#include <tests/support/pattern.hpp>
#include <tests/support/resident.hpp>
#include <tests/support/sanitizers.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/ashlar.h>

namespace {

constexpr std::size_t last_size = 64 * 1024;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// The size after `size`. A class's blocks are multiples of 16 bytes, so what differs beyond the small sizes are the two
/// sides of such a multiple; `make test-all` goes through all that lies between, and sanitizers see a sample.
std::size_t next_size(std::size_t size) {
  constexpr std::size_t granule = 16;
  if (size < 1100 || (support::tests_all && !support::sanitized) || size % granule == 0)
    return size + 1;
  return (size / granule + support::step(std::size_t{7})) * granule;
}

/// Hides a value from the compiler, which would warn about what these tests do on purpose.
template <class T>
T opaque(T value) {
  volatile T hidden = value;
  return hidden;
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

TEST(Sizes, FreshMemoryIsNotClearedAgain) {
  const std::size_t before = support::resident_bytes();
  if (before == 0) GTEST_SKIP() << "the system does not tell the resident size";
  auto* block = static_cast<unsigned char*>(xcalloc(1, 1024 * mebibyte));
  ASSERT_NE(block, nullptr);
  block[0] = block[512 * mebibyte] = block[1024 * mebibyte - 1] = 1;
  EXPECT_LT(support::resident_bytes(), before + 64 * mebibyte);
  xfree(block);
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

TEST(Sizes, ALargeBlockGrowsStepByStep) {
  std::size_t size = 20'000;
  void* block = xmalloc(size);
  ASSERT_NE(block, nullptr);
  support::fill_pattern(block, 1, size);
  while (size < 48 * mebibyte) {
    const std::size_t more = size + size / 4 + 4096;
    block = xrealloc(block, more);
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(support::find_damage(block, 1, size), size);
    support::fill_pattern(block, 1, more, size);
    void* neighbour = xmalloc(more / 2);  // sometimes in the way of growing in place
    ASSERT_NE(neighbour, nullptr);
    xfree(neighbour);
    size = more;
  }
  while (size > 1000) {
    size /= 3;
    block = xrealloc(block, size);
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(support::find_damage(block, 1, size), size);
  }
  xfree(block);
}

TEST(Sizes, EveryAlignmentHoldsForEverySize) {
  std::vector<std::size_t> sizes = {0};
  for (std::size_t power = 1; power <= 4 * mebibyte; power *= 2) {
    for (const std::size_t size : {power - 1, power, power + 1, power + power / 2}) {
      sizes.push_back(size);
    }
  }
  for (std::size_t alignment = 1; alignment <= 4 * mebibyte; alignment *= 2) {
    std::vector<void*> blocks;
    for (const std::size_t size : sizes) {
      void* block = xaligned_alloc(alignment, size);
      ASSERT_NE(block, nullptr) << alignment << ", " << size;
      ASSERT_EQ(number(block) % alignment, 0u) << alignment << ", " << size;
      ASSERT_EQ(number(block) % 16, 0u) << alignment << ", " << size;
      ASSERT_GE(xusable_size(block), size) << alignment << ", " << size;
      const std::size_t touched = size < 4096 ? size : 4096;
      support::fill_pattern(block, alignment + size, touched);
      if (size != 0) static_cast<unsigned char*>(block)[size - 1] ^= 0xff;
      blocks.push_back(block);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (sizes[i] != 0) static_cast<unsigned char*>(blocks[i])[sizes[i] - 1] ^= 0xff;
      const std::size_t touched = sizes[i] < 4096 ? sizes[i] : 4096;
      ASSERT_EQ(support::find_damage(blocks[i], alignment + sizes[i], touched), touched)
          << alignment << ", " << sizes[i];
      if (i % 2 == 0) {
        xfree(blocks[i]);
      } else {  // an aligned block may be reallocated like any other
        void* block = xrealloc(blocks[i], sizes[i] + 100);
        ASSERT_NE(block, nullptr);
        ASSERT_EQ(support::find_damage(block, alignment + sizes[i], touched), touched)
            << "realloc after " << alignment << ", " << sizes[i];
        xfree(block);
      }
    }
  }
}

TEST(Sizes, AReallocThatFailsLeavesTheBlockAlone) {
  for (const std::size_t size : {1u, 64u, 5000u, 40'000u, 1u << 20, 20u << 20}) {
    void* block = xmalloc(size);
    ASSERT_NE(block, nullptr);
    support::fill_pattern(block, size, size);
    for (const std::size_t huge :
         {SIZE_MAX, SIZE_MAX - 15, static_cast<std::size_t>(PTRDIFF_MAX)}) {
      errno = 0;
      ASSERT_EQ(xrealloc(block, opaque(huge)), nullptr) << size;
      EXPECT_EQ(errno, ENOMEM) << size;
    }
    ASSERT_GE(xusable_size(block), size);
    ASSERT_EQ(support::find_damage(block, size, size), size);
    xfree(block);
  }
}

TEST(Sizes, ReallocOfNullAllocatesAndToZeroFrees) {
  void* block = xrealloc(nullptr, 100);
  ASSERT_NE(block, nullptr);
  ASSERT_GE(xusable_size(block), 100u);
  EXPECT_EQ(xrealloc(block, 0), nullptr);
  const std::size_t before = support::resident_bytes();
  // If size 0 did not free, these would be 1.6 GB.
  for (int i = 0; i < 400'000; ++i) {
    auto* page = static_cast<unsigned char*>(xmalloc(4096));
    ASSERT_NE(page, nullptr);
    page[i % 4096] = 1;
    ASSERT_EQ(xrealloc(page, 0), nullptr);
  }
  EXPECT_LT(support::resident_bytes(), before + 128 * mebibyte);
}

TEST(Sizes, FreeKeepsErrno) {
  for (const std::size_t size : {8u, 500u, 30'000u, 100'000u, 3u << 20, 64u << 20}) {
    std::vector<void*> blocks;
    for (int i = 0; i < (size > 200'000 ? 3 : 300); ++i) {
      blocks.push_back(xmalloc(size));
      ASSERT_NE(blocks.back(), nullptr);
      static_cast<unsigned char*>(blocks.back())[size - 1] = 1;
    }
    for (void* block : blocks) {
      errno = 4711;
      xfree(block);
      ASSERT_EQ(errno, 4711) << size;
    }
  }
  errno = 4711;
  xfree(nullptr);
  EXPECT_EQ(errno, 4711);
  EXPECT_EQ(xusable_size(nullptr), 0u);
}

}  // namespace
