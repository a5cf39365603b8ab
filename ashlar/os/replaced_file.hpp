// os/replaced_file.hpp: a file that is whole whenever another process reads it.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <cstddef>

namespace ashlar::os {

/// The longest path of such a file, with its end.
inline constexpr std::size_t replaced_path_max = 1024;

/// Effects: the file at `path` has these bytes and no others. They are written to a file beside it,
/// which is then moved there, so a reader finds the old file or the new one. What is no regular
/// file (a device, a pipe) is written to as it is, and its reader is not waited for. After an error
/// no other file is left. Not a cancellation point; keeps errno. Allocates nothing.
/// Returns: 0, or the error's number.
[[nodiscard]] int replace_file(const char* path, const void* bytes, std::size_t size) noexcept;

/// Returns: why that is, such as "permission denied"; it is neither allocated nor translated.
[[nodiscard]] const char* describe_error(int error) noexcept;

}  // namespace ashlar::os
