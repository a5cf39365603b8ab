// os/thread_fence.hpp: a fence in every thread of the process, paid for by the thread that asks.
// Layer: os. One file per system implements it.
#pragma once

namespace ashlar::os {

/// Effects: `fence_all_threads` may be called from now on. Cheap while the process has one thread.
void prepare_thread_fence() noexcept;

/// Returns: whether this thread may call `fence_all_threads` now: a sandbox may not allow it
/// (call_filter.hpp). Up to 80 us while the process has several threads.
[[nodiscard]] bool may_fence_all_threads() noexcept;

/// Effects: every thread of the process passes a full memory fence between the begin and the end of
/// this call. So a store before the call and a load after it need no fence in the other threads'
/// code. Returns: false where the system has no such call. Keeps errno. Thread-safe. Some
/// microseconds.
[[nodiscard]] bool fence_all_threads() noexcept;

}  // namespace ashlar::os
