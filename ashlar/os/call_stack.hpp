// os/call_stack.hpp: where a call came from, for reports.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <cstddef>

#include <ashlar/core/line_writer.hpp>

namespace ashlar::os {

/// The return addresses of a thread's calls, innermost first, those inside ashlar left out.
struct call_stack {
  static constexpr unsigned depth_max = 12;
  unsigned depth = 0;
  const void* frames[depth_max] = {};
};

/// Effects: stores up to `depth` frames of the calling thread: by rules (frame_walk.hpp) in some
/// nanoseconds a frame. Where those end, by the unwinder in some microseconds, whose first use
/// allocates. Fewer where the system cannot tell, where the C library is not set up yet, and in
/// calls that the unwinder makes itself. Thread-safe; waits for no lock in the child of a fork.
void capture(call_stack& out, unsigned depth) noexcept;

/// Effects: in a static program, the unwinder allocates now, or as soon as it can, what its first
/// use needs. It has its lock meanwhile, and would wait for ever where a block that it allocates
/// for an exception is captured. Elsewhere nothing. Thread-safe.
void prepare_to_capture() noexcept;

/// The most frames that `capture_frames` stores.
inline constexpr unsigned frames_max = 64;

/// Effects: as `capture`, of up to `room` frames into `out`. Returns: how many.
[[nodiscard]] unsigned capture_frames(const void** out, unsigned room) noexcept;

/// Effects: as `capture`, in a handler of a signal that the instruction at `interrupted` caused:
/// from there on, without the handler. Only that frame where the unwinder was not used before (its
/// first use allocates) or cannot tell.
void capture_interrupted(call_stack& out, unsigned depth, const void* interrupted) noexcept;

/// Where a frame is: the file (program or library), the offset in it, and the function if it is
/// exported.
struct frame_place {
  const char* file = nullptr;  ///< null: unknown
  std::size_t offset = 0;
  const char* function = nullptr;
};
[[nodiscard]] frame_place place_of(const void* frame) noexcept;

/// Effects: appends a frame's line without its end: number, address, file + offset in it, and the
/// name of the function if it is exported. Allocates nothing of its own.
void append_frame(text_writer& to, unsigned number, const void* frame) noexcept;
/// Effects: appends that line for each frame.
void append_frames(text_writer& to, const call_stack& stack) noexcept;

/// Returns: the system's number of the calling thread.
[[nodiscard]] std::size_t thread_number() noexcept;

/// Effects: the calling thread has another number, and no stack waits for a lock that a thread of
/// the parent may have. Requires: this is the child of a fork.
void note_fork_child() noexcept;

}  // namespace ashlar::os
