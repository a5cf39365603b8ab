// core/page_source.hpp: where a pool or heap gets its memory from.
// Layer: core (freestanding).
#pragma once

#include <concepts>
#include <cstddef>

namespace ashlar {

/// Something that hands out large pieces of memory: the OS, a caller's buffer, another allocator.
///   s.allocate(size_bytes, alignment)       a piece, or null when there is none. Never throws.
///   s.deallocate(p, size_bytes, alignment)  takes a piece back, with the arguments it was got
///   with.
/// A page source never reports exhaustion itself: what then happens is its user's policy.
template <class S>
concept page_source = requires(S& s, void* p, std::size_t n) {
  { s.allocate(n, n) } noexcept -> std::same_as<void*>;
  { s.deallocate(p, n, n) } noexcept;
};

}  // namespace ashlar
