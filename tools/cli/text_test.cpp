#include "tools/cli/text.hpp"

#include <gtest/gtest.h>

namespace ashlar::cli {
namespace {

TEST(Text, BytesChangeTheirUnitWhereTheFigureWouldBeTooLong) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes((1u << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16.0 EiB");
}

TEST(Text, CountsAreGroupedByThree) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Text, QuotedWordsAreWhatAShellReadsBack) {
  EXPECT_EQ(shell_quoted({"ls", "-l", "/tmp/a.b"}), "ls -l /tmp/a.b");
  EXPECT_EQ(shell_quoted({"sh", "-c", "echo 'a b' $x"}), "sh -c 'echo '\\''a b'\\'' $x'");
  EXPECT_EQ(shell_quoted({"", "*"}), "'' '*'");
}

TEST(Text, ABarIsAsLongAsItsShareAndNeverEmptyForSomething) {
  for (const glyphs set : {glyphs::ascii, glyphs::utf8}) {
    EXPECT_EQ(format_bar(0, 20, set), "");
    EXPECT_EQ(display_width(format_bar(1, 20, set)), 20u);
    EXPECT_EQ(display_width(format_bar(7, 20, set)), 20u);
    EXPECT_EQ(display_width(format_bar(0.5, 20, set)), 10u);
    EXPECT_EQ(display_width(format_bar(1e-9, 20, set)), 1u);
  }
  for (const char c : format_bar(0.3, 20, glyphs::ascii)) EXPECT_EQ(c, '#');
}

}  // namespace
}  // namespace ashlar::cli
