#include <cerrno>
#include <tests/support/test_folder.hpp>

#include <gtest/gtest.h>

#include <ashlar/os/last_words.hpp>

namespace {

using namespace ashlar;
using LastWords = support::TestFolder;

TEST_F(LastWords, AFileIsAppendedToAndAnErrorIsReturned) {
  errno = EDOM;
  EXPECT_EQ(os::append_to_file(path("log").c_str(), "one\n", 4), 0);
  EXPECT_EQ(os::append_to_file(path("log").c_str(), "two\n", 4), 0);
  EXPECT_EQ(support::read_file(path("log")), "one\ntwo\n");
  EXPECT_EQ(os::append_to_file(path("no/log").c_str(), "x", 1), ENOENT);
  EXPECT_EQ(os::append_to_file("/dev/full", "x", 1), ENOSPC);
  EXPECT_EQ(errno, EDOM);
}

}  // namespace
