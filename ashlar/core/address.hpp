// core/address.hpp: arithmetic of addresses that need not belong together.
// Layer: core (freestanding).
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>

namespace ashlar::detail {

/// Returns: the bytes from `base` to `p`, modulo the width: huge if `p` lies before, so that one
/// compare with a length tells whether `p` lies inside.
[[nodiscard]] ASHLAR_HOT std::size_t bytes_from(const void* base, const void* p) noexcept {
  // Through integers: `p` may be any address at all.
  return reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(base);
}

/// What a reallocation returns for an address where no live block starts, once that was told: no
/// block has this address.
[[nodiscard]] inline void* no_block() noexcept { return reinterpret_cast<void*>(UINTPTR_MAX); }

}  // namespace ashlar::detail
