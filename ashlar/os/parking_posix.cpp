// os/parking_posix.cpp: waiting on systems without a documented futex.
// Layer: os.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include <ashlar/core/config.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/parking.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/os/service_thread.hpp>

namespace ashlar::os {

// ---- os/parking.hpp, and at_fork of os/process.hpp: a fork empties the places first

namespace {

constexpr std::size_t places_count = 16;
constinit parking_place places[places_count] = {
#define ASHLAR_PLACE {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER}
    ASHLAR_PLACE, ASHLAR_PLACE, ASHLAR_PLACE, ASHLAR_PLACE, ASHLAR_PLACE, ASHLAR_PLACE,
    ASHLAR_PLACE, ASHLAR_PLACE, ASHLAR_PLACE, ASHLAR_PLACE, ASHLAR_PLACE, ASHLAR_PLACE,
    ASHLAR_PLACE, ASHLAR_PLACE, ASHLAR_PLACE, ASHLAR_PLACE,
#undef ASHLAR_PLACE
};

/// In the child no thread sleeps, and the one that had a place is gone.
void empty_places() noexcept {
  for (parking_place& p : places) p = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
}

/// Sleeping is by the date, which may be set back: nobody sleeps longer than this at once.
constexpr std::int64_t wait_max_ms = 60'000;
constexpr long nanoseconds_a_ms = 1'000'000;
constexpr long nanoseconds_a_second = 1'000'000'000;

}  // namespace

parking_place& place_for(const void* address) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return places[(number >> 3 ^ number >> 9) % places_count];
}

void parking::wait(std::int64_t ms) noexcept {
  ms = ms < 0 ? wait_max_ms : std::min(ms, wait_max_ms);
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += static_cast<std::time_t>(ms / 1'000);
  until.tv_nsec += static_cast<long>(ms % 1'000) * nanoseconds_a_ms;
  if (until.tv_nsec >= nanoseconds_a_second) {
    until.tv_nsec -= nanoseconds_a_second;
    ++until.tv_sec;
  }
  ::pthread_cond_timedwait(&place_.changed, &place_.mutex, &until);
}

void at_fork(void (*before)() noexcept, void (*in_parent)() noexcept,
             void (*in_child)() noexcept) noexcept {
  // In the child the first registered runs first, and the caller's may unlock what threads wait
  // for.
  ::pthread_atfork(nullptr, nullptr, empty_places);
  ::pthread_atfork(before, in_parent, in_child);
}

// ---- os/mutex.hpp: a short spin, then a place to park

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

// ---- the bell of os/service_thread.hpp

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
