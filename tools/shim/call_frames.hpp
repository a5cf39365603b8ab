// tools/shim/call_frames.hpp: the calls that led out of this library. Layer: shim.
// None of it allocates or waits for a lock, so that it may run in a signal's handler and in a forked child.
#pragma once

#include <cstdint>

namespace ashlar::shim {

inline constexpr std::uint32_t stack_depth_max = 64;

struct call_frames {
  const void* frames[stack_depth_max + 1];  // where each returns to, from the inside out
  std::uint32_t depth = 0;
  bool is_cut = false;  // there are more calls than were wanted
};

/// Effects: finds at most `depth` of them: by ashlar/os/frame_walk.hpp, and where its rules end, as below.
void find_frames(call_frames& out, std::uint32_t depth);

/// By the compiler's runtime, which reads a call's tables each time: some hundred nanoseconds a frame.
void unwind_frames(call_frames& out, std::uint32_t depth);

}  // namespace ashlar::shim
