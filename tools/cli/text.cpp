// tools/cli/text.cpp. Layer: cli.
#include "tools/cli/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <langinfo.h>
#include <unistd.h>

#include "tools/files/text.hpp"

namespace ashlar::cli {

glyphs reader_glyphs() {
  const char* terminal = std::getenv("TERM");
  if (terminal != nullptr && std::strcmp(terminal, "dumb") == 0) return glyphs::ascii;
  return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? glyphs::utf8 : glyphs::ascii;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  static constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would be printed as 1024.0: the next unit's 1.0 says the same.
  while (value >= 1023.95 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string format_count(std::uint64_t count) {
  std::string digits = fmt::format("{}", count);
  for (std::size_t from_end = 3; from_end < digits.size(); from_end += 4) {
    digits.insert(digits.size() - from_end, 1, ',');
  }
  return digits;
}

std::string counted(std::uint64_t count, std::string_view word, std::string_view ending) {
  return fmt::format("{} {}{}", format_count(count), word, count == 1 ? "" : ending);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<std::uint64_t> count = files::number_in(text.substr(0, digits));
  std::string unit(text.substr(digits));
  unit.erase(0, unit.find_first_not_of(' '));
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.ends_with('b')) unit.pop_back();
  if (unit.size() == 2 && unit.ends_with('i')) unit.pop_back();
  const std::size_t prefix = std::string_view(" kmgtpe").find(unit.empty() ? ' ' : unit.front());
  if (!count || unit.size() > 1 || prefix == std::string_view::npos) return {};
  const std::size_t shift = 10 * prefix;
  if (*count > UINT64_MAX >> shift) return {};
  return *count << shift;
}

std::string format_seconds(double seconds) {
  if (seconds < 0.1) return fmt::format("{:.4f}", seconds);
  if (seconds < 10) return fmt::format("{:.3f}", seconds);
  if (seconds < 100) return fmt::format("{:.2f}", seconds);
  return fmt::format("{:.1f}", seconds);
}

std::string format_mebibytes(double bytes) { return fmt::format("{:.1f}", bytes / (1024 * 1024)); }

namespace {
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::strchr("_-./=:,+@%", c) != nullptr;
}

// How many bytes a control character has that begins here: of the C0 set, DEL, or of the C1 set in UTF-8; 0: none does.
std::size_t control_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  return text.size() > 1 && byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0 ? 2 : 0;
}

// Each control character's bytes as \x1b; before any that is in `also`, a backslash.
std::string escaped(std::string_view text, std::string_view also) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t bytes = control_bytes(text);
    for (std::size_t i = 0; i < bytes; ++i)
      safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    if (bytes == 0 && also.find(text.front()) != std::string_view::npos) safe += '\\';
    if (bytes == 0) safe += text.front();
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return safe;
}

std::string shell_quoted(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, [](char c) { return c != '\0' && is_plain(c); })) {
    return word;
  }
  if (printable(word) != word) return "$'" + escaped(word, "'\\") + "'";
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}
}  // namespace

std::string printable(std::string_view text) { return escaped(text, {}); }

std::string shell_quoted(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += shell_quoted(word);
  }
  return line;
}

std::vector<std::string> words_of_arguments(std::string_view arguments) {
  arguments = arguments.substr(0, arguments.find_last_not_of('\0') + 1);
  const std::vector<std::string_view> words = files::parts_of(arguments, '\0');
  return {words.begin(), words.end()};
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  while (display_width(text) + 3 > columns) text.remove_suffix(1);
  // At a word's end, if that leaves most of it.
  const std::size_t space = text.rfind(' ');
  if (space != std::string_view::npos && space > columns / 2) text = text.substr(0, space);
  return std::string(text) + "...";
}

void add_paragraph(std::string& to, std::string_view text, std::size_t indent) {
  const std::size_t width = screen_columns - indent;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (end > width) {
      end = text.rfind(' ', width);
      if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
    }
    to += fmt::format("{:{}}{}\n", "", indent, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string format_share(double share, glyphs set) {
  return fmt::format("{:5.1f} % {}", 100 * share, format_bar(share, bar_columns, set));
}

std::string labelled_line(std::string_view label, std::string_view value) {
  return fmt::format("  {:<14} {}\n", label, value);
}

std::string some_line(std::string_view label, std::uint64_t count, std::string_view of) {
  return count == 0 ? "" : labelled_line(label, fmt::format("{} {}", format_count(count), of));
}

std::string format_bar(double share, std::size_t columns, glyphs set) {
  if (!(share > 0)) return {};
  const double length = std::min(share, 1.0) * static_cast<double>(columns);
  if (set == glyphs::ascii) {
    return std::string(std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(length))),
                       '#');
  }
  static constexpr std::array<std::string_view, 8> eighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto parts = std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(length * 8)));
  std::string bar;
  for (std::size_t full = 0; full < parts / 8; ++full) bar += "█";
  return bar.append(eighths[parts % 8]);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  // Twice the changes of a letter; of as many, the word that begins with what was typed.
  std::size_t least = 2 * std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& each : known) {
    std::vector<std::size_t> row(each.size() + 1), above, second;
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < word.size(); ++i) {
      second = std::exchange(above, row);
      row[0] = i + 1;
      for (std::size_t j = 0; j < each.size(); ++j) {
        row[j + 1] =
            std::min({above[j] + (word[i] == each[j] ? 0 : 1), row[j] + 1, above[j + 1] + 1});
        if (i > 0 && j > 0 && word[i] == each[j - 1] && word[i - 1] == each[j])
          row[j + 1] = std::min(row[j + 1], second[j - 1] + 1);  // swapped
      }
    }
    const std::size_t distance = 2 * row.back() - (each.starts_with(word) && !word.empty() ? 1 : 0);
    if (distance < least) nearest = &each;
    least = std::min(least, distance);
  }
  return nearest == nullptr ? std::string{} : fmt::format("; did you mean '{}'?", *nearest);
}

std::string in_red(std::string_view text, std::FILE* to) {
  const auto value = [](const char* name) {
    const char* const found = std::getenv(name);
    return std::string_view(found == nullptr ? "" : found);
  };
  const bool shows = ::isatty(::fileno(to)) == 1 && value("NO_COLOR").empty() &&
                     !value("TERM").empty() && value("TERM") != "dumb";
  return shows ? fmt::format("\033[1;31m{}\033[0m", text) : std::string(text);
}

std::string_view dash(glyphs set) { return set == glyphs::utf8 ? "–" : "-"; }

progress_line::progress_line()
    : shown_(::isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + std::chrono::milliseconds(333)) {}

progress_line::~progress_line() { clear(); }

void progress_line::clear() {
  if (!written_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  written_ = false;
}

void progress_line::tell(std::string_view what, double share) {
  if (share >= 1) return clear();
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || now < next_) return;
  fmt::print(stderr, "\r\033[K{} {:.0f} %", what, share * 100);
  std::fflush(stderr);
  written_ = true;
  next_ = now + std::chrono::milliseconds(100);
}

}  // namespace ashlar::cli
