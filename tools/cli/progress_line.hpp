// tools/cli/progress_line.hpp: how far a long work has come, on a terminal. Layer: cli.
#pragma once

#include <chrono>
#include <string_view>

namespace ashlar::cli {

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
