// tools/shim/looks.hpp: how much of a large block nobody ever touched. Layer: shim.
//
// A page that nobody touched has no memory yet. So just before a large block is freed, and at the
// end of the recording for those that live, the system is asked which of its pages are in memory
// (mincore). Where half of the block is not, it is asked which lie in swap (/proc/self/pagemap),
// which takes far longer. What is in neither was never touched, or was given back to the system.
// Pages of an earlier block, and those of huge pages, are in memory: the bytes are at least so many.
//
// A look costs as much as several events do. So of the blocks of each call stack the first 64 are
// looked at, and then one in 1,024.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ashlar::shim {

inline constexpr std::size_t least_bytes_looked_at = 64u << 10;

/// Living blocks that will be looked at, with their sizes. Lock-free. Where two blocks have one
/// place, the second is not looked at.
/// Law: two blocks of this table lie in different stretches of 64 KiB, as each is as large as one.
class watched_blocks {
 public:
  [[nodiscard]] bool has(std::uintptr_t address) const {
    return places_[place_of(address)].address.load(std::memory_order_relaxed) == address;
  }
  /// Effects: it has the block, if there is room. Requires: this thread alone has the block.
  void add(std::uintptr_t address, std::size_t bytes);
  /// Effects: it does not have the block any more. Returns: its size; 0: it did not have it.
  /// Requires: the address is not 0.
  std::size_t take(std::uintptr_t address);
  /// Effects: calls `use(address)` for each; it may take the block.
  template <class Use>
  void for_each(Use use) const {
    for (const place& each : places_) {
      const std::uintptr_t address = each.address.load(std::memory_order_relaxed);
      if (address > busy) use(address);
    }
  }
  /// Effects: it is empty. What another thread adds meanwhile may stay.
  void clear();

 private:
  static constexpr unsigned place_bits = 12;
  /// Stands for an address while the size is written.
  static constexpr std::uintptr_t busy = 1;
  struct place {
    std::atomic<std::uintptr_t> address{0};  // 0: empty
    std::atomic<std::size_t> bytes{0};
  };
  [[nodiscard]] static std::size_t place_of(std::uintptr_t address) {
    return static_cast<std::size_t>((address >> 16) * 0x9e3779b97f4a7c15u >> (64 - place_bits));
  }

  place places_[std::size_t{1} << place_bits];
};
inline constinit watched_blocks watched;

/// Effects: counts the block of this stack. Returns: whether it is one to look at.
[[nodiscard]] bool is_one_to_look_at(std::uint32_t stack);
/// Effects: the same for no stack yet.
void forget_looks();

/// Returns: the bytes of the block's whole pages that are neither in memory nor in swap; 0 where they
/// are less than half of it, or the system does not tell. errno is kept.
[[nodiscard]] std::uint64_t untouched_bytes(std::uintptr_t address, std::size_t bytes);

/// Effects: tells how much of the block nobody touched, if it is watched; it is not any more.
/// Requires: is_on().
[[gnu::noinline]] void put_untouched(std::uintptr_t address);
/// Effects: the same for all that are watched, at the end of a recording. Nothing is watched then.
void put_untouched_of_living();

}  // namespace ashlar::shim
