// os/next_function.hpp: what this library's functions stand before.
// Layer: os. For libraries that have functions of the C library's names.
#pragma once

#include <dlfcn.h>

namespace ashlar::os {

/// Returns: what the process would have under the name without this library; null: nothing.
///
/// A library before this one may have a dlsym of its own that calls the C library's, as overlays
/// of games have. What comes next would then be told from there, and be this library's function,
/// which would call itself. So the C library's dlsym is taken, which its version tells.
inline void* next_function(const char* name) noexcept {
#if defined(__x86_64__) && defined(__LP64__) && defined(__GLIBC__)
  using dlsym_function = void*(void*, const char*);
  if (void* const found = ::dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"); found != nullptr)
    return reinterpret_cast<dlsym_function*>(found)(RTLD_NEXT, name);
#endif
  return ::dlsym(RTLD_NEXT, name);
}

}  // namespace ashlar::os
