// os/frame_walk.hpp: the calls that led here, by rules that are kept for each place a call returns
// to.
// Layer: os. For call_stack_posix.cpp, and for the recorder. One file per system implements it.
//
//   return address --> rule (frame_rule.hpp): where its caller's registers are --> the next address
//   the first time --> code_file.hpp: whose code it is --> call_frame_info.hpp reads the rule
//
// It allocates nothing, waits for no lock, makes a system call only for a page of a stack that it
// does not know to be the thread's own for good, and reads nothing that is not mapped. So it may
// run in a signal's handler, and in a child that was forked while another thread had a lock of the
// loader.
#pragma once

#include <cstddef>

namespace ashlar::os {

enum class walk_end {
  outermost,  ///< there is no caller, or the stack is broken there
  full,       ///< there are more calls than were wanted
  unknown,    ///< no rule says how the last call is left: the frames before that are right
};

struct walk_result {
  unsigned depth;  ///< how many frames there are
  walk_end end;
};

/// Effects: stores where the function that calls this returns to, and where its callers do, at most
/// `room` addresses. Those in the library that this is part of come first, and are left out.
/// Returns: how many, and why it ended. Some nanoseconds a frame. Thread-safe.
[[nodiscard]] walk_result walk_frames(const void** out, unsigned room) noexcept;

/// Returns: whether so many bytes can be read now; true where the system does not tell. One system
/// call a page, but none on the thread's own stack around frames that were walked. Thread-safe.
[[nodiscard]] bool can_be_read(const void* from, std::size_t bytes) noexcept;

}  // namespace ashlar::os
