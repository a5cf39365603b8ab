// heap/settling.hpp: when blocks that rest are sorted back into their slabs.
// Layer: heap.
//
// Sorting a scattered block back costs some 5 to 10 ns. The fault of a fresh page costs some 1.4 us.
// So growth pays for sorting: for each page that the heap has grown by since the last time, 64
// blocks may be sorted back. Much that rests (bytes_min and more) is sorted back after any growth.
//
// A miss does a part of it (work_bound.hpp), and the next misses go on until it is done. Until then a
// miss that lets the heap grow takes no more than it has sorted back.
//
// Law: sorting begins only before growth that something has paid for. Growth that sorting avoided
// pays nothing: where memory only goes to and fro between classes, a little more of it is cheaper
// than sorting each time.
// Thread-safety: any caller at any time.
#pragma once

#include <atomic>
#include <cstddef>

#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/central_set.hpp>
#include <ashlar/heap/work_bound.hpp>

namespace ashlar::detail {

/// Where blocks of a cache go: to the stash, or past it to their slabs. The second is for a caller
/// about to sort stashes back, who would only fault in the stash's pages for nothing.
enum class resting_place : bool { stash, slabs };

/// What a caller without a cache can give back before the heap grows.
struct no_cache {
  [[nodiscard]] resting_blocks all() const noexcept { return {}; }
  [[nodiscard]] resting_blocks resting() const noexcept { return {}; }
  [[nodiscard]] std::size_t give_resting(std::uint32_t, work&) const noexcept { return 0; }
  [[nodiscard]] bool gives_more(std::uint32_t) const noexcept { return false; }
  void give_all() const noexcept {}
};

class settling {
 public:
  /// Effects: called before the heap grows by `pages`, while `all` rests. When this returns true,
  /// what was paid is spent, and sorting is under way. Few blocks may hold many slabs back, one each at worst, so a little is
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
    blocks_.store(all.blocks, std::memory_order_relaxed);
    next_class_.store(1, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  /// Returns: whether blocks are being sorted back: as many as rested, the first class first.
  [[nodiscard]] bool is_under_way() const noexcept {
    return next_class_.load(std::memory_order_relaxed) != 0;
  }
  /// The same, before the heap grows by `pages`, which pay for the next time.
  [[nodiscard]] bool is_under_way(std::size_t pages) noexcept {
    if (is_under_way()) grown_.fetch_add(pages, std::memory_order_relaxed);
    return is_under_way();
  }
  /// Returns: the number of the last round of sorting back: 1 is the first. A cache gives once in each what
  /// rests in it.
  [[nodiscard]] std::uint32_t round() const noexcept {
    return round_.load(std::memory_order_relaxed);
  }
  /// Effects: goes on, until `left` is spent. Several threads may, each with what the others have left.
  /// Returns: the bytes that went back to slabs.
  template <class Centrals>
  std::size_t go_on(Centrals& centrals, typename Centrals::pages_type& pages, work& left) noexcept {
    std::size_t c = next_class_.load(std::memory_order_relaxed), bytes = 0;
    if (c == 0) return 0;
    // What others sort back at the same time may be counted once only: then a little more is.
    std::size_t rest = blocks_.load(std::memory_order_relaxed);
    for (; c < Centrals::classes::count() && rest != 0 && left.is_left(); ++c) {
      left.spend<typename Centrals::space_type>(turn::class_passed);
      auto& central = centrals[static_cast<class_index>(c)];
      if (central.stashed() == 0) continue;
      const std::size_t sorted = central.settle(pages, left, rest);
      rest -= sorted;
      bytes += sorted * Centrals::classes::block_size(static_cast<class_index>(c));
      if (!left.is_left()) break;  // it may have more
    }
    blocks_.store(rest, std::memory_order_relaxed);
    const bool is_done = rest == 0 || c == Centrals::classes::count();
    next_class_.store(is_done ? 0 : c, std::memory_order_relaxed);
    return bytes;
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

  std::atomic<std::size_t> grown_{0};  ///< pages since the last sorting began
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::size_t> next_class_{0};  ///< the stash that is being sorted back; 0: none is
  std::atomic<std::size_t> blocks_{0};      ///< so many more at most
};

}  // namespace ashlar::detail
