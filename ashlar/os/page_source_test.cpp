#include <cerrno>
#include <cstdint>
#include <cstring>
#include <tests/support/emulated.hpp>
#include <tests/support/resident.hpp>

#include <gtest/gtest.h>

#include <ashlar/os/page_source.hpp>

namespace {

using source = ashlar::os::page_source;

TEST(OsPageSource, PiecesAreZeroAlignedAndWritable) {
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{4096}, std::size_t{1} << 16,
                                      std::size_t{1} << 21, std::size_t{1} << 25}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096},
                                    std::size_t{4097}, std::size_t{300'000}}) {
      auto* p = static_cast<unsigned char*>(source::allocate(bytes, alignment));
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignment, 0u);
      for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(p[i], 0u);
      std::memset(p, 1, bytes);
      source::deallocate(p, bytes, alignment);
    }
  }
  source::deallocate(nullptr, 1, 1);
}

TEST(OsPageSource, WhatCannotBeIsNullAndErrnoStays) {
  errno = 77;
  EXPECT_EQ(source::allocate(SIZE_MAX, 1), nullptr);
  EXPECT_EQ(source::allocate(SIZE_MAX - 8192, std::size_t{1} << 20), nullptr);
  EXPECT_EQ(source::allocate(SIZE_MAX / 8 * 7, 1), nullptr);
  EXPECT_EQ(errno, 77);
}

TEST(OsPageSource, GivesEverythingBack) {
  if (support::emulated) GTEST_SKIP() << "the emulator's mappings are counted, too";
  // What alignment cuts off must go back too: it would be some 32 GiB.
  const std::size_t before = support::address_space_bytes();
  for (int i = 0; i < 1000; ++i) {
    auto* p = static_cast<unsigned char*>(source::allocate(1 << 20, 1 << 25));
    ASSERT_NE(p, nullptr);
    std::memset(p, 1, 1 << 20);
    source::deallocate(p, 1 << 20, 1 << 25);
  }
  EXPECT_LT(support::address_space_bytes(), before + (64u << 20));
}

}  // namespace
