// tools/cli/screen.hpp: a terminal that a text fills, and the keys that come from it. Layer: cli.
#pragma once

#include <chrono>
#include <string>

#include <termios.h>

#include "tools/files/files.hpp"
#include "tools/measure/child_process.hpp"

namespace ashlar::cli {

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

}  // namespace ashlar::cli
