// tools/cli/screen.cpp. Layer: cli.
#include "tools/cli/screen.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace ashlar::cli {
namespace {

constexpr const char* other_screen = "\033[?1049h\033[?25l";  // and no cursor
constexpr const char* own_screen = "\033[?25h\033[?1049l";

void put(std::string_view text) {
  static_cast<void>(files::write_all(STDOUT_FILENO, text));
}

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

}  // namespace ashlar::cli
