// heap/slab.hpp: taking blocks out of a slab's bitmap and putting them back.
// Layer: heap. Includes: core.
//
// Invariant: free_blocks == number of 1 bits in free_bits; a bit is 1 iff nobody, no cache
// included, holds the block. Bits are taken from the lowest word up, so a slab's high pages stay
// untouched (and cost no memory) until they are needed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/heap/run.hpp>

namespace ashlar::detail {

/// Effects: takes up to `count` blocks, lowest addresses first, and writes them to out[-1],
/// out[-2],
/// ...: downwards, because a cache is a stack, so the lowest is handed out first.
/// Returns: how many.
inline std::size_t take_blocks(run& slab, char* base, void** out, std::size_t count) noexcept {
  const std::size_t size = block_sizes[slab.size_class];
  const std::size_t taken = count < slab.free_blocks ? count : slab.free_blocks;
  std::size_t left = taken;
  for (std::uint32_t w = 0; left != 0; ++w) {
    std::uint64_t bits = slab.free_bits[w];
    if (bits == 0) continue;
    char* const first = base + std::size_t{w} * 64 * size;
    do {
      *--out = first + static_cast<unsigned>(std::countr_zero(bits)) * size;
      bits &= bits - 1;
      --left;
    } while (bits != 0 && left != 0);
    slab.free_bits[w] = bits;
  }
  slab.free_blocks -= static_cast<std::uint32_t>(taken);
  return taken;
}

/// Puts blocks of one slab back, gathering the bits of one word in a register: blocks that come
/// back together mostly share it.
class block_returner {
 public:
  block_returner(run& slab, char* base) noexcept
      : slab_(slab), base_(base), bytes_(std::size_t{slab.pages} << page_shift) {}
  ~block_returner() { write(); }
  block_returner(const block_returner&) = delete;
  block_returner& operator=(const block_returner&) = delete;

  [[nodiscard]] bool covers(const void* block) const noexcept {
    return static_cast<std::size_t>(static_cast<const char*>(block) - base_) < bytes_;
  }

  /// Requires: covers(block). Ends in a fault when no block starts there, or when it is free.
  void put(void* block, const char* call) noexcept {
    const class_index c = slab_.size_class;
    const auto offset = static_cast<std::size_t>(static_cast<char*>(block) - base_);
    const std::uint32_t index = block_index(offset, c);
    if (index * std::size_t{block_sizes[c]} != offset || index >= slab_shapes[c].blocks)
        [[unlikely]]
      fail(fault_kind::interior_pointer, call, block);
    const std::uint32_t word = index / 64;
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    if (word != word_) {
      write();
      word_ = word;
      bits_ = slab_.free_bits[word];
    }
    if ((bits_ & bit) != 0) [[unlikely]]
      fail(fault_kind::double_free, call, block);
    bits_ |= bit;
    ++slab_.free_blocks;
  }

 private:
  static constexpr std::uint32_t no_word = UINT32_MAX;

  void write() noexcept {
    if (word_ != no_word) slab_.free_bits[word_] = bits_;
  }

  [[noreturn]] ASHLAR_COLD void fail(fault_kind kind, const char* call, void* block) noexcept {
    ashlar_fault({.kind = kind,
                  .call = call,
                  .address = block,
                  .block_size = block_sizes[slab_.size_class]});
  }

  run& slab_;
  char* base_;
  std::size_t bytes_;
  std::uint32_t word_ = no_word;
  std::uint64_t bits_ = 0;
};

}  // namespace ashlar::detail
