// adapt/cxx_process_heap.hpp: blocks of the process heap by C++'s rules: where it has none, the
// new-handler as long as there is one, then std::bad_alloc.
// Layer: adapt. What has no process heap (firmware) includes cxx_rules.hpp alone.
#pragma once

#include <cstddef>

#include <ashlar/adapt/cxx_rules.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/runtime/hit_path.hpp>

namespace ashlar::cxx_rules {

/// What is left when the process heap had nothing. Returns: a block, never null. Throws: what the
/// handler throws, and bad_alloc when there is none. No lock is held while a handler runs.
[[nodiscard]] ASHLAR_COLD inline void* retry_slow(std::size_t size, std::size_t alignment) {
  exhaustion::handler_and_retry<exhaustion::throw_bad_alloc> policy;
  return policy.exhausted({size, alignment, nullptr},
                          [=]() noexcept { return runtime::allocate_aligned(size, alignment); });
}

/// Returns: a block of the process heap, never null. Throws: as operator new. The miss of a class
/// is not yet a lack of memory, and is told from it inside runtime. Requires: a power of two.
[[nodiscard]] ASHLAR_HOT void* allocate(std::size_t size) {
  void* const block = runtime::allocate(size);
  if (block == nullptr) [[unlikely]]
    return retry_slow(size, 1);
  return block;
}
[[nodiscard]] ASHLAR_HOT void* allocate(std::size_t size, std::size_t alignment) {
  if (alignment <= block_granule) return allocate(size);
  void* const block = runtime::allocate_aligned(size, alignment);
  if (block == nullptr) [[unlikely]]
    return retry_slow(size, alignment);
  return block;
}
template <std::size_t Size, std::size_t Alignment>
[[nodiscard]] ASHLAR_HOT void* allocate_constant() {
  void* const block = runtime::allocate_constant<Size, Alignment>();
  if (block == nullptr) [[unlikely]]
    return retry_slow(Size, Alignment);
  return block;
}

}  // namespace ashlar::cxx_rules
