// os/bell_posix.cpp: the bell of os/service_thread.hpp on systems without a documented futex.
// Layer: os.
#include <ashlar/os/parking.hpp>
#include <ashlar/os/service_thread.hpp>

namespace ashlar::os {

void bell::wait(std::int64_t ms) noexcept {
  if (rung_.exchange(0, std::memory_order_acquire) != 0) return;
  parking place(&rung_);
  if (rung_.load(std::memory_order_relaxed) == 0) place.wait(ms);
  rung_.exchange(0, std::memory_order_acquire);
}

void bell::ring() noexcept {
  if (rung_.exchange(1, std::memory_order_release) == 0) parking(&rung_).wake_all();
}

}  // namespace ashlar::os
