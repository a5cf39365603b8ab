// os/single_thread.hpp: whether this process has one thread only.
// Layer: os.
#pragma once

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace ashlar::os {

/// Returns: true only while the calling thread is the only one of the process. Where the C library does not
/// tell (glibc does since 2.32), false. A thread that sees true sees false from the moment on in which it
/// has started another one. O(1), one load. Thread-safe.
[[nodiscard]] inline bool is_single_threaded() noexcept {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

}  // namespace ashlar::os
