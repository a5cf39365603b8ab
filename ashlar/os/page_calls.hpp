// os/page_calls.hpp: the system's calls on pages, past any function of the same name that the
// program has.
// Layer: os. For *_posix.cpp and *_linux.cpp alone.
//
// The heap makes these calls with its locks taken. A program's own mmap that allocates (a
// profiler's, a recorder's) would wait for them for ever. So on Linux they are system calls. A
// sanitizer has to see them, and gets the C library's.
#pragma once

#include <cstddef>

#include <sys/mman.h>
#include <unistd.h>

#include <ashlar/core/config.hpp>

#if defined(__linux__) && !ASHLAR_SANITIZED && !defined(__s390__)
#define ASHLAR_CALLS_SYSTEM 1
#include <sys/auxv.h>

#include <ashlar/os/system_call.hpp>
#else
#define ASHLAR_CALLS_SYSTEM 0
#endif

/// Each returns and sets errno as the C library's function.
namespace ashlar::os::page_calls {

#if ASHLAR_CALLS_SYSTEM

/// Effects: private memory of no file.
inline void* map(void* p, std::size_t bytes, int protection, int how) noexcept {
#if defined(SYS_mmap2)  // of 32 bits: it counts the offset in pages
  constexpr long number = SYS_mmap2;
#else
  constexpr long number = SYS_mmap;
#endif
  const long got =
      system_call(number, p, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0L);
  return reinterpret_cast<void*>(got);  // -1 is MAP_FAILED
}
inline int unmap(void* p, std::size_t bytes) noexcept {
  return static_cast<int>(system_call(SYS_munmap, p, bytes));
}
inline int protect(void* p, std::size_t bytes, int protection) noexcept {
  return static_cast<int>(system_call(SYS_mprotect, p, bytes, protection));
}
inline int advise(void* p, std::size_t bytes, int advice) noexcept {
  return static_cast<int>(system_call(SYS_madvise, p, bytes, advice));
}
inline std::size_t page_bytes() noexcept {
#if defined(__x86_64__)
  return 4096;
#else
  return ::getauxval(AT_PAGESZ);
#endif
}

#else

inline void* map(void* p, std::size_t bytes, int protection, int how) noexcept {
  return ::mmap(p, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);
}
inline int unmap(void* p, std::size_t bytes) noexcept { return ::munmap(p, bytes); }
inline int protect(void* p, std::size_t bytes, int protection) noexcept {
  return ::mprotect(p, bytes, protection);
}
inline int advise(void* p, std::size_t bytes, int advice) noexcept {
  return ::madvise(p, bytes, advice);
}
inline std::size_t page_bytes() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

#endif

}  // namespace ashlar::os::page_calls
