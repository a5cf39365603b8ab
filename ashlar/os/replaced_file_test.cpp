// Files that are replaced whole, things that are no files, and paths with a place for a number.
// Needs POSIX.
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include <ashlar/os/path_pattern.hpp>
#include <ashlar/os/replaced_file.hpp>

namespace {

using ashlar::os::replace_file;

class ReplacedFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  }
  std::string folder = testing::TempDir() + "/replaced_file_test." + std::to_string(::getpid());
};

TEST_F(ReplacedFile, HasTheNewBytesAndNoOthers) {
  const std::string path = folder + "/a";
  const std::string long_text(100'000, 'x');
  const auto replace = [&](const std::string& text) {
    errno = 7;  // each time: what reads files sets it, too
    EXPECT_EQ(replace_file(path.c_str(), text.data(), text.size()), 0);
    EXPECT_EQ(errno, 7);
    EXPECT_EQ(content(path), text);
  };
  replace(long_text);
  replace("short");
  replace("");
  EXPECT_EQ(replace_file(path.c_str(), nullptr, 0), 0);
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplacedFile, StaysAsItWasAfterAnError) {
  EXPECT_EQ(replace_file((folder + "/none/a").c_str(), "x", 1), ENOENT);
  EXPECT_EQ(replace_file(folder.c_str(), "x", 1), EISDIR);
  EXPECT_EQ(replace_file(std::string(2000, 'x').c_str(), "x", 1), ENAMETOOLONG);
  EXPECT_EQ(files(), 0u);
  for (const int error : {EACCES, ENOENT, ENOTDIR, EISDIR, EROFS, ENOSPC, ENAMETOOLONG, EIO})
    EXPECT_NE(std::strlen(ashlar::os::describe_error(error)), 0u);
}

TEST_F(ReplacedFile, ADeviceIsWrittenToAndNotReplaced) {
  const std::string link = folder + "/null";
  std::filesystem::create_symlink("/dev/null", link);
  EXPECT_EQ(replace_file(link.c_str(), "x", 1), 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST(PathPattern, HasPlacesForTwoNumbers) {
  using ashlar::os::expand_path;
  std::array<char, 64> path{};
  EXPECT_TRUE(expand_path("a.%p.%n%.%", path.data(), path.size(), 12));
  EXPECT_EQ(std::string(path.data()), "a." + std::to_string(::getpid()) + ".12%.%");
  EXPECT_TRUE(expand_path("", path.data(), 1));
  EXPECT_FALSE(expand_path("abc", path.data(), 3)) << "no room for the end";
  EXPECT_TRUE(expand_path("abc", path.data(), 4));
  EXPECT_TRUE(ashlar::os::has_place("x%p", 'p'));
  EXPECT_FALSE(ashlar::os::has_place("x%np", 'p'));
}

}  // namespace
