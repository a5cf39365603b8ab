// os/windows.hpp: the system's own header, as the Windows files of this layer include it.
// Layer: os. For *_windows.cpp alone.
#pragma once

#if defined(_WIN32)
#include <cerrno>

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0602  // Windows 8: WaitOnAddress
#include <windows.h>

namespace ashlar::os {

/// While it lives, the thread's last error and errno are kept: an allocator's callers look at both.
class error_keeper {
 public:
  error_keeper() noexcept : saved_(::GetLastError()) {}
  ~error_keeper() { ::SetLastError(saved_); }
  error_keeper(const error_keeper&) = delete;
  error_keeper& operator=(const error_keeper&) = delete;

 private:
  DWORD saved_;
};

/// Returns: the C library's number for a number of the system.
[[nodiscard]] inline int errno_of(DWORD error) noexcept {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
      return ENOENT;
    case ERROR_ACCESS_DENIED:
      return EACCES;
    case ERROR_DISK_FULL:
      return ENOSPC;
    case ERROR_FILENAME_EXCED_RANGE:
      return ENAMETOOLONG;
    default:
      return EIO;
  }
}

}  // namespace ashlar::os
#endif
