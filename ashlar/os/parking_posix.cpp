// os/parking_posix.cpp: os/parking.hpp, and at_fork of os/process.hpp, since a fork empties the
// places first.
// Layer: os.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include <ashlar/os/parking.hpp>
#include <ashlar/os/process.hpp>

namespace ashlar::os {
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

}  // namespace ashlar::os
