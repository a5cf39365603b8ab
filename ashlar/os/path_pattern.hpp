// os/path_pattern.hpp: paths of which a part is known only when the file is written.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <cstddef>

namespace ashlar::os {

/// Returns: whether the two characters %`what` are in the pattern.
[[nodiscard]] bool has_place(const char* pattern, char what) noexcept;

/// Effects: writes the pattern to `path` and ends it by a null character: each %p as the number of
/// the process, each %n as `number`. Returns: whether it fits in `capacity`.
[[nodiscard]] bool expand_path(const char* pattern, char* path, std::size_t capacity,
                               std::size_t number = 0) noexcept;

}  // namespace ashlar::os
