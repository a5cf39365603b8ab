// heap/settling.hpp: when blocks that rest are sorted back into their slabs.
// Layer: heap.
//
// Sorting a scattered block back costs some 5 to 10 ns. The fault of a fresh page costs some 1.4 us.
// So growth pays for sorting: for each page that the heap has grown by since the last time, 64
// blocks may be sorted back. Much that rests (bytes_min and more) is sorted back after any growth.
//
// Law: sorting happens only before growth that something has paid for. Growth that sorting avoided
// pays nothing: where memory only goes to and fro between classes, a little more of it is cheaper
// than sorting each time.
// Thread-safety: any caller at any time.
#pragma once

#include <atomic>
#include <cstddef>

#include <ashlar/heap/central_set.hpp>

namespace ashlar::detail {

class settling {
 public:
  /// Effects: called before the heap grows by `pages`, while `all` rests. When this returns true,
  /// what was paid is spent. Few blocks may hold many slabs back, one each at worst, so a little is
  /// sorted back too, once the heap has grown enough to pay for it.
  /// Returns: whether the caller has to sort back.
  [[nodiscard]] bool pays_before_growth(const resting_blocks& all, std::size_t pages,
                                        std::size_t bytes_min) noexcept {
    const std::size_t grown = grown_.load(std::memory_order_relaxed);
    const bool pays = all.bytes >= bytes_min ? grown != 0 : all.blocks <= grown * blocks_a_page;
    if (all.blocks == 0 || !pays) {
      grown_.fetch_add(pages, std::memory_order_relaxed);
      return false;
    }
    grown_.store(0, std::memory_order_relaxed);
    return true;
  }

  /// Returns: whether to sort back `all` that rests, when the owner of a cache ends that moved
  /// `moved` blocks to and from the centrals, and callers hold `held_bytes`. Then the next owner
  /// finds the fullest slabs first, and not blocks scattered over all that there ever were. What
  /// the owner moved pays for it.
  [[nodiscard]] static bool pays_at_end(const resting_blocks& all, std::size_t moved,
                                        std::size_t held_bytes, std::size_t bytes_min) noexcept {
    return all.blocks <= moved && all.bytes >= bytes_min && all.bytes >= held_bytes;
  }

 private:
  static constexpr std::size_t blocks_a_page = 64;

  std::atomic<std::size_t> grown_{0};  ///< pages since the last sorting
};

}  // namespace ashlar::detail
