// tools/cli/text.hpp: figures as people read them. Layer: cli.
#pragma once

#include <cstddef>
#include <cstdint>
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
// Seconds with the digits that a stopwatch deserves: "0.0123", "1.234", "123.4".
std::string format_seconds(double seconds);
// MiB with one digit after the point, without the unit: for a column that names it.
std::string format_mebibytes(double bytes);

// A command line that a shell would read back as the same words.
std::string shell_quoted(const std::vector<std::string>& words);

// Columns on a terminal: code points (the tool itself prints no wide or combining ones).
std::size_t display_width(std::string_view text);

// A horizontal bar for 0 <= share <= 1 that is at most `columns` wide; a share above 0 is never
// empty.
std::string format_bar(double share, std::size_t columns, glyphs set);
// Of a share beside it in a table.
inline constexpr std::size_t bar_columns = 20;

// One of the lines above a report's tables: "  events         12,345".
std::string labelled_line(std::string_view label, std::string_view value);

// "–" or "-".
std::string_view dash(glyphs set);

}  // namespace ashlar::cli
