// os/bell_linux.cpp: the bell of os/service_thread.hpp by a futex.
// Layer: os.
#include <cerrno>

#include <linux/futex.h>
#include <time.h>

#include <ashlar/os/service_thread.hpp>
#include <ashlar/os/system_call.hpp>

namespace ashlar::os {
namespace {

timespec duration_of(std::int64_t ms) noexcept {
  constexpr long nanoseconds_a_ms = 1'000'000;
  timespec t{};
  t.tv_sec = static_cast<time_t>(ms / 1'000);
  t.tv_nsec = static_cast<long>(ms % 1'000) * nanoseconds_a_ms;
  return t;
}

}  // namespace

void bell::wait(std::int64_t ms) noexcept {
  const int saved = errno;
  if (rung_.exchange(0, std::memory_order_acquire) == 0) {
    const timespec duration = duration_of(ms < 0 ? 0 : ms);
    system_call(SYS_futex, &rung_, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, ms < 0 ? nullptr : &duration,
                nullptr, 0);
    rung_.exchange(0, std::memory_order_acquire);
  }
  errno = saved;
}

void bell::ring() noexcept {
  const int saved = errno;
  if (rung_.exchange(1, std::memory_order_release) == 0)
    system_call(SYS_futex, &rung_, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr, 0);
  errno = saved;
}

}  // namespace ashlar::os
