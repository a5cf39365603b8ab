// tools/cli/text.hpp: figures as people read them. Layer: cli.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::cli {

// What the reader's terminal can show.
enum class glyphs { ascii, utf8 };

// Effects: looks at the locale that setlocale() has set and at TERM. Returns utf8 where both allow
// it.
glyphs reader_glyphs();

// "0 B", "976 B", "1.5 KiB", "189.3 MiB".
std::string format_bytes(std::uint64_t bytes);
// "12,345,678".
std::string format_count(std::uint64_t count);
// "1 block", "12,345 blocks".
std::string counted(std::uint64_t count, std::string_view word, std::string_view ending = "s");
// Returns: the bytes that "4096", "64KiB", "64 kb" or "64k" are (powers of 1024, up to E); nothing for any other text.
std::optional<std::uint64_t> parse_bytes(std::string_view text);
// Seconds with the digits that a stopwatch deserves: "0.0123", "1.234", "123.4".
std::string format_seconds(double seconds);
// MiB with one digit after the point, without the unit: for a column that names it.
std::string format_mebibytes(double bytes);

// What a file says, for a terminal: control characters, which a terminal would obey, as "\x1b".
std::string printable(std::string_view text);

// A command line that a shell would read back as the same words; where one has control characters, bash.
std::string shell_quoted(const std::vector<std::string>& words);

// Returns: the words that a trace's header has, each ended by a zero byte, without empty ones at the
// end: a program that writes a title over its arguments leaves many.
std::vector<std::string> words_of_arguments(std::string_view arguments);

// Columns on a terminal: code points (the tool itself prints no wide or combining ones).
std::size_t display_width(std::string_view text);

// Of a first screen: nobody has to widen a terminal for it.
inline constexpr std::size_t screen_columns = 100;
// Returns: the text, or as much of it as fits, with "..." behind.
std::string shortened(std::string_view text, std::size_t columns);
// Effects: adds the text in lines that end at words.
void add_paragraph(std::string& to, std::string_view text, std::size_t indent);

// A horizontal bar for 0 <= share <= 1 that is at most `columns` wide; a share above 0 is never
// empty.
std::string format_bar(double share, std::size_t columns, glyphs set);
// Of a share beside it in a table.
inline constexpr std::size_t bar_columns = 20;

// "  4.2 % " and its bar.
std::string format_share(double share, glyphs set);

// One of the lines above a report's tables: "  events         12,345".
std::string labelled_line(std::string_view label, std::string_view value);
// The same for a count and what it is of; nothing where that is 0.
std::string some_line(std::string_view label, std::uint64_t count, std::string_view of);

// Returns: "; did you mean 'record'?", where one of the words is like this one; else an empty text.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// Returns: the text bold and red, where `to` is a terminal that shows colours and NO_COLOR is not set.
std::string in_red(std::string_view text, std::FILE* to);

// "–" or "-".
std::string_view dash(glyphs set);

// How far a long work has come, on a terminal.

// One line of standard error that is written over, where that is a terminal; else nothing. The line goes
// when all is done, and with the object.
class progress_line {
 public:
  progress_line();
  ~progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  // `share` is from 0 to 1. Some ten times a second at most, however often this is called, and first
  // after a third of a second.
  void tell(std::string_view what, double share);

 private:
  void clear();

  bool shown_;
  bool written_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace ashlar::cli
