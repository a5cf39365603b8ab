// pages/run_store.hpp: all runs of a heap: how they are cut, what is behind a large block, slabs.
// Layer: pages.
//
//   | large block, 300 pages | its headroom, 300 | free, clean | slab | free, dirty | ...
//
// Which are free, by length and by what is in their pages: free_runs.hpp.
//
// Headroom: clean pages that are kept for the large block in front of them to grow into. It counts
// as nothing, and it is clean again when the block shrinks, moves or is freed.
//
// Pieces: the system remaps only within one mapping, and what was remapped lies in a mapping of its
// own. So each run knows how many such pieces it holds at most.
//
// Invariant (audit): every page below a range's top is in one run. The pages in the bins are those
// of the free runs and headrooms; the runs' pieces sum up to pieces_; clean and closed runs and
// headrooms have none. In front of a headroom is a large or moving run.
// Thread-safety: none; the page heap locks. This file decides nothing: who gets which run, and what
// goes back to the system, is policy (page_supply.hpp, page_heap.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/pages/address_space.hpp>
#include <ashlar/pages/free_runs.hpp>
#include <ashlar/pages/page_range.hpp>
#include <ashlar/pages/run.hpp>
#include <ashlar/pages/sealable.hpp>
#include <ashlar/pages/step_budget.hpp>

namespace ashlar::detail {

/// Where a slab begins: page `page` of range `range`. The class is 0 when there is none.
struct slab_place {
  std::uint32_t range = 0;
  std::size_t page = 0;
  class_index size_class = 0;

  friend constexpr bool operator==(const slab_place&, const slab_place&) = default;

  static constexpr std::uint32_t no_range = UINT32_MAX;
  /// Returns: whether there is no slab at this place or behind it.
  [[nodiscard]] constexpr bool is_end() const noexcept { return range == no_range; }
};

template <address_space Space>
class run_store : public free_runs<Space> {
  using base = free_runs<Space>;

 public:
  using base::make_clean;
  using base::range_of;
  using base::run_behind;
  using base::set_pieces;
  using base::split;

  explicit constexpr run_store(sealable<Space>& space) noexcept : base(space) {}

  /// Effects: cuts `pages` at an aligned address out of `r`, a free run that is in no bin; what is
  /// left is free as it was. Returns: null, with everything in the bins, if no record can be had
  /// for that.
  [[nodiscard]] run* carve(run* r, std::size_t pages, std::size_t align_pages) noexcept {
    const bool zero = r->kind != run_kind::dirty;
    const run_kind rest_kind = zero ? run_kind::clean : run_kind::dirty;
    page_range& range = ranges_[r->range];
    const std::uint32_t since = zero ? 0 : r->dirty_since_ms;
    const std::size_t page_number = range.address_of(r->first) >> page_shift;
    const std::size_t skip = align_up(page_number, align_pages) - page_number;
    if (skip != 0) {
      run* head = this->record_in(range);
      if (head == nullptr) {
        put_back(r, rest_kind, since);
        return nullptr;
      }
      head->first = r->first;
      head->rest = r->rest;
      head->grown = r->grown;
      head->pages = static_cast<std::uint32_t>(skip);
      r->first += static_cast<std::uint32_t>(skip);
      r->pages -= static_cast<std::uint32_t>(skip);
      share_pieces(r, head);
      put_back(head, rest_kind, since);
    }
    if (r->pages > pages) {
      run* tail = split(r, pages);
      if (tail == nullptr) {
        put_back(r, rest_kind, since);
        return nullptr;
      }
      put_back(tail, rest_kind, since);
    }
    r->rest = false;
    r->grown = false;
    r->zero = zero;
    r->cut = 0;
    r->free_blocks = 0;
    return r;
  }

  // ---- what is behind a large block -------------------------------------------------------------

  /// Effects: where a block had grown before, `r` may do so too: others take the dirty pages behind
  /// it last. Where no block has grown, nothing is kept: blocks that never grow would cut up all
  /// long runs.
  void keep_rest(const run& r) noexcept {
    run* behind = run_behind(r);
    if (behind == nullptr || behind->kind != run_kind::dirty || !behind->grown) return;
    bins_of(*behind)->remove(behind);
    behind->rest = true;
    bins_of(*behind)->insert(behind);
  }
  /// Effects: of the clean pages behind `r`, `pages` at most are kept for it.
  void keep_headroom(const run& r, std::size_t pages) noexcept {
    run* headroom = run_behind(r);
    if (headroom == nullptr || headroom->kind != run_kind::clean) return;
    clean_.remove(headroom);
    if (headroom->pages > pages) {
      run* rest = split(headroom, pages);
      if (rest == nullptr) return put_back(headroom, run_kind::clean, 0);
      put_back(rest, run_kind::clean, 0);
    }
    put_back(headroom, run_kind::headroom, 0);
  }

  /// Effects: nothing is kept for `r` any more.
  void end_headroom(const run& r) noexcept {
    if (headrooms_.pages() == 0) return;
    run* headroom = run_behind(r);
    if (headroom == nullptr || headroom->kind != run_kind::headroom) return;
    headrooms_.remove(headroom);
    make_clean(headroom);
  }

  /// Returns: whether one closed page is behind `r`, which is in use.
  [[nodiscard]] bool is_fenced(const run& r) const noexcept {
    const run* const behind = run_behind(r);
    return behind != nullptr && behind->kind == run_kind::closed && behind->pages == 1;
  }

  struct free_pages {
    bool enough = false;
    std::size_t dirty = 0;  ///< of the pages that were looked at
    std::size_t fresh = 0;  ///< that the range has to be extended by
  };
  /// Returns: whether the next `extra` pages behind `r` are free, or end at the range's top. Not
  /// where they are in more than runs_behind_max runs.
  [[nodiscard]] free_pages free_behind(const run& r, std::size_t extra) noexcept {
    std::size_t runs = 0;
    const page_range& range = range_of(r);
    std::size_t page = std::size_t{r.first} + r.pages, dirty = 0;
    const std::size_t end = page + extra;
    open_between(range, page, end);
    while (page < end && page != range.top) {
      const run* free = range.run_at(page);
      if (free == nullptr || bins_of(*free) == nullptr || runs++ == runs_behind_max) return {};
      if (free->kind == run_kind::closed) return {};  // the system did not open it
      note_steps<Space>(step::run_passed, 1);
      if (free->kind == run_kind::dirty) dirty += std::min<std::size_t>(free->pages, end - page);
      page += free->pages;
    }
    return {true, dirty, page < end ? end - page : 0};
  }
  /// Effects: adds the `extra` pages behind `r` to it. Returns: false, with nothing changed, when
  /// memory was refused. Requires: `behind` is what free_behind just returned for them.
  [[nodiscard]] bool extend(run* r, std::size_t extra, const free_pages& behind) noexcept {
    page_range& range = range_of(*r);
    if (behind.fresh != 0 && !range.extend(space_, behind.fresh)) return false;
    const std::size_t begin = std::size_t{r->first} + r->pages, end = begin + extra;
    std::size_t pieces = 0;
    // What was fresh is in no run; the others are taken, the last perhaps in part.
    for (std::size_t page = begin; page < std::min(end, range.top);) {
      run* free = range.run_at(page);
      if (free == nullptr) break;
      page += free->pages;
      pieces += free->pieces;
      take_front(free, std::min<std::size_t>(free->pages, end - free->first));
    }
    r->pages += static_cast<std::uint32_t>(extra);
    r->grown = true;
    range.note_ends(*r);
    if (pieces != 0) {
      r->cut = 0;
      set_pieces(r, r->pieces + pieces);
    }
    return true;
  }

  // ---- slabs ------------------------------------------------------------------------------------

  /// Returns: the first slab that begins at or behind page `from.page` of range `from.range`. Where
  /// `left` is spent before, the place to go on from, of class 0. Behind the last slab, a place for
  /// which is_end.
  [[nodiscard]] slab_place next_slab(slab_place from, step_budget& left) noexcept {
    from.size_class = 0;
    for (; from.range < ranges_.count(); ++from.range, from.page = 0) {
      const page_range& range = ranges_[from.range];
      while (from.page < range.top) {
        if (!left.is_left()) return from;
        left.spend<Space>(step::run_passed);
        const run* r = range.run_at(from.page);
        const bool begins = r != nullptr && r->first == from.page;
        if (begins && r->kind == run_kind::slab) return {from.range, from.page, r->size_class};
        from.page += begins ? r->pages : 1;  // inside of a run that has merged since
      }
    }
    return {.range = slab_place::no_range};
  }
  /// Returns: the slab of class `c` and of `side` that begins at `place`, null if there is none.
  /// Valid while the lock of that side is held.
  [[nodiscard]] run* slab_at(slab_place place, class_index c, std::uint8_t side) noexcept {
    if (place.range >= ranges_.count()) return nullptr;
    run* r = ranges_[place.range].run_at(place.page);
    const bool found = r != nullptr && r->kind == run_kind::slab && r->size_class == c &&
                       r->side == side && r->first == place.page;
    return found ? r : nullptr;
  }

  // ---- pieces -----------------------------------------------------------------------------------

  /// Returns: whether a block's pages may be remapped: the system moves only within one mapping, so
  /// its borders must be known; and a process may have no more than some 65,000 mappings.
  [[nodiscard]] bool is_movable(const run& r) const noexcept {
    return (r.pieces == 0 || r.cut != 0) && pieces_ < pieces_max;
  }

  /// Effects: checks the invariant; ends in a fault that names the heap by `name` if it does not
  /// hold. Returns: pages in use. O(pages).
  [[nodiscard]] std::size_t audit(const char* name) const noexcept {
    std::size_t used = 0, dirty = 0, clean = 0, closed = 0, headroom = 0, moving = 0, pieces = 0;
    std::size_t closed_runs = 0;
    for (std::uint32_t i = 0; i < ranges_.count(); ++i) {
      for (std::size_t page = 0; page < ranges_[i].top;) {
        const run* r = ranges_[i].run_at(page);
        if (r == nullptr || r->first != page || r->pages == 0)
          corrupted(ranges_[i].address_of(page), name);
        (r->kind == run_kind::dirty      ? dirty
         : r->kind == run_kind::clean    ? clean
         : r->kind == run_kind::closed   ? closed
         : r->kind == run_kind::headroom ? headroom
         : r->kind == run_kind::moving   ? moving
                                         : used) += r->pages;
        pieces += r->pieces;
        closed_runs += r->kind == run_kind::closed ? 1u : 0u;
        // A headroom is behind the block that it is kept for, and no more than that.
        const bool astray = r->kind == run_kind::headroom && block_before(*r) == nullptr;
        const bool is_split =
            r->pieces != 0 && (r->kind == run_kind::clean || r->kind == run_kind::closed ||
                               r->kind == run_kind::headroom);
        if (astray || is_split) corrupted(ranges_[i].address_of(page), name);
        page += r->pages;
      }
    }
    if (dirty != this->dirty_pages() || clean != clean_.pages() || closed != closed_.pages() ||
        headroom != headrooms_.pages() || pieces != pieces_ || closed_runs != closed_runs_)
      corrupted(0, name);
    return used;
  }

 private:
  friend struct heap_layout;  // tells where the members are
  using base::bins_of;
  using base::clean_;
  using base::closed_;
  using base::closed_runs_;
  using base::dirty_;
  using base::headrooms_;
  using base::opened;
  using base::pieces_;
  using base::put_back;
  using base::ranges_;
  using base::share_pieces;
  using base::space_;
  /// Each piece has two borders, so these are less than a sixth of the mappings of a process.
  static constexpr std::size_t pieces_max = 4096;
  /// A block grows into so many free runs at once: dirty and clean ones may alternate.
  static constexpr std::size_t runs_behind_max = 8;

  [[noreturn]] ASHLAR_COLD static void corrupted(std::uintptr_t address,
                                                 const char* name) noexcept {
    ashlar_fault({.kind = fault_kind::corrupted,
                  .call = "audit",
                  .address = reinterpret_cast<void*>(address),
                  .pool = name});
  }

  /// Effects: closed runs among the first free ones in pages [page, end) are clean.
  void open_between(const page_range& range, std::size_t page, std::size_t end) noexcept {
    if (closed_runs_ == 0 || space_.is_sealed()) return;
    for (std::size_t runs = 0; page < end && page != range.top && runs++ != runs_behind_max;) {
      run* r = range.run_at(page);
      if (r == nullptr || bins_of(*r) == nullptr) return;
      if (r->kind == run_kind::closed) {
        closed_.remove(r);
        r = opened(r, end - r->first);
        if (r == nullptr) return;
        put_back(r, run_kind::clean, 0);
      }
      page = std::size_t{r->first} + r->pages;
    }
  }

  /// Returns: the block that a headroom is kept for.
  [[nodiscard]] const run* block_before(const run& headroom) const noexcept {
    if (headroom.first == 0) return nullptr;
    const run* r = ranges_[headroom.range].run_at(headroom.first - 1);
    const bool owns = r != nullptr && (r->kind == run_kind::large || r->kind == run_kind::moving);
    return owns ? r : nullptr;
  }

  /// Effects: a free run loses its first `pages`, or goes when it has no more.
  void take_front(run* free, std::size_t pages) noexcept {
    bins_of(*free)->remove(free);
    if (free->pages == pages) {
      set_pieces(free, 0);
      ranges_[free->range].delete_run(free);
      return;
    }
    free->first += static_cast<std::uint32_t>(pages);
    free->pages -= static_cast<std::uint32_t>(pages);
    set_pieces(free, free->pieces);
    put_back(free, free->kind, free->dirty_since_ms);
  }
};

}  // namespace ashlar::detail
