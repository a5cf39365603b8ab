// os/mutex_posix.cpp: how os/mutex.hpp waits on systems without a documented futex: a short spin,
// then a place to park.
// Layer: os.
#include <ashlar/core/config.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/parking.hpp>
#include <ashlar/os/sanitizer.hpp>

namespace ashlar::os {
namespace {
constexpr int spins = 100;  // mutex_linux.cpp tells why
}

void mutex::lock_slow() noexcept {
  for (int i = 0; i < spins; ++i) {
    if (state_.load(std::memory_order_relaxed) == 0 && try_lock()) {
      tell_acquired(&state_);
      return;
    }
    detail::cpu_relax();
  }
  // Who unlocks has to take the place before it wakes: so no unlock falls between the look and the
  // sleep.
  parking place(&state_);
  while (state_.exchange(2, std::memory_order_acquire) != 0) place.wait(-1);
  tell_acquired(&state_);
}

void mutex::wake_one() noexcept {
  // All that wait there: some may wait for another word.
  parking(&state_).wake_all();
}

}  // namespace ashlar::os
