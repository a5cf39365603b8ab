// bench/stepping/stepper.hpp: counts what a piece of code does, by running it one instruction at a time.
//
//   start_stepping()   the processor's trap flag is on: each instruction ends in SIGTRAP
//     the handler      decodes the next instruction, and notes its locked access, its cache lines, its system call
//   stop_stepping()
//
// A line moves when a thread reads or writes it and another thread wrote it last, or when it writes a line that another
// thread has read since. So this is a cache of one level without an end, one for each thread. What a real processor
// does besides (evictions, prefetching, two threads on one core) is left out.
//
// x86-64 Linux. A step takes some 25 us, mostly in the kernel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepping {

inline constexpr unsigned most_threads = 64;

struct counts {
  std::uint64_t instructions = 0;
  std::uint64_t locked = 0;  ///< atomic read-modify-writes: a lock prefix, or xchg with memory
  std::uint64_t moved_lines =
      0;                    ///< cache lines that came from another thread, or were taken from it
  std::uint64_t waits = 0;  ///< futex calls that wait
};

/// Effects: the calling thread, number `self`, can step from now on. It may allocate.
/// Requires: self < most_threads; no other thread has that number.
void prepare_thread(unsigned self);

/// Effects: from the next instruction on, the thread steps. Not nested.
void start_stepping() noexcept;
/// Effects: no more. Returns: what was done between the two, but for these calls' own instructions.
counts stop_stepping() noexcept;

/// Effects: notes that the calling thread writes the line of `address` itself.
void note_write(const void* address) noexcept;

}  // namespace stepping
