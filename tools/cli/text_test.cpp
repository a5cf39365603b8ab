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

TEST(Text, ACountIsDigitsAlone) {
  EXPECT_EQ(parse_count("0"), 0u);
  EXPECT_EQ(parse_count("1234567"), 1234567u);
  EXPECT_EQ(parse_count("18446744073709551615"), UINT64_MAX);
  for (const char* const text :
       {"", "auto", "7x", " 7", "-7", "+7", "1,234", "0x7", "7.0", "18446744073709551616"})
    EXPECT_FALSE(parse_count(text).has_value()) << text;
}

TEST(Text, BytesWithTheirUnitAreRead) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"64KiB", "64 KiB", "64kib", "64KB", "64k", "65536B", "65536 b"})
    EXPECT_EQ(parse_bytes(text), 65536u) << text;
  EXPECT_EQ(parse_bytes("3MiB"), std::uint64_t{3} << 20);
  EXPECT_EQ(parse_bytes("3G"), std::uint64_t{3} << 30);
  EXPECT_EQ(parse_bytes("3tb"), std::uint64_t{3} << 40);
  EXPECT_EQ(parse_bytes("3P"), std::uint64_t{3} << 50);
  EXPECT_EQ(parse_bytes("15EiB"), std::uint64_t{15} << 60);
  for (const char* text :
       {"", " ", "B", "KiB", "-1", "+1", " 1", "1.5MiB", "1e3", "2 miles", "1Ki B", "1i", "1ib",
        "1KK", "1BB", "16EiB", "18446744073709551616", "18014398509481984KiB"})
    EXPECT_FALSE(parse_bytes(text).has_value()) << text;
}

TEST(Text, QuotedWordsAreWhatAShellReadsBack) {
  EXPECT_EQ(shell_quoted({"ls", "-l", "/tmp/a.b"}), "ls -l /tmp/a.b");
  EXPECT_EQ(shell_quoted({"sh", "-c", "echo 'a b' $x"}), "sh -c 'echo '\\''a b'\\'' $x'");
  EXPECT_EQ(shell_quoted({"", "*"}), "'' '*'");
  EXPECT_EQ(shell_quoted({"a\x1b[2Jb'\\\n"}), "$'a\\x1b[2Jb\\'\\\\\\x0a'");
}

TEST(Text, EmptyWordsAtTheEndAreNoArguments) {
  using std::string_view_literals::operator""sv;
  const std::vector<std::string> words{"server: 3 clients", "", "-v"};
  EXPECT_EQ(words_of_arguments("server: 3 clients\0\0-v\0\0\0\0"sv), words);
  EXPECT_EQ(words_of_arguments("\0\0"sv), std::vector<std::string>{});
}

TEST(Text, ControlCharactersAreShownNotSent) {
  EXPECT_EQ(printable("plain text, \\ and größer"), "plain text, \\ and größer");
  EXPECT_EQ(printable("\x1b]0;title\a\r\n\x7f"), "\\x1b]0;title\\x07\\x0d\\x0a\\x7f");
  EXPECT_EQ(printable("\u009b2J\u00a0\xc2"), "\\xc2\\x9b2J\u00a0\xc2");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
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

TEST(Text, ALineIsShortenedAtAWord) {
  EXPECT_EQ(shortened("four words are here", 19), "four words are here");
  EXPECT_EQ(shortened("four words are here", 18), "four words are...");
  EXPECT_EQ(shortened("oneWordWithoutAnEnd", 10), "oneWord...");
  EXPECT_EQ(shortened("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 6),
            "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4");
  EXPECT_EQ(shortened("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 5), "\u00e4\u00e4...");
}

}  // namespace
}  // namespace ashlar::cli
