// fault/response.hpp: what the process does when a fault is seen, and where it is told.
// Layer: fault. It stands alone: a program that has no heap gets no heap by it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/fault.hpp>
#include <ashlar/core/fault_info.h>

namespace ashlar::detail {

/// What follows the report of a fault. What cannot go on (a broken invariant, a refused access to
/// memory, a fault of a pool or an arena) aborts after the same report.
enum class fault_action : std::uint8_t {
  abort,
  go_on,    ///< the request is dropped
  trap,     ///< a trap instruction, where a debugger stops
  callback  ///< the program's function, then as go_on; abort where it has given none
};

using fault_callback = void (*)(const ashlar_fault_info*);

/// The longest path of ASHLAR_FAULT_FILE, with its end.
inline constexpr std::size_t fault_path_max = 1024;

struct fault_settings {
  fault_action action = fault_action::abort;
  bool json = false;           ///< a JSON object a fault: in the file, else beside the text
  bool in_file_alone = false;  ///< and no text, where the file can be written
  const char* file = nullptr;  ///< faults are told there, too; %p is the process's number
  unsigned stack_depth = 0;    ///< frames of the faulty call, where a check has not noted them
};

/// Effects: does as the environment says, but for an action that the program has set before.
/// Requires: no other thread yet; the file's name is shorter than fault_path_max.
void respond_to_faults_as(const fault_settings& s) noexcept;

/// Effects: faults of all threads from now on are followed by `action`. Requires: `callback` is not
/// null where that is the action.
void set_fault_action(fault_action action, fault_callback callback) noexcept;

/// Effects: from now on the program's function is called by way of `around`, which calls run(with).
void call_back_by(void (*around)(void (*run)(const void*), const void* with)) noexcept;

/// Effects: reports the fault, and ends the process as the action says.
[[noreturn]] void end_by_fault(const fault& what) noexcept;

}  // namespace ashlar::detail
