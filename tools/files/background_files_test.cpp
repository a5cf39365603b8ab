#include "tools/files/background_files.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tools/files/files.hpp"

namespace ashlar::files {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(BackgroundFiles, TheLastContentsStay) {
  const scratch_directory folder;
  const std::string a = folder.path() + "/a";
  const std::string b = folder.path() + "/b";
  background_files files;
  for (int i = 0; i <= 100; ++i) {
    files.replace(a, std::to_string(i));
    if (i % 10 == 0) files.replace(b, std::string(100'000, 'b'));
  }
  EXPECT_TRUE(files.finish().empty());
  EXPECT_EQ(contents(a), "100");
  EXPECT_EQ(contents(b), std::string(100'000, 'b'));
  const std::filesystem::directory_iterator all(folder.path());
  EXPECT_EQ(std::distance(begin(all), end(all)), 2);  // nothing temporary is left
}

TEST(BackgroundFiles, AreWrittenWhenNobodyAsks) {
  const scratch_directory folder;
  const std::string a = folder.path() + "/a";
  {
    background_files{}.replace(a, "whole");
  }
  EXPECT_EQ(contents(a), "whole");
}

TEST(BackgroundFiles, WhatCannotBeWrittenIsToldAndTheOthersAre) {
  const scratch_directory folder;
  const std::string a = folder.path() + "/a";
  const std::string absent = folder.path() + "/absent/b";
  background_files files;
  files.replace(absent, "1");
  files.replace(a, "2");
  files.replace(absent, "3");
  const auto failures = files.finish();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_NE(failures[0].find(absent), std::string::npos) << failures[0];
  EXPECT_EQ(contents(a), "2");
}

// A write that succeeds makes up for those before.
TEST(BackgroundFiles, AFailureIsForgottenOnceAWriteSucceeds) {
  const scratch_directory folder;
  const std::string inner = folder.path() + "/inner";
  background_files files;
  files.replace(inner + "/a", "1");
  // The writer takes them in the order of their names: when the second is there, the first one was
  // tried.
  files.replace(folder.path() + "/other", "");
  while (!std::filesystem::exists(folder.path() + "/other")) {
  }
  std::filesystem::create_directory(inner);
  files.replace(inner + "/a", "2");
  EXPECT_TRUE(files.finish().empty());
  EXPECT_EQ(contents(inner + "/a"), "2");
}

}  // namespace
}  // namespace ashlar::files
