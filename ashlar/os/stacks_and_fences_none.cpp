// os/stacks_and_fences_none.cpp: where no rules of frames are known, and no fence of threads.
// Layer: os.

#include <ashlar/os/frame_walk.hpp>
#include <ashlar/os/thread_fence.hpp>

namespace ashlar::os {

// ---- os/frame_walk.hpp where no rules are known.

walk_result walk_frames(const void**, unsigned) noexcept { return {0, walk_end::unknown}; }
bool can_be_read(const void*, std::size_t) noexcept { return true; }

// ---- os/thread_fence.hpp where the system documents no such call.

void prepare_thread_fence() noexcept {}

bool may_fence_all_threads() noexcept { return true; }

bool fence_all_threads() noexcept { return false; }

}  // namespace ashlar::os
