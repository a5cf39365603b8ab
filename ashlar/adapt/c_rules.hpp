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
#include <ashlar/runtime/hit_path.hpp>

namespace ashlar::c_rules {

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
  void* const block = runtime::process_hits::try_allocate(runtime::tops, size);
  return block != nullptr ? block : allocate_missed(size, call);
}

ASHLAR_COLD inline void* allocate_zeroed_missed(std::size_t bytes, const char* call) noexcept {
  return or_enomem(runtime::allocate_zeroed(bytes, call));
}

[[nodiscard]] inline void* allocate_zeroed(std::size_t count, std::size_t size,
                                           const char* call) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return or_enomem(nullptr);
  // A larger block may be a run of its own that is known to be zero.
  if (bytes <= detail::shared_slab_block_max) [[likely]] {
    void* const block = runtime::process_hits::try_allocate(runtime::tops, bytes);
    if (block != nullptr) [[likely]]
      return std::memset(block, 0, bytes);
  }
  return allocate_zeroed_missed(bytes, call);
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
[[nodiscard]] inline void* reallocate(void* block, std::size_t size, const char* call) noexcept {
  if (runtime::process_hits::stays(runtime::tops, block, size)) [[likely]]
    return block;
  return reallocate_missed(block, size, call);
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
    void* const block = runtime::process_hits::try_allocate_aligned(runtime::tops, size, alignment);
    if (block != nullptr) [[likely]]
      return block;
  }
  return allocate_aligned_missed(alignment, size, call);
}

ASHLAR_COLD inline std::size_t usable_size_missed(const void* block, const char* call) noexcept {
  return block == nullptr ? 0 : runtime::usable_size(block, call);
}
[[nodiscard]] inline std::size_t usable_size(const void* block, const char* call) noexcept {
  const std::size_t size = runtime::process_hits::try_usable_size(runtime::tops, block);
  return size != 0 ? size : usable_size_missed(block, call);
}

}  // namespace ashlar::c_rules
