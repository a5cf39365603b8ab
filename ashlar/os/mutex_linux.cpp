// os/mutex_linux.cpp: how os/mutex.hpp waits on Linux: a short spin, then a futex.
// Layer: os.
#include <cerrno>

#include <linux/futex.h>

#include <ashlar/core/config.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/os/system_call.hpp>

namespace ashlar::os {
namespace {

// Critical sections are some 50 to 500 ns long, a sleep and its wake-up 5 us and more: so it pays
// to look again for about as long as one section takes.
constexpr int spins = 100;

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) noexcept {
  return system_call(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

}  // namespace

void mutex::lock_slow() noexcept {
  const int saved = errno;
  for (int i = 0; i < spins; ++i) {
    if (state_.load(std::memory_order_relaxed) == 0 && try_lock()) {
      tell_acquired(&state_);  // the program's own mutexes get here, too
      errno = saved;
      return;
    }
    detail::cpu_relax();
  }
  while (state_.exchange(2, std::memory_order_acquire) != 0) futex(state_, FUTEX_WAIT, 2);
  tell_acquired(&state_);
  errno = saved;
}

void mutex::wake_one() noexcept {
  const int saved = errno;
  futex(state_, FUTEX_WAKE, 1);
  errno = saved;
}

}  // namespace ashlar::os
