// tools/shim/call_frames.hpp: the calls that led out of this library. Layer: shim.
// None of it allocates or waits for a lock, so that it may run in a signal's handler and in a forked child.
#pragma once

#include <cstdint>

namespace ashlar::shim {

inline constexpr std::uint32_t stack_depth_max = 64;

struct call_frames {
  std::uint64_t frames[stack_depth_max + 1];  // where each returns to, from the inside out
  std::uint32_t depth = 0;
  bool is_cut = false;  // there are more calls than were wanted
};

/// Effects: finds at most `depth` of them. Requires: note_first_modules() was called, or no rule is kept of anything.
void find_frames(call_frames& out, std::uint32_t depth);

/// The two ways to do it, with the same result. By rules that it keeps for each place that a call returns to: some
/// nanoseconds a frame. It reads nothing that is not mapped. Returns: false where a rule cannot say how a call is left;
/// then what `out` has is of no use.
[[nodiscard]] bool walk_frames(call_frames& out, std::uint32_t depth);
/// By the compiler's runtime, which reads a call's tables each time: some hundred nanoseconds a frame.
void unwind_frames(call_frames& out, std::uint32_t depth);

/// Returns: whether it is in this library, of which no program wants to know.
[[nodiscard]] bool is_own_code(std::uintptr_t address);

}  // namespace ashlar::shim
