// heap/run_store.hpp: all runs of a heap: which are free, how they are cut and merged.
// Layer: heap.
//
//   | large block, 300 pages | its headroom, 300 | free, clean | slab | free, dirty | ...
//
// A free run is dirty or clean (docs/architecture.md), and merges with free neighbours of its own
// kind. Dirty and clean are never merged with each other: that would either lose the knowledge that
// pages are zero or call memory resident that is not. Best fit, from bins by length (run_bins.hpp).
//
// Headroom: clean pages that are kept for the large block in front of them to grow into. It counts
// as nothing, and it is clean again when the block shrinks, moves or is freed.
//
// Pieces: the system remaps only within one mapping, and what was remapped lies in a mapping of its
// own. So each run knows how many such pieces it holds at most.
//
// Invariant (audit): every page below a range's top is in one run. The pages in the bins are those
// of the free runs and headrooms; the runs' pieces sum up to pieces_; clean runs and headrooms have
// none. In front of a headroom is a large or moving run.
// Thread-safety: none; the page heap locks. This file decides nothing: who gets which run, and what
// goes back to the system, is policy (page_supply.hpp, page_heap.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/heap/address_space.hpp>
#include <ashlar/heap/page_range.hpp>
#include <ashlar/heap/range_set.hpp>
#include <ashlar/heap/run.hpp>
#include <ashlar/heap/run_bins.hpp>
#include <ashlar/heap/sealable.hpp>
#include <ashlar/heap/work_bound.hpp>

namespace ashlar::detail {

/// Where a slab begins: page `page` of range `range`. The class is 0 when there is none.
struct slab_place {
  std::uint32_t range = 0;
  std::size_t page = 0;
  class_index size_class = 0;

  static constexpr std::uint32_t no_range = UINT32_MAX;
  /// Returns: whether there is no slab at this place or behind it.
  [[nodiscard]] constexpr bool is_end() const noexcept { return range == no_range; }
};

template <address_space Space>
class run_store {
 public:
  using ranges_type = range_set<sealable<Space>>;

  explicit constexpr run_store(sealable<Space>& space) noexcept : space_(space), ranges_(space) {}
  run_store(const run_store&) = delete;
  run_store& operator=(const run_store&) = delete;

  [[nodiscard]] ranges_type& ranges() noexcept { return ranges_; }
  [[nodiscard]] const ranges_type& ranges() const noexcept { return ranges_; }
  [[nodiscard]] page_range& range_of(const run& r) noexcept { return ranges_[r.range]; }
  [[nodiscard]] char* address_of(const run& r) const noexcept {
    return reinterpret_cast<char*>(ranges_[r.range].address_of(r.first));
  }
  [[nodiscard]] run* run_behind(const run& r) const noexcept {
    return ranges_[r.range].run_at(std::size_t{r.first} + r.pages);
  }

  /// Effects: `r`, in no bin, is of kind `kind` from now on.
  void set_kind(run* r, run_kind kind) noexcept {
    r->kind = kind;
    range_of(*r).note_ends(*r);
  }

  // ---- free runs: a run that is taken is in no bin, and the caller's to cut or to make free -----

  [[nodiscard]] std::size_t dirty_pages() const noexcept { return dirty_.pages() + rests_.pages(); }
  [[nodiscard]] std::size_t headroom_pages() const noexcept { return headrooms_.pages(); }

  /// Returns: a run of at least `length` pages; null if there is none. All but take_fresh leave
  /// the number of ranges as it is.
  [[nodiscard]] run* take_dirty(std::size_t length) noexcept { return take_from(dirty_, length); }
  /// The same of dirty runs behind large blocks that may grow into them.
  [[nodiscard]] run* take_rest(std::size_t length) noexcept { return take_from(rests_, length); }
  [[nodiscard]] run* take_clean(std::size_t length) noexcept { return take_from(clean_, length); }
  /// The same, clean, at the top of a range.
  [[nodiscard]] run* take_fresh_here(std::size_t length) noexcept {
    if (space_.is_sealed()) return nullptr;
    run* r = ranges_.take_fresh_here(length);
    // With clean pages before them they are one run, or a rest of these would stand beside those.
    return r == nullptr ? nullptr : merge(r, run_kind::clean, [](const run*) {});
  }

  /// The same in a range of its own, where the others have no room.
  [[nodiscard]] run* take_fresh(std::size_t length) noexcept {
    return space_.is_sealed() ? nullptr : ranges_.take_fresh(length);
  }
  /// Effects: `most` headrooms, which are not kept any more, serve others: where these would get nothing,
  /// or only by a new range, what is in use comes first. Returns: as take_clean.
  [[nodiscard]] run* take_from_headrooms(std::size_t length, std::size_t most) noexcept {
    if (headrooms_.pages() == 0) return nullptr;
    headrooms_.visit_from(0, [this, &most](run* headroom) {
      headrooms_.remove(headroom);
      make_clean(headroom);
      note_turns<Space>(turn::run_passed, 1);
      return --most != 0;
    });
    return take_from(clean_, length);
  }

  /// Effects: visit(run*) for dirty runs from bin `bin` on, until it returns false. The visit may take it
  /// out. Returns: the bin to go on with; dirty_bins_end where all were visited.
  template <class Visit>
  unsigned each_dirty(unsigned bin, Visit visit) noexcept {
    if (bin < run_bins::bins_end) bin = dirty_.visit_from(bin, visit);
    if (bin < run_bins::bins_end) return bin;
    return run_bins::bins_end + rests_.visit_from(bin - run_bins::bins_end, visit);
  }
  static constexpr unsigned dirty_bins_end = 2 * run_bins::bins_end;
  /// Effects: `r`, which is free, is in no bin.
  void take_out(run* r) noexcept { bins_of(*r)->remove(r); }

  /// Effects: a run that is in no bin becomes dirty, merged with its dirty neighbours.
  void make_dirty(run* r) noexcept {
    auto now = static_cast<std::uint32_t>(space_.now_ms());
    const std::uint32_t own = r->pages;
    std::uint32_t longest = own;
    auto take_age = [&](const run* other) {
      // The merged run is as old as its longest part: small arrivals do not keep a large one young.
      if (other->pages > longest) {
        longest = other->pages;
        now = other->dirty_since_ms;
      }
    };
    const bool rest = r->rest;
    r = merge(r, run_kind::dirty, take_age);
    r->rest = rest;
    put_back(r, run_kind::dirty, now);
  }

  /// Effects: a run that is in no bin becomes clean, merged with its clean neighbours; a later
  /// range that is empty then goes, and so does a long run at the top of a range in a room, and `r`
  /// with it: what the heap gives back, others can map.
  void make_clean(run* r) noexcept {
    r->grown = r->rest = false;
    r = merge(r, run_kind::clean, [](const run*) {});
    page_range& range = ranges_[r->range];
    const std::size_t first = r->first;
    if (r->range != 0 && r->pages == range.top) {
      ranges_.release(range);
    } else if (first + r->pages == range.top && range.may_retreat(r->pages)) {
      range.delete_run(r);
      range.retreat(space_, first);
    } else {
      put_back(r, run_kind::clean, 0);
    }
  }

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
      run* head = range.new_run(space_);
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

  /// Effects: cuts `r` after `pages`. Returns: the rest, of no kind yet; null if no record was
  /// left.
  [[nodiscard]] run* split(run* r, std::size_t pages) noexcept {
    run* tail = ranges_[r->range].new_run(space_);
    if (tail == nullptr) return nullptr;
    tail->first = r->first + static_cast<std::uint32_t>(pages);
    tail->pages = r->pages - static_cast<std::uint32_t>(pages);
    r->pages = static_cast<std::uint32_t>(pages);
    tail->grown = r->grown;
    share_pieces(r, tail);
    return tail;
  }

  /// Effects: the bins are in memory.
  void populate() noexcept {
    for (run_bins* bins : {&dirty_, &rests_, &clean_, &headrooms_}) bins->populate();
  }

  // ---- what is behind a large block -------------------------------------------------------------

  /// Effects: where a block had grown before, `r` may do so too: others take the dirty pages behind
  /// it last. Not where none has, or blocks that never grow would cut up all long runs.
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

  struct free_pages {
    bool enough = false;
    std::size_t dirty = 0;  ///< of the pages that were looked at
    std::size_t fresh = 0;  ///< that the range has to be extended by
  };
  /// Returns: whether the next `extra` pages behind `r` are free, or end at the range's top. Not where they
  /// are in more than runs_behind_max runs.
  [[nodiscard]] free_pages free_behind(const run& r, std::size_t extra) noexcept {
    std::size_t runs = 0;
    const page_range& range = range_of(r);
    std::size_t page = std::size_t{r.first} + r.pages, dirty = 0;
    const std::size_t end = page + extra;
    while (page < end && page != range.top) {
      const run* free = range.run_at(page);
      if (free == nullptr || bins_of(*free) == nullptr || runs++ == runs_behind_max) return {};
      note_turns<Space>(turn::run_passed, 1);
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

  /// Returns: the first slab that begins at or behind page `from.page` of range `from.range`. Where `left`
  /// is spent before, the place to go on from, of class 0. Behind the last slab, a place for which is_end.
  [[nodiscard]] slab_place next_slab(slab_place from, work& left) noexcept {
    from.size_class = 0;
    for (; from.range < ranges_.count(); ++from.range, from.page = 0) {
      const page_range& range = ranges_[from.range];
      while (from.page < range.top) {
        if (!left.is_left()) return from;
        left.spend<Space>(turn::run_passed);
        const run* r = range.run_at(from.page);
        const bool begins = r != nullptr && r->first == from.page;
        if (begins && r->kind == run_kind::slab) return {from.range, from.page, r->size_class};
        from.page += begins ? r->pages : 1;  // inside of a run that has merged since
      }
    }
    return {.range = slab_place::no_range};
  }
  /// Returns: the slab of class `c` that begins at `place`, null if there is none. Valid while
  /// the lock of that class is held.
  [[nodiscard]] run* slab_at(slab_place place, class_index c) noexcept {
    if (place.range >= ranges_.count()) return nullptr;
    run* r = ranges_[place.range].run_at(place.page);
    const bool found =
        r != nullptr && r->kind == run_kind::slab && r->size_class == c && r->first == place.page;
    return found ? r : nullptr;
  }

  // ---- pieces -----------------------------------------------------------------------------------

  /// Effects: counts `n` pieces in `r`, but no more than it has pages.
  void set_pieces(run* r, std::size_t n) noexcept {
    pieces_ -= r->pieces;
    r->pieces =
        static_cast<std::uint16_t>(std::min({n, std::size_t{r->pages}, std::size_t{UINT16_MAX}}));
    pieces_ += r->pieces;
  }

  /// Returns: whether a block's pages may be remapped: the system moves only within one mapping, so
  /// its borders must be known; and a process may have no more than some 65,000 mappings.
  [[nodiscard]] bool is_movable(const run& r) const noexcept {
    return (r.pieces == 0 || r.cut != 0) && pieces_ < pieces_max;
  }

  /// Effects: checks the invariant; ends in a fault that names the heap by `name` if it does not
  /// hold. Returns: pages in use. O(pages).
  [[nodiscard]] std::size_t audit(const char* name) const noexcept {
    std::size_t used = 0, dirty = 0, clean = 0, headroom = 0, moving = 0, pieces = 0;
    for (std::uint32_t i = 0; i < ranges_.count(); ++i) {
      for (std::size_t page = 0; page < ranges_[i].top;) {
        const run* r = ranges_[i].run_at(page);
        if (r == nullptr || r->first != page || r->pages == 0)
          corrupted(ranges_[i].address_of(page), name);
        (r->kind == run_kind::dirty      ? dirty
         : r->kind == run_kind::clean    ? clean
         : r->kind == run_kind::headroom ? headroom
         : r->kind == run_kind::moving   ? moving
                                         : used) += r->pages;
        pieces += r->pieces;
        // A headroom is behind the block that it is kept for, and no more than that.
        const bool astray = r->kind == run_kind::headroom && block_before(*r) == nullptr;
        const bool split =
            r->pieces != 0 && (r->kind == run_kind::clean || r->kind == run_kind::headroom);
        if (astray || split) corrupted(ranges_[i].address_of(page), name);
        page += r->pages;
      }
    }
    if (dirty != dirty_pages() || clean != clean_.pages() || headroom != headrooms_.pages() ||
        pieces != pieces_)
      corrupted(0, name);
    return used;
  }

 private:
  friend struct heap_layout;  // tells where the members are
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

  [[nodiscard]] static run* take_from(run_bins& bins, std::size_t length) noexcept {
    run* r = bins.find(length);
    if (r != nullptr) bins.remove(r);
    return r;
  }

  /// Returns: the block that a headroom is kept for.
  [[nodiscard]] const run* block_before(const run& headroom) const noexcept {
    if (headroom.first == 0) return nullptr;
    const run* r = ranges_[headroom.range].run_at(headroom.first - 1);
    const bool owns = r != nullptr && (r->kind == run_kind::large || r->kind == run_kind::moving);
    return owns ? r : nullptr;
  }

  /// Effects: `part` was cut off `r`; how many pieces each has is not known, so both have all.
  void share_pieces(run* r, run* part) noexcept {
    set_pieces(part, r->pieces);
    set_pieces(r, r->pieces);
  }

  void put_back(run* r, run_kind kind, std::uint32_t since) noexcept {
    r->kind = kind;
    r->dirty_since_ms = since;
    ranges_[r->range].note_ends(*r);
    bins_of(*r)->insert(r);
  }
  /// Returns: where a free run is; null when it is in use. What is left behind a block is taken
  /// after all that is as good: the block may grow into it.
  [[nodiscard]] run_bins* bins_of(const run& r) noexcept {
    if (r.kind == run_kind::dirty) return r.rest ? &rests_ : &dirty_;
    if (r.kind == run_kind::clean) return &clean_;
    return r.kind == run_kind::headroom ? &headrooms_ : nullptr;
  }

  template <class Note>
  [[nodiscard]] run* merge(run* r, run_kind kind, Note note) noexcept {
    page_range& range = ranges_[r->range];
    if (r->first != 0) {
      run* before = range.run_at(r->first - 1);
      if (before != nullptr && before->kind == kind) {
        bins_of(*before)->remove(before);
        note(before);
        before->pages += r->pages;
        absorb(before, r);
        r = before;
      }
    }
    run* after = range.run_at(std::size_t{r->first} + r->pages);
    if (after != nullptr && after->kind == kind) {
      bins_of(*after)->remove(after);
      note(after);
      r->pages += after->pages;
      absorb(r, after);
    }
    return r;
  }
  /// Effects: the record of `part`, whose pages `r` has now, is free.
  void absorb(run* r, run* part) noexcept {
    const std::size_t pieces = std::size_t{r->pieces} + part->pieces;
    r->grown = r->grown || part->grown;
    set_pieces(part, 0);
    set_pieces(r, pieces);
    ranges_[part->range].delete_run(part);
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

  sealable<Space>& space_;
  ranges_type ranges_;
  run_bins dirty_, rests_, clean_, headrooms_;
  std::size_t pieces_ = 0;
};

}  // namespace ashlar::detail
