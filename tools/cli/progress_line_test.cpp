#include "tools/cli/progress_line.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

namespace ashlar::cli {
namespace {

/// Standard error is a terminal while this lives.
class terminal {
 public:
  terminal() : before_(::dup(STDERR_FILENO)) {
    int inside = -1;
    EXPECT_EQ(::openpty(&outside_, &inside, nullptr, nullptr, nullptr), 0);
    ::dup2(inside, STDERR_FILENO);
    ::close(inside);
  }
  ~terminal() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(outside_);
  }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  /// Returns: what has been written since the last time.
  [[nodiscard]] std::string fetch() const {
    std::string text;
    std::array<char, 256> some{};
    for (pollfd ready{outside_, POLLIN, 0}; ::poll(&ready, 1, 0) == 1;) {
      const ssize_t got = ::read(outside_, some.data(), some.size());
      if (got <= 0) break;
      text.append(some.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int before_;
  int outside_ = -1;
};

TEST(ProgressLine, IsThereWhileALongWorkIsDone) {
  const terminal screen;
  progress_line line;
  std::string text;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (text.empty() && std::chrono::steady_clock::now() < patience) {
    line.tell("reading", 0.5);
    text = screen.fetch();
  }
  EXPECT_EQ(text, "\r\033[Kreading 50 %");
  line.tell("reading", 1);
  EXPECT_EQ(screen.fetch(), "\r\033[K");
  line.tell("reading", 1);
  EXPECT_EQ(screen.fetch(), "") << "it is gone";
}

TEST(ProgressLine, IsNotWrittenIntoAFile) {
  testing::internal::CaptureStderr();
  {
    progress_line line;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (std::chrono::steady_clock::now() < end) line.tell("reading", 0.5);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace ashlar::cli
