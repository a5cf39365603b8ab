// os/read_clock.hpp: clock_gettime, past any function of this name that the program has.
// Layer: os. For *_posix.cpp alone.
//
// The heap reads a clock with its locks taken. A program's own clock_gettime (libfaketime's) may
// allocate, and would wait for them for ever.
#pragma once

#include <time.h>

// Processors on which the system's function is called as any other is.
#if defined(__linux__) && defined(__LP64__) && \
    (defined(__x86_64__) || defined(__aarch64__) || defined(__riscv))
#define ASHLAR_READS_MAPPED_CLOCK 1
#else
#define ASHLAR_READS_MAPPED_CLOCK 0
#endif

namespace ashlar::os {

#if ASHLAR_READS_MAPPED_CLOCK
/// Effects: as clock_gettime. As fast: the function that the system maps into each process
/// (read_clock_linux.cpp).
void read_clock(clockid_t clock, timespec& now) noexcept;
#else
inline void read_clock(clockid_t clock, timespec& now) noexcept { ::clock_gettime(clock, &now); }
#endif

}  // namespace ashlar::os
