// tools/cli/process_table.cpp. Layer: cli.
#include "tools/cli/process_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tools/cli/table.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* other_screen = "\033[?1049h\033[?25l";  // and no cursor
constexpr const char* own_screen = "\033[?25h\033[?1049l";

void put(std::string_view text) { static_cast<void>(files::write_all(STDOUT_FILENO, text)); }

}  // namespace

screen::screen() : signals_(::signalfd(-1, &watch_.watched(), SFD_CLOEXEC | SFD_NONBLOCK)) {
  std::fflush(stdout);
  ::tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  put(other_screen);
}

screen::~screen() {
  put(own_screen);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

bool screen::is_possible() {
  const char* const name = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && name != nullptr &&
         *name != '\0' && std::string_view(name) != "dumb";
}

screen::size screen::now() {
  constexpr size usual{80, 24};
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0)
    return usual;
  return {window.ws_col, window.ws_row};
}

void screen::show(const std::string& text) {
  std::string whole = "\033[H";
  for (const char c : text) {
    if (c == '\n') whole += "\033[K";
    whole += c;
  }
  put(whole + "\033[J");
}

bool screen::rest(std::chrono::milliseconds time) const {
  const auto until = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          until - std::chrono::steady_clock::now())
                          .count();
    if (left <= 0) return true;
    std::array<pollfd, 2> watched{pollfd{STDIN_FILENO, POLLIN, 0},
                                  pollfd{signals_.descriptor(), POLLIN, 0}};
    if (::poll(watched.data(), watched.size(), static_cast<int>(left)) <= 0) continue;
    if (watched[0].revents != 0) {
      char key = 'q';  // the terminal is gone
      if (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q') return false;
    }
    if (watched[1].revents != 0 && watch_.fetch_pending() != 0) return false;
  }
}

namespace {

// Bytes of all blocks that have left the heap for a cache or a caller. Large ones have no common
// size.
double allocated_bytes(const pool_statistics& s) {
  double bytes = 0;
  for (const class_figures& c : s.classes)
    bytes += static_cast<double>(c.allocations) * static_cast<double>(c.block_size);
  return bytes;
}

double figure(std::uint64_t value) { return static_cast<double>(value); }

std::string signed_bytes(double bytes) {
  const auto size = static_cast<std::uint64_t>(std::llround(std::fabs(bytes)));
  return size == 0 ? "0" : fmt::format("{}{}", bytes < 0 ? "-" : "+", format_bytes(size));
}

std::string at_least(const process_row& row, const std::string& figure_text, glyphs set) {
  if (row.exact || figure_text.starts_with("0")) return figure_text;
  return (set == glyphs::utf8 ? "≥" : ">") + figure_text;
}

}  // namespace

process_row row_between(const pool_statistics& before, const pool_statistics& now, double seconds) {
  process_row row;
  row.pid = now.pid;
  row.program = now.command;
  row.exact = now.exact;
  row.live_bytes = now.total.bytes_in_use;
  row.resident_bytes = now.total.resident_bytes;
  row.peak_bytes = now.total.peak_bytes_in_use;
  // Another program may have taken the process's place meanwhile: then nothing is known of before.
  if (seconds <= 0 || now.total.allocations < before.total.allocations) return row;
  row.growth_per_minute =
      (figure(now.total.bytes_in_use) - figure(before.total.bytes_in_use)) * 60 / seconds;
  row.allocated_per_second =
      std::max(0.0, allocated_bytes(now) - allocated_bytes(before)) / seconds;
  row.calls_per_second = figure(now.total.allocations - before.total.allocations) / seconds;
  return row;
}

void sort_rows(std::vector<process_row>& rows, std::string_view column) {
  using key = double (*)(const process_row&);
  static constexpr std::pair<std::string_view, key> keys[]{
      {"live", [](const process_row& row) { return figure(row.live_bytes); }},
      {"resident", [](const process_row& row) { return figure(row.resident_bytes); }},
      {"growth", [](const process_row& row) { return row.growth_per_minute; }},
      {"rate", [](const process_row& row) { return row.allocated_per_second; }},
      {"peak", [](const process_row& row) { return figure(row.peak_bytes); }}};
  const key of = std::ranges::find(keys, column, &std::pair<std::string_view, key>::first)->second;
  std::ranges::sort(rows, [of](const process_row& a, const process_row& b) {
    return std::pair(-of(a), a.pid) < std::pair(-of(b), b.pid);
  });
}

std::string render_rows(const std::vector<process_row>& rows, std::size_t silent,
                        std::size_t columns, std::size_t lines, glyphs set) {
  constexpr std::size_t program_columns = 12;
  table all({{"pid"},
             {"program", align::left},
             {"live"},
             {"resident"},
             {"peak"},
             {"growth/min"},
             {"alloc/s"},
             {"calls/s"}});
  for (const process_row& row : rows) {
    const auto rate = static_cast<std::uint64_t>(std::llround(row.allocated_per_second));
    const auto calls = static_cast<std::uint64_t>(std::llround(row.calls_per_second));
    all.add_row({fmt::format("{}", row.pid), printable(row.program).substr(0, program_columns),
                 format_bytes(row.live_bytes), format_bytes(row.resident_bytes),
                 format_bytes(row.peak_bytes), signed_bytes(row.growth_per_minute),
                 at_least(row, format_bytes(rate), set), at_least(row, format_count(calls), set)});
  }
  std::string text = all.render();
  if (rows.empty())
    text = "no process of yours has a control socket: start one with ASHLAR_CONTROL=1\n";
  if (silent != 0) text += counted(silent, "process", "es") + " gave no answer\n";
  std::istringstream all_lines(text);
  std::string shown;
  std::size_t count = 0;
  for (std::string line; count < lines && std::getline(all_lines, line); ++count) {
    // A line is cut at a whole character.
    while (display_width(line) > columns) {
      line.pop_back();
      while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80 &&
             display_width(line) > columns)
        line.pop_back();
    }
    shown += line + "\n";
  }
  return shown;
}

nlohmann::json rows_json(const std::vector<process_row>& rows, std::size_t silent) {
  nlohmann::json processes = nlohmann::json::array();
  for (const process_row& row : rows)
    processes.push_back({{"pid", row.pid},
                         {"program", row.program},
                         {"accuracy", row.exact ? "exact" : "batch"},
                         {"live_bytes", row.live_bytes},
                         {"resident_bytes", row.resident_bytes},
                         {"peak_bytes", row.peak_bytes},
                         {"growth_bytes_per_minute", std::llround(row.growth_per_minute)},
                         {"allocated_bytes_per_second", std::llround(row.allocated_per_second)},
                         {"allocations_per_second", std::llround(row.calls_per_second)}});
  return {{"ashlar", ASHLAR_CLI_VERSION},
          {"schema", 1},
          {"report", "ctl"},
          {"processes", processes},
          {"without_answer", silent}};
}

}  // namespace ashlar::cli
