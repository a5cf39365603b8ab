// os/call_filter_linux.cpp: os/call_filter.hpp by what /proc tells of seccomp.
// Layer: os.
#include <atomic>
#include <string_view>

#include <fcntl.h>
#include <sys/prctl.h>

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/errno_keeper.hpp>
#include <ashlar/os/system_call.hpp>

namespace ashlar::os {
namespace {

/// The mode and the number of filters, as one number. An older system tells the mode alone.
using filters = long;
constexpr filters cannot_be_told = -1;

constinit std::atomic<bool> is_noted{false};
constinit std::atomic<filters> noted{0};
constinit std::atomic<bool> is_sandboxed{false};

/// Finds the digits behind each text in a file that comes in pieces.
class number_behind {
 public:
  constexpr explicit number_behind(std::string_view text) noexcept : text_(text) {}
  void take(char c) noexcept {
    if (matched_ == text_.size() && c >= '0' && c <= '9')
      number_ = number_ * 10 + (c - '0');
    else
      matched_ = matched_ != text_.size() && c == text_[matched_] ? matched_ + 1 : c == text_[0];
  }
  [[nodiscard]] long number() const noexcept { return number_; }

 private:
  std::string_view text_;
  std::size_t matched_ = 0;
  long number_ = 0;
};

/// By system calls: the C library's functions may be points where a thread is cancelled, and the
/// program's own of the same names may allocate.
filters filters_now() noexcept {
  const errno_keeper keeper;
  const long file =
      system_call(SYS_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return cannot_be_told;
  number_behind mode("\nSeccomp:\t"), count("\nSeccomp_filters:\t");
  char text[512];
  long got = 0;
  while ((got = system_call(SYS_read, file, text, sizeof text)) > 0)
    for (const char c : std::string_view(text, static_cast<std::size_t>(got))) {
      mode.take(c);
      count.take(c);
    }
  system_call(SYS_close, file);
  constexpr long modes = 4;
  return got < 0 ? cannot_be_told : count.number() * modes + mode.number();
}

}  // namespace

void note_call_filters() noexcept {
  if (is_noted.load(std::memory_order_relaxed)) return;
  // Most processes have none. To be told so by /proc would take a tenth of their start.
  const errno_keeper keeper;
  const bool has_none = system_call(SYS_prctl, PR_GET_SECCOMP) == 0;
  noted.store(has_none ? 0 : filters_now(), std::memory_order_relaxed);
  is_noted.store(true, std::memory_order_relaxed);
}

bool is_in_sandbox() noexcept { return is_sandboxed.load(std::memory_order_relaxed); }
void expect_call_filter(bool comes) noexcept {
  is_sandboxed.store(comes, std::memory_order_relaxed);
}

bool has_new_call_filter() noexcept {
  if (is_in_sandbox()) return true;
  if (!is_noted.load(std::memory_order_relaxed)) return false;
  const filters now = filters_now();
  if (now == cannot_be_told) return true;  // perhaps for lack of descriptors
  if (now == noted.load(std::memory_order_relaxed)) return false;
  is_sandboxed.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace ashlar::os
