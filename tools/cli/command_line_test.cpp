#include "tools/cli/command_line.hpp"

#include <gtest/gtest.h>

#include "tools/cli/error.hpp"

namespace ashlar::cli {
namespace {

using words = std::vector<std::string>;

TEST(CommandLine, TheFirstSeparatorDivides) {
  const split_words split =
      split_at_separator({"run", "--stats", "--", "git", "log", "--", "file"});
  EXPECT_EQ(split.own, (words{"run", "--stats"}));
  EXPECT_EQ(split.behind, (words{"git", "log", "--", "file"}));
  EXPECT_EQ(program_words("run", {}, split), (words{"git", "log", "--", "file"}));
}

TEST(CommandLine, ASeparatorBehindTheProgramIsTheProgramsOwn) {
  const split_words split = split_at_separator({"run", "git", "log", "--", "file"});
  EXPECT_EQ(program_words("run", {"git", "log"}, split), (words{"git", "log", "--", "file"}));
  const split_words none = split_at_separator({"run", "ls"});
  EXPECT_EQ(program_words("run", {"ls"}, none), (words{"ls"}));
}

TEST(CommandLine, WhatCannotBeAProgramIsRefused) {
  EXPECT_THROW(program_words("run", {}, split_at_separator({"run"})), command_error);
  EXPECT_THROW(program_words("run", {}, split_at_separator({"run", "--"})), command_error);
  EXPECT_THROW(program_words("run", {"--jsn", "x"}, split_at_separator({"run", "--jsn", "x"})),
               command_error);
}

}  // namespace
}  // namespace ashlar::cli
