// tools/cli/process_table.hpp: the heaps of several processes beside each other, at two moments.
// Layer: cli.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include <sys/types.h>
#include <termios.h>

#include "tools/cli/pool_report.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/files.hpp"
#include "tools/measure/child_process.hpp"

namespace ashlar::cli {

// A terminal that a text fills, and the keys that come from it.

// While it lives, keys come at once and are not shown, and the text stands on a screen of its own.
// Requires: is_possible(). The terminal is as before when it ends.
class screen {
 public:
  screen();
  ~screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  // Whether standard input and output are a terminal that knows how to move its cursor.
  static bool is_possible();

  struct size {
    std::size_t columns, lines;
  };
  [[nodiscard]] static size now();

  // Effects: the screen shows this text. Requires: it has no more lines than the screen.
  static void show(const std::string& text);

  // Effects: waits for so long. Returns: false when the user wants to end: q, Ctrl-C or a signal.
  [[nodiscard]] bool rest(std::chrono::milliseconds time) const;

 private:
  measure::signal_watch watch_;
  files::open_file signals_;
  termios before_{};
};

// What a process has, and how fast that changes. Allocations are a lower bound unless `exact`: the
// heap counts blocks where they leave it for a thread's cache.
struct process_row {
  pid_t pid = 0;
  std::string program;
  bool exact = false;
  std::uint64_t live_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t peak_bytes = 0;
  double growth_per_minute = 0;  // bytes
  double allocated_per_second = 0;
  double calls_per_second = 0;
};

// Returns: the row of a process at the moment `now`. `before` is the same process `seconds` ago.
process_row row_between(const pool_statistics& before, const pool_statistics& now, double seconds);

// Effects: the largest first. Requires: the column is live, resident, growth, rate or peak.
void sort_rows(std::vector<process_row>& rows, std::string_view column);

// Returns: a table whose lines have at most `columns` columns, with at most `lines` lines.
// `silent`: how many processes did not answer.
std::string render_rows(const std::vector<process_row>& rows, std::size_t silent,
                        std::size_t columns, std::size_t lines, glyphs set);
nlohmann::json rows_json(const std::vector<process_row>& rows, std::size_t silent);

}  // namespace ashlar::cli
