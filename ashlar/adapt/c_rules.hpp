// adapt/c_rules.hpp: what the C standard and POSIX add to a block: errno, zero sizes, overflow,
// null. Layer: adapt. Both C faces (xmalloc's and malloc's) are these functions under two sets of
// names.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <ashlar/core/address.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/heap/interface_hits.hpp>
#include <ashlar/runtime/hit_path.hpp>

namespace ashlar::c_rules {

using hits = detail::interface_hits<runtime::process_classes>;

/// Returns: block; when it is null, sets errno to ENOMEM first.
inline void* or_enomem(void* block) noexcept {
  if (block == nullptr) [[unlikely]]
    errno = ENOMEM;
  return block;
}

/// Kept apart so that malloc's hit path has no frame: the miss is a tail call.
ASHLAR_COLD inline void* allocate_missed(std::size_t size, const char* call) noexcept {
  return or_enomem(runtime::allocate_slow(size, call));
}

[[nodiscard]] ASHLAR_HOT void* allocate(std::size_t size, const char* call) noexcept {
  void* const block = hits::try_allocate(runtime::tops(), size);
  return block != nullptr ? block : allocate_missed(size, call);
}

ASHLAR_COLD inline void* allocate_zeroed_missed(std::size_t count, std::size_t size,
                                                const char* call) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return or_enomem(nullptr);
  if constexpr (is_drop_in)
    if (void* const block = runtime::allocate_zeroed_in_gap(bytes); block != nullptr) return block;
  return or_enomem(runtime::allocate_zeroed(bytes, call));
}

/// Blocks of up to so many bytes are cleared without a call.
inline constexpr std::size_t cleared_by_stores_max = 256;

/// Effects: clears a block up to the granule at `last`, and that, by stores of a granule from both
/// ends until they meet. `Done` bytes of each end are clear. Requires: `last` is a multiple of
/// block_granule below cleared_by_stores_max.
template <std::size_t Done = 0>
ASHLAR_HOT void clear_by_stores(char* block, std::size_t last) noexcept {
  constexpr std::size_t next = Done == 0 ? block_granule : 2 * Done;
#pragma GCC unroll 8
  for (std::size_t at = Done; at < next; at += block_granule) {
    std::memset(block + at, 0, block_granule);
    std::memset(block + last - at, 0, block_granule);
  }
  if constexpr (2 * next < cleared_by_stores_max)
    if (last >= 2 * next) clear_by_stores<next>(block, last);
}

[[nodiscard]] ASHLAR_HOT void* allocate_zeroed(std::size_t count, std::size_t size,
                                               const char* call) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) [[unlikely]]
    return allocate_zeroed_missed(count, size, call);
  if (bytes - 1 < cleared_by_stores_max) [[likely]] {
    void* const block = hits::try_allocate(runtime::tops(), detail::size_end, bytes);
    if (block != nullptr) [[likely]] {
      clear_by_stores(static_cast<char*>(block), align_down(bytes - 1, block_granule));
      return block;
    }
  } else if (bytes <= detail::shared_slab_block_max) {
    // A larger block may be a run of its own that is known to be zero.
    void* const block = hits::try_allocate(runtime::tops(), detail::size_end, bytes);
    if (block != nullptr) [[likely]]
      return std::memset(block, 0, bytes);
  }
  return allocate_zeroed_missed(count, size, call);
}

ASHLAR_COLD inline void* reallocate_missed(void* block, std::size_t size,
                                           const char* call) noexcept {
  if (block == nullptr) return allocate(size, call);
  if (size == 0) {
    runtime::deallocate(block, call);
    return nullptr;
  }
  void* const after = runtime::reallocate(block, size, call);
  if (after != detail::no_block()) return or_enomem(after);
  errno = EINVAL;  // a fault was told, and the process goes on
  return nullptr;
}
/// As `reallocate`, of a block that does not stay where it is. Cold, so that one that stays needs
/// no frame.
[[nodiscard]] ASHLAR_COLD inline void* reallocate_moved(void* block, std::size_t size,
                                                        const char* call) noexcept {
  if (void* const moved = hits::try_move(runtime::tops(), block, size); moved != nullptr) [[likely]]
    return moved;
  if constexpr (is_drop_in)
    if (void* const after = runtime::reallocate_in_gap(block, size); after != nullptr) return after;
  return reallocate_missed(block, size, call);
}
[[nodiscard]] inline void* reallocate(void* block, std::size_t size, const char* call) noexcept {
  if (hits::stays(runtime::tops(), block, size)) [[likely]]
    return block;
  return reallocate_moved(block, size, call);
}

ASHLAR_COLD inline void* allocate_aligned_missed(std::size_t alignment, std::size_t size,
                                                 const char* call) noexcept {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return or_enomem(runtime::allocate_aligned(size, alignment, call));
}
[[nodiscard]] inline void* allocate_aligned(std::size_t alignment, std::size_t size,
                                            const char* call) noexcept {
  if (is_power_of_two(alignment)) [[likely]] {
    void* const block = hits::try_allocate_aligned(runtime::tops(), size, alignment);
    if (block != nullptr) [[likely]]
      return block;
  }
  return allocate_aligned_missed(alignment, size, call);
}

ASHLAR_COLD inline std::size_t usable_size_missed(const void* block, const char* call) noexcept {
  return block == nullptr ? 0 : runtime::usable_size(block, call);
}
[[nodiscard]] inline std::size_t usable_size(const void* block, const char* call) noexcept {
  const std::size_t size = hits::try_usable_size(runtime::tops(), block);
  return size != 0 ? size : usable_size_missed(block, call);
}

}  // namespace ashlar::c_rules
