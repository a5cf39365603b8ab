// dropin/interposed_thread.hpp: whether the calling thread's thread-local objects are there, on
// macOS.
// Layer: dropin.
//
// The loader makes a thread's thread-local objects when the thread first uses one, and it calls
// malloc for them. That malloc is this library's. So a key of POSIX threads, which needs no memory,
// says how far a thread is:
//
//   nothing  -->  away: its objects are being made  -->  ready  -->  away: they are being destroyed
//
// A thread that is away allocates from the system. Each address tells whose a block is, so blocks
// of both go back where they came from.
#pragma once

#include <pthread.h>

#include <ashlar/core/config.hpp>

namespace ashlar::interposed {

/// 0 until this library's constructors run: then all threads are away.
extern constinit pthread_key_t thread_key;
extern const char ready;

/// Effects: lets the loader make the calling thread's objects, unless it is just doing that, or
/// they are destroyed. Returns: whether they are there.
[[nodiscard]] ASHLAR_COLD bool make_ready() noexcept;

/// Returns: whether the calling thread may use the heap's thread-local objects.
[[nodiscard]] ASHLAR_HOT bool is_ready() noexcept {
  if (thread_key != 0 && ::pthread_getspecific(thread_key) == &ready) [[likely]]
    return true;
  return make_ready();
}

}  // namespace ashlar::interposed
