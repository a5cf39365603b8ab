#include "tools/trace/perf_map.hpp"

#include <tests/support/test_folder.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ashlar::trace {
namespace {

using PerfMap = support::TestFolder;

TEST_F(PerfMap, NamesTheFunctionWhoseCodeIsThere) {
  support::write_file(path("map"),
                      "7f10 b py::Rows.make.<locals>.<lambda>:/home/you/my rows.py\n"
                      "1000 10 LazyCompile:*keep /home/you/keep.js:3:1\n"
                      "1000 20 was made later\n");
  const perf_map map(path("map"));
  const source_place python{"Rows.make.<locals>.<lambda>", "/home/you/my rows.py", 0};
  EXPECT_EQ(map.at(0x7f10), python);
  EXPECT_EQ(map.at(0x7f1a), python);
  EXPECT_EQ(map.at(0x7f1b), source_place());
  EXPECT_EQ(map.at(0xfff), source_place());
  EXPECT_EQ(map.at(0x101f).function, "was made later");
  EXPECT_EQ(map.at(0x1020), source_place());
}

TEST_F(PerfMap, LinesThatAreNoneAreLeftOut) {
  support::write_file(path("map"),
                      "\n \nwords\n10\n10 4\n10 4 \n-10 4 minus\n10 x no number\n"
                      "11111111111111111 4 too long\nffffffffffffffff 2 wraps\n20 4 py::open");
  const perf_map map(path("map"));
  EXPECT_EQ(map.at(0x10), source_place());
  EXPECT_EQ(map.at(0xffffffffffffffff), source_place());
  EXPECT_EQ(map.at(0), source_place());
  EXPECT_EQ(map.at(0x20).function, "py::open");
}

TEST_F(PerfMap, NothingIsReadOfAFileThatAnotherUserWrote) {
  EXPECT_EQ(perf_map(path("none")).at(0x10), source_place());
  EXPECT_EQ(perf_map(path("")).at(0x10), source_place());
  support::write_file(path("map"), "10 4 mine\n");
  EXPECT_EQ(perf_map(path("map")).at(0x10).function, "mine");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(perf_map(path("pipe")).at(0x10), source_place());
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(path("map").c_str(), 1, 1), 0);
  EXPECT_EQ(perf_map(path("map")).at(0x10), source_place());
}

}  // namespace
}  // namespace ashlar::trace
