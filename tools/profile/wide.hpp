// tools/profile/wide.hpp: products of two 64-bit numbers. Layer: profile.
#pragma once

#include <cstdint>

namespace ashlar::profiling {

__extension__ using wide = unsigned __int128;

[[nodiscard]] constexpr std::uint64_t at_most_64_bits(wide number) noexcept {
  return number > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(number);
}

}  // namespace ashlar::profiling
