#include "tools/cli/process_files.hpp"

#include <gtest/gtest.h>

namespace ashlar::cli {
namespace {

TEST(ProcessFiles, TheProgramsHasTheNameItself) {
  EXPECT_EQ(path_for_process("run.atrace", 7, 7), "run.atrace");
  EXPECT_EQ(path_for_process("run.atrace", 8, 7), "run.8.atrace");
  EXPECT_EQ(path_for_process("a/b.c/run.x.aprof", 8, 7), "a/b.c/run.x.8.aprof");
  EXPECT_EQ(path_for_process("a.b/run", 8, 7), "a.b/run.8");
}

}  // namespace
}  // namespace ashlar::cli
