// tools/shim/recording.hpp: this process among those of the recorder. Layer: shim.
#pragma once

#include <cstdint>

namespace ashlar::shim {

inline constinit bool is_attached = false;  // the recording began in the middle of the program

/// Returns: whether this process is being recorded. Effects: begins it in a forked child.
bool process_is_on();

/// Returns: the calling thread's number of the system, also where that may not be asked.
std::uint32_t system_thread_number();
/// Effects: the child of a fork knows its numbers before it can close itself into a sandbox.
void note_numbers_of_child();

/// Effects: each thread that has recorded something tells its end (log.cpp).
void watch_ends_of_threads();

/// Effects: the trace is a new one, which defines no stack and no file yet (stack_definitions.cpp).
void forget_definitions();
/// Effects: the same in a child, where nobody has the lock for files.
void begin_definitions_of_child();

}  // namespace ashlar::shim
