// check/zero_blocks.hpp: blocks of no bytes, at addresses that cannot be accessed.
// Layer: check.
//
//   | marks, a byte a block | granules of 16 bytes, one a block; no access is possible |
//   ^ mapping               ^ begin
//
// An address comes back after all others had their turn, so a second free is found until then.
// Invariant: a mark is the family of the live block at its granule; none (0): there is no live one.
// Thread-safety: any caller at any time. No lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/check/hardened_blocks.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/heap/run.hpp>
#include <ashlar/os/system_space.hpp>

namespace ashlar::detail {

class zero_blocks {
 public:
  /// So many at once. They take 4 MiB of addresses, and as many bytes of marks as were ever in
  /// turn.
  static constexpr std::size_t blocks_max = std::size_t{1} << 18;

  constexpr zero_blocks() noexcept = default;
  zero_blocks(const zero_blocks&) = delete;
  zero_blocks& operator=(const zero_blocks&) = delete;

  /// Returns: a block at a multiple of `alignment`, a power of two; null when few are free, the
  /// alignment is too large, or the system refuses. Two system calls the first time, and O(1).
  [[nodiscard]] void* allocate(std::size_t alignment, block_family family) noexcept {
    char* const begin = started();
    const std::size_t step = std::max(alignment, block_granule) / block_granule;
    if (begin == nullptr || step > blocks_max / tries) return nullptr;
    for (std::size_t i = 0; i != tries; ++i) {
      const std::size_t at = next_.fetch_add(step, std::memory_order_relaxed) * block_granule;
      auto place = reinterpret_cast<std::uintptr_t>(begin) + at % addresses;
      place = align_up(place, alignment);
      auto* const block = reinterpret_cast<char*>(place);
      block_family nobody = block_family::none;
      if (contains(block) &&
          mark_of(block).compare_exchange_strong(nobody, family, std::memory_order_relaxed))
        return block;
    }
    return nullptr;
  }

  /// Returns: whether `address` lies where these blocks do.
  [[nodiscard]] bool contains(const void* address) const noexcept {
    const char* const begin = begin_.load(std::memory_order_acquire);
    return begin != nullptr &&
           reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(begin) <
               addresses;
  }
  /// Returns: the family of the live block at `address`; none if none starts there. Requires:
  /// contains(address).
  [[nodiscard]] block_family family_of(const void* address) const noexcept {
    return is_aligned(address, block_granule) ? mark_of(address).load(std::memory_order_relaxed)
                                              : block_family::none;
  }
  /// Effects: the block at `address` is free. Returns: false when another thread was faster.
  /// Requires: one was live.
  [[nodiscard]] bool free(const void* address) noexcept {
    return mark_of(address).exchange(block_family::none, std::memory_order_relaxed) !=
           block_family::none;
  }

 private:
  using mark = std::atomic<block_family>;
  static_assert(sizeof(mark) == 1);
  static constexpr std::size_t addresses = blocks_max * block_granule;
  static constexpr std::size_t tries = 64;

  [[nodiscard]] mark& mark_of(const void* address) const noexcept {
    char* const begin = begin_.load(std::memory_order_acquire);
    const auto at = static_cast<std::size_t>(static_cast<const char*>(address) - begin);
    return reinterpret_cast<mark*>(begin - blocks_max)[at / block_granule];
  }
  [[nodiscard]] char* started() noexcept {
    char* begin = begin_.load(std::memory_order_acquire);
    return begin != nullptr ? begin : start();
  }
  [[nodiscard]] ASHLAR_COLD char* start() noexcept {
    void* const mapping = os::system_space::reserve(blocks_max + addresses);
    if (mapping == nullptr) return nullptr;
    char* begin = static_cast<char*>(mapping) + blocks_max;
    char* others = nullptr;
    if (os::system_space::commit(mapping, blocks_max) &&
        begin_.compare_exchange_strong(others, begin, std::memory_order_acq_rel))
      return begin;
    os::system_space::release(mapping, blocks_max + addresses);
    return others;
  }

  std::atomic<char*> begin_{nullptr};
  std::atomic<std::size_t> next_{0};
};

}  // namespace ashlar::detail
