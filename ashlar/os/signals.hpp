// os/signals.hpp: signals by their names, and what follows them.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

namespace ashlar::os {

/// Returns: the number of the signal that is named so: USR1, SIGUSR1, or a number of the system's;
/// 0 if there is none, or a process cannot handle it.
[[nodiscard]] int signal_number(const char* name) noexcept;

/// Effects: from now on the signal calls act(number) in its handler, in place of what followed it
/// before. Calls that it interrupts go on. Returns: false when the system refused.
[[nodiscard]] bool handle_signal(int number, void (*act)(int)) noexcept;

}  // namespace ashlar::os
