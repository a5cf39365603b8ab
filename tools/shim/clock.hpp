// tools/shim/clock.hpp: the time of an event. Layer: shim.
#pragma once

#include <cstdint>

#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "tools/trace/spool.hpp"

namespace ashlar::shim {

/// Ticks. The processor's counter takes half of what the system's clock takes, and is one for all processors where the
/// recorder chose it.
inline std::uint64_t now(trace::spool_clock clock) {
#if defined(__x86_64__)
  if (clock == trace::spool_clock::processor) return __rdtsc() >> trace::tick_shift;
#endif
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return (static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
          static_cast<std::uint64_t>(time.tv_nsec)) >>
         trace::tick_shift;
}

}  // namespace ashlar::shim
