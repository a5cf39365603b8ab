// os/access_fault.hpp: to be asked first when the process accesses memory that it may not.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <cstdint>

#include <ashlar/os/access_fault.hpp>

namespace ashlar::os {

enum class access_kind : std::uint8_t { unknown, read, write };

/// Returns: "read", "write", or "access" where the machine does not tell which. Never null.
[[nodiscard]] constexpr const char* name_of(access_kind kind) noexcept {
  return kind == access_kind::read ? "read" : kind == access_kind::write ? "write" : "access";
}

struct access_fault {
  const void* address = nullptr;  ///< what was accessed
  access_kind kind = access_kind::unknown;
  const void* instruction = nullptr;  ///< that did it; null: unknown
};

/// Looks whether the fault is its own, and does not return then. It runs in a signal handler, on
/// the stack that the thread has for those if it has one, and must not need a lock that the thread
/// may hold.
using access_watcher = void (*)(const access_fault&) noexcept;

/// Effects: from now on `watcher` is asked about each access that the system refused (SIGSEGV,
/// SIGBUS), unless the program takes those signals after this. What the watcher returns from goes
/// to the handler that was there before, or has its default effect. Returns: false when the system
/// refused. Requires: called once.
[[nodiscard]] bool watch_access_faults(access_watcher watcher) noexcept;

// What a signal handler is told of the instruction that the signal
// interrupted.
// For access_fault_posix.cpp alone. One file per system implements it.

/// Effects: stores the kind of the access and its instruction, as far as the machine tells.
/// `context` is the third argument of the handler.
void read_machine_context(const void* context, access_fault& fault) noexcept;

}  // namespace ashlar::os
