// tools/cli/progress_line.cpp. Layer: cli.
#include "tools/cli/progress_line.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace ashlar::cli {

progress_line::progress_line()
    : shown_(::isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + std::chrono::milliseconds(333)) {}

progress_line::~progress_line() {
  clear();
}

void progress_line::clear() {
  if (!written_) return;
  fmt::print(stderr, "\r\033[K");
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
