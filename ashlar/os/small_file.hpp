// os/small_file.hpp: reading a small file whole, without allocating.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <cstddef>

namespace ashlar::os {

/// What reading gave.
struct file_text {
  std::size_t size = 0;  ///< bytes read
  const char* why =
      /// null, or why there are none: the end of a sentence that begins with the file's name
      nullptr;
};

/// Effects: reads the file at `path` into `buffer`. Returns: how much, or why not: the system
/// refused, or it holds more than `capacity`. Callable before the C library is set up, from any
/// thread; keeps errno.
[[nodiscard]] file_text read_small_file(const char* path, char* buffer,
                                        std::size_t capacity) noexcept;

}  // namespace ashlar::os
