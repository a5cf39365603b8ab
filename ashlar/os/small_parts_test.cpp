// The tests of the small sources of ashlar/os: a part for each, with its name.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <tests/support/emulated.hpp>
#include <tests/support/resident.hpp>
#include <tests/support/test_folder.hpp>

#include <gtest/gtest.h>

#include <ashlar/os/last_words.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/os/small_file.hpp>

namespace {

using namespace ashlar;
using LastWords = support::TestFolder;
using source = ashlar::os::page_source;
using ashlar::os::file_text;
using ashlar::os::read_small_file;

// ---- last_words ---------------------------------------------------------------------------------

TEST_F(LastWords, AFileIsAppendedToAndAnErrorIsReturned) {
  errno = EDOM;
  EXPECT_EQ(os::append_to_file(path("log").c_str(), "one\n", 4), 0);
  EXPECT_EQ(os::append_to_file(path("log").c_str(), "two\n", 4), 0);
  EXPECT_EQ(support::read_file(path("log")), "one\ntwo\n");
  EXPECT_EQ(os::append_to_file(path("no/log").c_str(), "x", 1), ENOENT);
  EXPECT_EQ(os::append_to_file("/dev/full", "x", 1), ENOSPC);
  EXPECT_EQ(errno, EDOM);
}

// ---- page_source --------------------------------------------------------------------------------

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

// ---- small_file ---------------------------------------------------------------------------------
// Files that are there, are not, are folders, are too long, or never end.

class SmallFile : public testing::Test {
 protected:
  std::string written(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::array<char, 64> buffer_{};

 private:
  std::string path_ = testing::TempDir() + "/small_file_test." +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SmallFile, IsReadWholeUpToTheCapacity) {
  for (const std::size_t size : {0u, 1u, 63u, 64u}) {
    const std::string text(size, 'x');
    errno = 7;
    const file_text got = read_small_file(written(text).c_str(), buffer_.data(), buffer_.size());
    EXPECT_EQ(got.why, nullptr);
    EXPECT_EQ(std::string(buffer_.data(), got.size), text);
    EXPECT_EQ(errno, 7);
  }
}

TEST_F(SmallFile, OneByteMoreIsTooLong) {
  const file_text got =
      read_small_file(written(std::string(65, 'x')).c_str(), buffer_.data(), buffer_.size());
  EXPECT_STREQ(got.why, "is too long");
  EXPECT_STREQ(read_small_file("/dev/zero", buffer_.data(), buffer_.size()).why, "is too long");
}

TEST_F(SmallFile, WhatCannotBeReadIsSaid) {
  errno = 7;
  EXPECT_STREQ(read_small_file("/nowhere/file", buffer_.data(), buffer_.size()).why,
               "is not there");
  EXPECT_STREQ(read_small_file("/", buffer_.data(), buffer_.size()).why, "is a folder");
  EXPECT_EQ(errno, 7);
}

}  // namespace
