// os/random_bytes.hpp: bytes that nobody outside of the process can know.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <cstddef>

namespace ashlar::os {

/// Effects: fills [p, p + bytes) with random bytes of the system. Returns: false, with nothing
/// promised of them, where the system has none to give now. Never waits. Keeps errno. Thread-safe.
/// Requires: at most 256 bytes.
[[nodiscard]] bool fill_with_random_bytes(void* p, std::size_t bytes) noexcept;

}  // namespace ashlar::os
