// os/clock.hpp: moments and durations in nanoseconds.
// Layer: os. One file per system implements it; this header names no system.
#pragma once

#include <cstdint>

namespace ashlar::os {

/// Returns: nanoseconds since some moment before the process began. It only goes forward.
[[nodiscard]] std::uint64_t steady_ns() noexcept;
/// Returns: nanoseconds since 1970, as the system's clock has them.
[[nodiscard]] std::uint64_t date_ns() noexcept;

}  // namespace ashlar::os
