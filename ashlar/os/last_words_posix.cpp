// os/last_words_posix.cpp: os/last_words.hpp by POSIX calls.
// Layer: os.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/last_words.hpp>
#include <ashlar/os/read_clock.hpp>

namespace ashlar::os {
namespace {

/// What a write may cause: of a pipe without a reader, and of a file that may not grow so long.
constexpr int signals_of_writes[] = {SIGPIPE, SIGXFSZ};

/// Effects: the signal does not wait for the thread any more, if it did.
void take_pending(int signal) noexcept {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
#if defined(__APPLE__)  // it has no sigtimedwait
  sigset_t pending;
  sigemptyset(&pending);
  int number = 0;
  if (::sigpending(&pending) == 0 && sigismember(&pending, signal) == 1) ::sigwait(&one, &number);
#else
  constexpr timespec at_once = {};
  while (::sigtimedwait(&one, nullptr, &at_once) < 0 && errno == EINTR) {
  }
#endif
}

/// While it lives, what the thread writes causes no signal, is no cancellation point, and leaves
/// errno as it was. In a sandbox it may cause one: what prevents that may end the process before it
/// has said a word.
class quiet_writing {
 public:
  quiet_writing() noexcept : saved_(errno) {
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_before_);
    if (is_sandboxed_) return;
    sigemptyset(&pending_before_);
    ::sigpending(&pending_before_);
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int signal : signals_of_writes) sigaddset(&blocked, signal);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &mask_before_);
  }
  ~quiet_writing() {
    if (!is_sandboxed_) {
      for (const int signal : signals_of_writes)
        if (sigismember(&pending_before_, signal) != 1) take_pending(signal);
      ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    }
    ::pthread_setcancelstate(cancel_before_, nullptr);
    errno = saved_;
  }
  [[nodiscard]] bool is_sandboxed() const noexcept { return is_sandboxed_; }
  quiet_writing(const quiet_writing&) = delete;
  quiet_writing& operator=(const quiet_writing&) = delete;

 private:
  int saved_;
  bool is_sandboxed_ = has_new_call_filter();
  int cancel_before_ = 0;
  sigset_t pending_before_;
  sigset_t mask_before_;
};

/// So much is written at once that a pipe with any room takes it without waiting: PIPE_BUF.
constexpr std::size_t bytes_at_once = 4096;
constexpr std::uint64_t stderr_wait_ms = 200;

std::uint64_t now_ms() noexcept {
  timespec t{};
  read_clock(CLOCK_MONOTONIC, t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000 +
         static_cast<std::uint64_t>(t.tv_nsec) / 1'000'000;
}

/// Returns: whether standard error has room before that time.
bool has_room(std::uint64_t until_ms) noexcept {
  for (;;) {
    const std::uint64_t now = now_ms();
    pollfd error{STDERR_FILENO, POLLOUT, 0};
    const int ready = ::poll(&error, 1, now < until_ms ? static_cast<int>(until_ms - now) : 0);
    if (ready < 0 && errno != EINTR) return true;  // a sandbox may allow writing alone
    if (ready >= 0) return ready > 0 && (error.revents & POLLNVAL) == 0;
  }
}

}  // namespace

bool write_to_stderr(const char* text, std::size_t size) noexcept {
  const quiet_writing quiet;
  const std::uint64_t until = now_ms() + stderr_wait_ms;
  while (size != 0) {
    if (!quiet.is_sandboxed() && !has_room(until)) return false;
    const auto written = ::write(STDERR_FILENO, text, std::min(size, bytes_at_once));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (written < 0 && now_ms() >= until) return false;
    if (written < 0) continue;
    text += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

int append_to_file(const char* path, const char* text, std::size_t size) noexcept {
  const quiet_writing quiet;
  // A pipe without a reader is an error, not a wait.
  constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int file = ::open(path, flags, 0666);
  if (file < 0) return errno;
  const auto written = ::write(file, text, size);
  const int error = written < 0 ? errno : static_cast<std::size_t>(written) < size ? ENOSPC : 0;
  ::close(file);
  return error;
}

}  // namespace ashlar::os
