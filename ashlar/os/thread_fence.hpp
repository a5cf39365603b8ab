// os/thread_fence.hpp: a fence in every thread of the process, paid for by the thread that asks.
// Layer: os. One file per system implements it.
#pragma once

namespace ashlar::os {

/// Effects: `fence_all_threads` may be called from now on. Cheap while the process has one thread.
void prepare_thread_fence() noexcept;

/// Effects: every thread of the process passes a full memory fence between the begin and the end of
/// this call. So a store before the call and a load after it need no fence in the other threads' code.
/// Returns: false where the system has no such call, or a sandbox may not allow it. Keeps errno. Thread-safe. Some 30 microseconds.
[[nodiscard]] bool fence_all_threads() noexcept;

}  // namespace ashlar::os
