// support/resident.hpp: how much memory the process has, asked without allocating.
#pragma once

#include <cstddef>
#include <cstdlib>

#if !defined(_WIN32)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace support {

/// Column `column` of the process's memory line (0: address space, 1: resident), in bytes; 0 where
/// the system has none.
inline std::size_t memory_figure([[maybe_unused]] int column) noexcept {
#if defined(_WIN32)
  return 0;
#else
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[256];
  const auto length = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  char* at = text;
  for (int i = 0; i < column; ++i) (void)std::strtoul(at, &at, 10);
  return std::strtoul(at, &at, 10) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
#endif
}

inline std::size_t resident_bytes() noexcept { return memory_figure(1); }
inline std::size_t address_space_bytes() noexcept { return memory_figure(0); }

}  // namespace support
