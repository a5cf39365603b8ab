// os/mutex_windows.cpp: how os/mutex.hpp waits on Windows: a short spin, then WaitOnAddress.
// Layer: os.
#include <ashlar/core/config.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {
namespace {
constexpr int spins = 100;  // mutex_linux.cpp tells why
}

void mutex::lock_slow() noexcept {
  for (int i = 0; i < spins; ++i) {
    if (state_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
    detail::cpu_relax();
  }
  const error_keeper keeper;
  std::uint32_t held = 2;
  while (state_.exchange(2, std::memory_order_acquire) != 0)
    ::WaitOnAddress(&state_, &held, sizeof held, INFINITE);
}

void mutex::wake_one() noexcept {
  ::WakeByAddressSingle(&state_);
}

}  // namespace ashlar::os
