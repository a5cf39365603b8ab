// tools/shim/system_numbers.hpp: the system's numbers of this process and thread, also where it may not be asked.
// Layer: shim.
#pragma once

#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/process.hpp>

namespace ashlar::shim {

struct process_numbers {
  std::uint32_t own, parent;
};
inline constinit process_numbers known_numbers{};

/// Returns: those of this process. In a sandbox, as they were known last.
inline const process_numbers& numbers_of_process() {
  // A child by clone() was not told of.
  if (!os::has_new_call_filter())
    known_numbers = {static_cast<std::uint32_t>(::getpid()),
                     static_cast<std::uint32_t>(::getppid())};
  return known_numbers;
}

/// Effects: the child of a fork knows its numbers before it can close itself into a sandbox.
inline void note_numbers_of_child() {
  known_numbers = {static_cast<std::uint32_t>(os::new_thread_number()), known_numbers.own};
}

/// Returns: the calling thread's number. A child by clone() has another one than the C library knows.
inline std::uint32_t system_thread_number() {
  if (os::has_new_call_filter()) return static_cast<std::uint32_t>(os::new_thread_number());
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

}  // namespace ashlar::shim
