// heap/slab_lists.hpp: the slabs of one side of a class, in lists by how full they are.
// Layer: heap.
//
//   list 0 ... 3   slabs with blocks in use, by quarters of free blocks, fullest first
//   list 4         slabs without a block in use
//   on none        slabs without a free block, and those whose pages are being given back
//
// The fullest serves first, so that the emptier ones may become empty.
//
// Invariant (audit): listed() and empty() are the slabs on all lists and on the last one, and
// absent_pages() == bits of `absent` in all of them.
// Thread-safety: who calls has the side's lock. Anyone may ask for the counts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/count_ones.hpp>
#include <ashlar/core/linked_list.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/pages/run.hpp>
#include <ashlar/pages/slab.hpp>

namespace ashlar::detail {

/// A number that is written under a lock, and read without it.
template <class Number>
class locked_count {
 public:
  [[nodiscard]] std::size_t get() const noexcept { return n_.load(std::memory_order_relaxed); }
  void set(std::size_t n) noexcept { n_.store(static_cast<Number>(n), std::memory_order_relaxed); }
  void operator+=(std::size_t more) noexcept { set(get() + more); }
  void operator-=(std::size_t less) noexcept { set(get() - less); }

 private:
  std::atomic<Number> n_{0};
};

/// Bytes of the empty slabs that are kept, of all classes.
struct empty_slabs_at_rest {
  std::size_t most = 0;
  std::atomic<std::size_t> bytes{0};
};

/// What all slabs of a class have in common.
struct slab_kind {
  class_index size_class = 0;
  const slab_shape* shape = nullptr;
  empty_slabs_at_rest* at_rest = nullptr;  ///< null: no empty slab is kept

  [[nodiscard]] bool may_keep_one_more() const noexcept {
    return at_rest != nullptr &&
           at_rest->bytes.load(std::memory_order_relaxed) + shape->bytes() <= at_rest->most;
  }
};

/// Returns: the pages of `set`, which is empty more often than not.
[[nodiscard]] inline std::size_t pages_in(page_set set) noexcept {
  return set == 0 ? 0 : count_ones(set);
}

class slab_lists {
 public:
  [[nodiscard]] std::size_t count() const noexcept { return count_.get(); }
  [[nodiscard]] std::size_t listed() const noexcept { return listed_.get(); }
  [[nodiscard]] std::size_t empty() const noexcept { return empty_.get(); }
  /// Returns: the fewest empty slabs since `watch`.
  [[nodiscard]] std::size_t empty_lowest() const noexcept { return empty_lowest_.get(); }
  /// Returns: free pages that the system has, or has not given yet.
  [[nodiscard]] std::size_t absent_pages() const noexcept { return absent_pages_.get(); }
  /// Returns: the most slabs of both sides, as this one saw them.
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }

  void watch() noexcept { empty_lowest_.set(empty()); }

  /// Returns: the slab to take blocks from; null if none has a free one.
  [[nodiscard]] run* fullest() const noexcept {
    for (run* head : lists_)
      if (head != nullptr) return head;
    return nullptr;
  }
  /// Returns: a slab without a block in use, or null. Effects: it is about to leave, so one less
  /// was always there.
  [[nodiscard]] run* next_to_leave() noexcept {
    if (const std::size_t lowest = empty_lowest(); lowest != 0) empty_lowest_.set(lowest - 1);
    return lists_[empty_list];
  }

  /// Effects: `r`, which comes from pages, is one of them. `others` are the other side's.
  void add(run& r, const slab_kind& kind, std::size_t others) noexcept {
    count_ += 1;
    peak_ = std::max(peak_, static_cast<std::uint32_t>(count() + others));
    absent_pages_ += pages_in(r.absent);
    link(r, kind);
  }
  /// Effects: `r` is none of them any more.
  void remove(run& r, const slab_kind& kind) noexcept {
    unlink(r, kind);
    count_ -= 1;
    absent_pages_ -= pages_in(r.absent);
  }
  /// Effects: blocks of `r` were taken, or have come back.
  void relink(run& r, const slab_kind& kind) noexcept {
    if (list_of(r, *kind.shape) == r.fullness) [[likely]]
      return;
    if (r.fullness == purging) return;
    unlink(r, kind);
    link(r, kind);
  }

  /// Effects: `r` is on no list until end_purge: no thread takes blocks of it, or deletes it.
  void begin_purge(run& r, const slab_kind& kind) noexcept {
    unlink(r, kind);
    r.fullness = purging;
  }
  /// Effects: the pages `gone` are absent, and `r` is on its list again.
  void end_purge(run& r, const slab_kind& kind, page_set gone) noexcept {
    r.absent |= gone;
    absent_pages_ += pages_in(gone);
    link(r, kind);
  }
  [[nodiscard]] static bool is_in_purge(const run& r) noexcept { return r.fullness == purging; }

  /// Effects: the pages `taken` have blocks in use.
  void take_pages(run& r, page_set taken) noexcept {
    absent_pages_ -= pages_in(r.absent & taken);
    r.absent &= ~taken;
    r.seen_free &= ~taken;
  }

  /// Returns: the first slab, in the order of the lists, that breaks the invariant, or null.
  /// Effects: `free` is the sum of their free blocks.
  [[nodiscard]] const run* first_wrong(const slab_kind& kind, unsigned side,
                                       std::uint64_t& free) const noexcept {
    const slab_shape& shape = *kind.shape;
    for (std::uint8_t list = 0; list < list_count; ++list) {
      for (const run* r = lists_[list]; r != nullptr; r = r->next) {
        std::uint32_t bits = 0;
        for (std::uint32_t w = 0; w < shape.words; ++w) bits += count_ones(r->free_bits[w]);
        const page_set noted = r->seen_free | r->absent;
        if (bits != r->free_blocks || bits == 0 || r->fullness != list || r->side != side ||
            list_of(*r, shape) != list ||
            (noted != 0 && (noted & ~free_pages(*r, shape, {0, shape.pages})) != 0))
          return r;
        free += bits;
      }
    }
    return nullptr;
  }
  /// Returns: whether the counts are those of the lists.
  [[nodiscard]] bool are_counts_right() const noexcept {
    std::size_t absent = 0, on_list[list_count] = {}, all = 0;
    for (std::uint8_t list = 0; list < list_count; ++list) {
      for (const run* r = lists_[list]; r != nullptr; r = r->next) {
        absent += pages_in(r->absent);
        ++on_list[list];
      }
      all += on_list[list];
    }
    return absent == absent_pages() && on_list[empty_list] == empty() && all == listed();
  }

 private:
  static constexpr std::uint8_t quarters = 4;
  static constexpr std::uint8_t empty_list = quarters;
  static constexpr std::uint8_t list_count = quarters + 1;
  static constexpr std::uint8_t full = list_count;
  static constexpr std::uint8_t purging = list_count + 1;

  [[nodiscard]] static std::uint8_t list_of(const run& r, const slab_shape& shape) noexcept {
    if (r.free_blocks == 0) return full;
    const std::uint32_t quarter = shape.blocks / quarters;
    return static_cast<std::uint8_t>((r.free_blocks > quarter) + (r.free_blocks > 2 * quarter) +
                                     (r.free_blocks > 3 * quarter) +
                                     (r.free_blocks == shape.blocks));
  }
  void link(run& r, const slab_kind& kind) noexcept {
    r.fullness = list_of(r, *kind.shape);
    if (r.fullness == full) return;
    link_first(lists_[r.fullness], r);
    listed_ += 1;
    if (r.fullness != empty_list) return;
    empty_ += 1;
    if (kind.at_rest != nullptr)
      kind.at_rest->bytes.fetch_add(kind.shape->bytes(), std::memory_order_relaxed);
  }
  void unlink(run& r, const slab_kind& kind) noexcept {
    if (r.fullness >= full) return;
    unlink_from(lists_[r.fullness], r);
    listed_ -= 1;
    if (r.fullness != empty_list) return;
    empty_ -= 1;
    if (kind.at_rest != nullptr)
      kind.at_rest->bytes.fetch_sub(kind.shape->bytes(), std::memory_order_relaxed);
    empty_lowest_.set(std::min(empty_lowest(), empty()));
  }

  // 2^32 pages are 16 TiB.
  locked_count<std::uint32_t> count_, listed_, empty_, empty_lowest_, absent_pages_;
  std::uint32_t peak_ = 0;
  run* lists_[list_count] = {};
};

}  // namespace ashlar::detail
