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

/// A page source that can bring memory of its pieces in ahead of its first use, which costs less
/// than a fault for each page:
///   s.populate(p, size_bytes)  the pages of [p, p + size_bytes) are in memory if the system has
///                              them, their contents unchanged. A hint: it may do nothing.
template <class S>
concept populating_source = page_source<S> && requires(S& s, void* p, std::size_t n) {
  { s.populate(p, n) } noexcept;
};
/// What is populated ahead at a time is at least this, bytes: for less, the call costs as much as
/// the faults.
inline constexpr std::size_t least_populated = std::size_t{64} << 10;

}  // namespace ashlar
