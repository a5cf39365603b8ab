// core/poison.hpp: tells AddressSanitizer which bytes nobody may touch.
// Layer: core (freestanding). Thread-safe for regions that share no 8 bytes.
// Law: whoever poisons unpoisons before the memory goes back to where it came from. Without the
// sanitizer all of this is nothing.
#pragma once

#include <cstddef>

#include <ashlar/core/config.hpp>

// The sanitizer's own interface; referred to only where it is linked.
extern "C" void __asan_poison_memory_region(const volatile void* p, std::size_t size);
extern "C" void __asan_unpoison_memory_region(const volatile void* p, std::size_t size);

namespace ashlar::detail {

/// The sanitizer keeps one byte for this many: regions are whole multiples, or it misses some.
inline constexpr std::size_t poison_granule = 8;

ASHLAR_HOT void poison([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t n) noexcept {
  if constexpr (address_sanitizer) __asan_poison_memory_region(p, n);
}
ASHLAR_HOT void unpoison([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t n) noexcept {
  if constexpr (address_sanitizer) __asan_unpoison_memory_region(p, n);
}

}  // namespace ashlar::detail
