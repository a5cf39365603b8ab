// runtime/hardened_quarantine.hpp: where a thread's freed blocks wait in a hardened process, and
// its random numbers.
// Layer: runtime. For process_hardened.cpp.
#pragma once

#include <ashlar/check/hardened_blocks.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/runtime/process_thread.hpp>

namespace ashlar::runtime {

/// Returns: the quarantine of the thread that owns the cache; null while it has none.
[[nodiscard]] ASHLAR_HOT detail::freed_blocks* quarantine_of(process_heap::cache* own) noexcept {
  return own != nullptr ? owner_part::of(*own).quarantine : nullptr;
}
/// Effects: the calling thread, whose cache this is, has a quarantine. Returns: it; null when
/// memory was refused.
/// Requires: it has none.
[[nodiscard]] detail::freed_blocks* make_quarantine(process_heap::cache& own) noexcept;
/// Effects: the quarantine, which is empty, is nobody's. Requires: the calling thread, whose cache
/// this is, has one.
void put_quarantine(process_heap::cache& own) noexcept;

/// Returns: how many bytes may wait in the calling thread's quarantine.
[[nodiscard]] std::size_t share_of_waiting() noexcept;

/// Effects: the addresses on stack `c` of the calling thread's cache, which was just filled, leave
/// it in random order (Durstenfeld's shuffle).
void shuffle(process_heap::cache& own, class_index c, detail::random_numbers& random) noexcept;

}  // namespace ashlar::runtime
