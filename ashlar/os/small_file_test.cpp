// Files that are there, are not, are folders, are too long, or never end.
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/os/small_file.hpp>

namespace {

using ashlar::os::file_text;
using ashlar::os::read_small_file;

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
