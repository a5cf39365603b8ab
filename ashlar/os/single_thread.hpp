// os/single_thread.hpp: whether this process has one thread only.
// Layer: os.
#pragma once

#include <cstddef>  // any header: it says which C library there is

// Headers for several releases of glibc have the file, and it is an error in an older one.
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 32)
#define ASHLAR_HAS_SINGLE_THREADED 1
#include <sys/single_threaded.h>
#endif
#endif

namespace ashlar::os {

/// Returns: true only while the calling thread is the only one of the process. Where the C library
/// does not tell (glibc does since 2.32), false. A thread that sees true sees false from the moment
/// on in which it has started another one. O(1), one load. Thread-safe.
[[nodiscard]] inline bool is_single_threaded() noexcept {
#if defined(ASHLAR_HAS_SINGLE_THREADED)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

}  // namespace ashlar::os
