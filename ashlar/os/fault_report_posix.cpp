// os/fault_report_posix.cpp: os/fault_report.hpp by POSIX calls.
// Layer: os.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <ashlar/os/fault_report.hpp>
#include <ashlar/os/thread_words.hpp>

namespace ashlar::os {
namespace {

class with_history {
 public:
  explicit with_history(const fault_history& history) noexcept
      : before_(std::exchange(own_words.history, &history)) {}
  ~with_history() { own_words.history = before_; }
  with_history(const with_history&) = delete;
  with_history& operator=(const with_history&) = delete;

 private:
  const fault_history* before_;
};

// ---- text -------------------------------------------------------------------------------------

void append_place(text_writer& to, const void* address, const fault_history& h) noexcept {
  const auto* const p = static_cast<const char*>(address);
  const auto* const begin = static_cast<const char*>(h.block);
  const char* const behind = begin + h.size;
  const auto bytes = [&to](std::ptrdiff_t n) {
    to << static_cast<std::size_t>(n) << (n == 1 ? " byte" : " bytes");
  };
  to << "ashlar: " << address << " is ";
  if (p < begin) {
    bytes(begin - p);
    to << " before";
  } else if (p >= behind) {
    bytes(p - behind + 1);
    to << " past the end of";
  } else {
    to << "byte " << static_cast<std::size_t>(p - begin) << " of";
  }
  to << " the block of " << h.size << " bytes at " << h.block << "\n";
}

void append_deed(text_writer& to, const char* how, const deed* d) noexcept {
  if (d == nullptr) return;
  to << "ashlar: " << how;
  if (d->call != nullptr) to << " by " << d->call;
  to << " in thread " << d->thread << (d->at.depth != 0 ? ":\n" : "\n");
  append_frames(to, d->at);
}

// ---- JSON -------------------------------------------------------------------------------------

void append_string(text_writer& to, const char* name, const char* text) noexcept {
  if (text == nullptr) return;
  to << ", \"" << name << "\": \"";
  for (; *text != '\0'; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    constexpr const char* digits = "0123456789abcdef";
    const char escaped[] = {'\\', 'u', '0', '0', digits[c / 16], digits[c % 16], '\0'};
    const char plain[] = {*text, '\0'};
    to << (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' ? escaped : plain);
  }
  to << "\"";
}
void append_address(text_writer& to, const char* name, const void* address) noexcept {
  to << ", \"" << name << "\": \"" << address << "\"";
}
void append_number(text_writer& to, const char* name, std::size_t n) noexcept {
  if (n != 0) to << ", \"" << name << "\": " << n;
}

void append_json_deed(text_writer& to, const char* name, const deed* d) noexcept {
  if (d == nullptr) return;
  to << ", \"" << name << "\": {\"thread\": " << d->thread;
  append_string(to, "call", d->call);
  to << ", \"frames\": [";
  for (unsigned i = 0; i < d->at.depth; ++i) {
    const frame_place place = place_of(d->at.frames[i]);
    to << (i == 0 ? "" : ", ") << "{\"number\": " << i;
    append_address(to, "address", d->at.frames[i]);
    if (place.file != nullptr) {
      append_string(to, "file", place.file);
      append_address(to, "offset", reinterpret_cast<const void*>(place.offset));
    }
    append_string(to, "function", place.function);
    to << "}";
  }
  to << "]}";
}

// ---- writing ----------------------------------------------------------------------------------

/// While it lives, what the thread writes causes no signal, is no cancellation point, and leaves
/// errno as it was.
class quiet_writing {
 public:
  quiet_writing() noexcept : saved_(errno) {
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_before_);
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigemptyset(&pending);
    ::sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &mask_before_);
  }
  ~quiet_writing() {
    constexpr timespec at_once = {};
    if (!was_pending_)
      while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    ::pthread_setcancelstate(cancel_before_, nullptr);
    errno = saved_;
  }
  quiet_writing(const quiet_writing&) = delete;
  quiet_writing& operator=(const quiet_writing&) = delete;

 private:
  int saved_;
  int cancel_before_ = 0;
  bool was_pending_ = false;
  sigset_t pipe_;
  sigset_t mask_before_;
};

/// So much is written at once that a pipe with any room takes it without waiting: PIPE_BUF.
constexpr std::size_t bytes_at_once = 4096;
constexpr std::uint64_t stderr_wait_ms = 200;

std::uint64_t now_ms() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000 +
         static_cast<std::uint64_t>(t.tv_nsec) / 1'000'000;
}

/// Returns: whether standard error has room before that time.
bool has_room(std::uint64_t until_ms) noexcept {
  for (;;) {
    const std::uint64_t now = now_ms();
    pollfd error{STDERR_FILENO, POLLOUT, 0};
    const int ready = ::poll(&error, 1, now < until_ms ? static_cast<int>(until_ms - now) : 0);
    if (ready >= 0 || errno != EINTR) return ready > 0 && (error.revents & POLLNVAL) == 0;
  }
}

}  // namespace

void misuse(const fault& what, const fault_history& history) noexcept {
  const with_history known(history);
  ashlar_misuse(what);
}
void end_in_fault(const fault& what, const fault_history& history) noexcept {
  const with_history known(history);
  ashlar_fault(what);
}
const fault_history* history_of_fault() noexcept {
  return own_words.history;
}

void append_text(text_writer& to, const fault& what, const fault_history* history) noexcept {
  if (history != nullptr) {
    if (history->block != nullptr) append_place(to, what.address, *history);
    append_deed(to, history->how, history->found);
    append_deed(to, "allocated", history->made);
    append_deed(to, "freed", history->freed);
  }
  to << "ashlar: " << (what.call != nullptr ? what.call : "") << "(" << what.address
     << "): " << describe(what.kind);
  if (what.pool != nullptr) to << ", pool '" << what.pool << "'";
  if (what.block_size != 0) to << ", block size " << what.block_size;
  if (what.needed != 0) to << ", needed " << what.needed;
  if (what.blocks != 0) to << ", blocks " << what.blocks;
  to.end_line();
}

void append_json(text_writer& to, const fault& what, const fault_history* history,
                 const char* event, const char* action) noexcept {
  to << "{\"ashlar\": \"" << event << "\"";
  append_string(to, "kind", name_of(what.kind));
  append_string(to, "message", describe(what.kind));
  append_string(to, "call", what.call);
  append_address(to, "address", what.address);
  append_string(to, "pool", what.pool);
  append_number(to, "block_size", what.block_size);
  append_number(to, "needed", what.needed);
  append_number(to, "blocks", what.blocks);
  append_string(to, "action", action);
  append_number(to, "pid", static_cast<std::size_t>(::getpid()));
  append_number(to, "thread", thread_number());
  if (history != nullptr) {
    if (history->block != nullptr) {
      append_address(to, "block", history->block);
      to << ", \"size\": " << history->size;
    }
    append_json_deed(to, "found", history->found);
    append_json_deed(to, "allocated", history->made);
    append_json_deed(to, "freed", history->freed);
  }
  to << "}";
  to.end_line();
}

bool write_to_stderr(const char* text, std::size_t size) noexcept {
  const quiet_writing quiet;
  const std::uint64_t until = now_ms() + stderr_wait_ms;
  while (size != 0) {
    if (!has_room(until)) return false;
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
