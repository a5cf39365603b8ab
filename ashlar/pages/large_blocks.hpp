// pages/large_blocks.hpp: large blocks: runs of pages that grow, shrink and move.
// Layer: pages.
//
//   page_heap      slabs; which slab or large block an address is in
//   this file      large blocks
//   page_supply    which pages a request gets, the most there may be, what goes back and when
//
// A large block that has to move because it grows gets headroom: clean pages behind it are kept for
// it, as many as it has. So what is moved over a block's life is in proportion to its length, and
// growth between two moves costs no system call.
//
//   | large block, 300 pages | its headroom, 300 | free, clean | ...
//
// A freed block is closed where its memory goes back at once: an access after its free ends there.
// So is the page behind each of the first blocks of a process: what runs past such a block ends
// there, too.
//
//   | large block, 64 pages | closed page | large block ...
//
// A block moves by remapping where the system can do that. A run that holds pieces of other
// mappings is healed by a fresh mapping when its memory goes back to the system.
//
// Thread-safety: any caller at any time, by the lock of the supply.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include <ashlar/core/lock_order.hpp>
#include <ashlar/pages/address_space.hpp>
#include <ashlar/pages/page_range.hpp>
#include <ashlar/pages/page_supply.hpp>
#include <ashlar/pages/run.hpp>
#include <ashlar/pages/sealable.hpp>

namespace ashlar::detail {

/// How many large blocks there are, and their pages.
struct large_block_stats {
  std::uint64_t large_runs = 0, large_runs_peak = 0, large_pages = 0, large_pages_peak = 0;
  std::uint64_t large_made = 0, large_freed = 0;
};

/// Which blocks' memory goes back to the system when they are freed.
enum class closing : std::uint8_t {
  never,  ///< none but that of outgrown blocks: others use it first
  /// That of blocks that were made before any as large was freed, up to 9 MiB in a heap's life, if
  /// free memory goes back at all; and the page behind each of the first 128 blocks above 32 KiB is
  /// closed. So it costs a program next to nothing, however it goes on.
  first,
  always,  ///< of each block; its pages are zero afterwards, whatever the system says
};

template <address_space Space, class Mutex>
class large_blocks {
 public:
  using supply_type = page_supply<Space, Mutex>;

  explicit constexpr large_blocks(sealable<Space>& space) noexcept : supply_(space) {}
  large_blocks(const large_blocks&) = delete;
  large_blocks& operator=(const large_blocks&) = delete;

  [[nodiscard]] constexpr supply_type& supply() noexcept { return supply_; }
  [[nodiscard]] const supply_type& supply() const noexcept { return supply_; }

  /// Effects: from now on new blocks' pages are closed as `which` says.
  void close_freed(closing which) noexcept {
    const std::lock_guard guard(supply_.mutex());
    closing_ = which;
    space().prefer_guards(which == closing::always);
    supply_.let_closed_wait(which == closing::always  ? closed_wait_max
                            : which == closing::first ? first_pages_max
                                                      : 0);
  }

  /// A large block, or none: 0 bytes.
  struct large_place {
    std::size_t bytes = 0;
    std::uint64_t note = 0;  ///< the last one that was made of it; at first 0
  };
  [[nodiscard]] large_place find(const void* address) noexcept {
    const std::lock_guard guard(supply_.mutex());
    const run* const r = at_locked(address);
    return r == nullptr ? large_place{} : large_place{std::size_t{r->pages} << page_shift, r->note};
  }
  /// Effects: the large block at `address`, if one starts there, has this note.
  void note(const void* address, std::uint64_t what) noexcept {
    const std::lock_guard guard(supply_.mutex());
    if (run* const r = at_locked(address); r != nullptr) r->note = what;
  }

  /// Returns: the large block that starts at `address`, null if none does.
  [[nodiscard]] run* at(const void* address) noexcept {
    const std::lock_guard guard(supply_.mutex());
    return at_locked(address);
  }

  /// Returns: a run of `pages` whose address is a multiple of `align_pages` pages, or null.
  /// Requires: pages > 0; align_pages is a power of two.
  [[nodiscard]] run* make(std::size_t pages, std::size_t align_pages, growth g) noexcept {
    const std::lock_guard guard(supply_.mutex());
    if (pages < UINT32_MAX && may_fence())
      if (run* const r = supply_.take(pages + 1, align_pages, g); r != nullptr && try_fence(r))
        return r;
    return made_large(supply_.take(pages, align_pages, g));
  }

  /// Effects: gives the pages of a long block back to the system, unless they are zero. Returns:
  /// whether they are zero now. Requires: nobody has the block yet.
  [[nodiscard]] bool try_clear(const run& r) noexcept {
    return r.zero || (r.pages >= purged_to_clear_pages_min &&
                      space().purge(runs().address_of(r), std::size_t{r.pages} << page_shift));
  }

  /// Returns: as `make`, a place for a block that has to move because it grows: there is
  /// headroom to grow again behind it, unless addresses are short.
  [[nodiscard]] run* make_to_grow(std::size_t pages, growth g) noexcept {
    const std::lock_guard guard(supply_.mutex());
    if (pages > UINT32_MAX) return nullptr;
    // The pages are about to be written, and dirty ones are in memory. What is left behind them is
    // not kept for the block, but others take it last.
    run* r = runs().take_dirty(pages + headroom_for(pages));
    if (r == nullptr) r = runs().take_dirty(pages + headroom_for(pages) / 4);
    if (r != nullptr) return made_large(supply_.count_used(runs().carve(r, pages, 1)));
    // Clean pages would cost page faults; a sealed heap prefers what is in memory, headroom or not.
    if (space().is_sealed() || !supply_.within_max(pages)) return nullptr;
    return made_large(supply_.count_used(take_with_headroom(pages, g)));
  }

  /// Effects: takes back the large block that starts at `address`. Returns: its bytes, or 0 when no
  /// large block starts there, and then changes nothing.
  [[nodiscard]] std::size_t remove(void* address) noexcept {
    return remove(address, kept_split_pages_max);
  }
  /// Effects: as `remove`, for a block that was copied because it could not grow. The next
  /// block there could not grow either, so a place whose mapping is split is given back at once.
  [[nodiscard]] std::size_t remove_outgrown(void* address) noexcept { return remove(address, 0); }

  /// Effects: makes a large block `pages` long where it stands. Returns: false if it cannot grow
  /// there; shrinking always works unless no record can be had for the rest.
  [[nodiscard]] bool resize(run* r, std::size_t pages) noexcept {
    const std::lock_guard guard(supply_.mutex());
    const std::size_t before = r->pages;
    const bool done = pages <= before ? shrink(r, pages) : grow(r, pages - before);
    if (done) {
      stats_.large_pages -= before;
      count_large_pages(r->pages);
    }
    return done;
  }

  /// Effects: the large block `from` becomes one of `pages` pages, with headroom to grow behind it,
  /// by remapping. Only what it grows by counts as more memory. Returns: the new run, and `from` is
  /// gone; or null, and `from` is as it was. Requires: pages >= from->pages.
  [[nodiscard]] run* move(run* from, std::size_t pages) noexcept {
    const std::size_t extra = pages - from->pages;
    const std::lock_guard guard(supply_.mutex());
    if (space().is_sealed() || !runs().is_movable(*from) || pages > UINT32_MAX) return nullptr;
    if (!supply_.within_max(extra)) {
      const unlock_guard open(supply_.mutex());
      supply_.purge_all();
    }
    if (!supply_.within_max(extra)) return nullptr;
    run* to = take_with_headroom(pages, growth::allowed);
    if (to == nullptr) return nullptr;
    runs().set_kind(to, run_kind::moving);
    supply_.use(extra);
    bool done = false;
    {
      const unlock_guard open(supply_.mutex());
      done = remap(*from, *to);
    }
    if (!done) {
      supply_.unuse(extra);
      runs().end_headroom(*to);
      supply_.renew(to);
      return nullptr;
    }
    to->kind = run_kind::large;
    to->note = 0;
    to->closes = will_close(to->pages);
    to->grown = true;
    to->cut = from->pieces == 0 ? from->pages : 0;
    runs().set_pieces(to, from->pieces + 1u);
    ++stats_.large_made;
    ++stats_.large_freed;
    stats_.large_pages -= from->pages;
    count_large_pages(to->pages);
    runs().end_headroom(*from);
    from->kind = run_kind::moving;
    // What was left reads as zero and is in no memory.
    if (from->pieces != 0)
      supply_.renew(from);
    else if (!closes_now(*from) || !supply_.shut(from))
      runs().make_clean(from);
    return to;
  }

  // ---- for who holds the lock ------------------------------------------------------------------

  /// Returns: whether the page behind a block that is made now is to be closed.
  [[nodiscard]] bool may_fence() noexcept {
    return closing_ == closing::first && fences_left_ != 0 && !space().is_sealed();
  }
  /// Another thread may have had the last one since may_fence(): this is one more then.
  void count_fence() noexcept { fences_left_ -= fences_left_ != 0 ? 1u : 0u; }

  [[nodiscard]] const large_block_stats& stats() const noexcept { return stats_; }

 private:
  [[nodiscard]] run_store<Space>& runs() noexcept { return supply_.runs(); }
  [[nodiscard]] sealable<Space>& space() noexcept { return supply_.space(); }

  friend struct heap_layout;  // tells where the members are

  supply_type supply_;
  large_block_stats stats_;
  closing closing_ = closing::never;
  /// The most pages that a freed block had, or one that has a class.
  std::uint32_t freed_pages_max_ = small_size_max >> page_shift;
  /// So many pages may still be closed by closing::first: what a process pays for them, it pays
  /// once.
  std::uint32_t first_pages_left_ = first_pages_max;
  /// So many blocks still get a closed page behind them by closing::first. One costs a system call
  /// and two mappings.
  std::uint32_t fences_left_ = 128;
  /// A freed block of more pages than this whose mapping is split gives its memory back at once: it
  /// grew in steps, and what it had is much to hold for somebody else.
  static constexpr std::size_t kept_split_pages_max = 1024;
  /// From this length on, pages that are to be zero go back to the system instead of being written.
  /// Most of a long block may be in no memory, and writing brings in all of it: for a gibibyte with
  /// one page in memory 0.35 s instead of some us. Where all of 64 MiB is in memory, and is written
  /// again, it costs: 50 ms instead of 8. The C library's malloc has fresh pages from here on, too.
  static constexpr std::size_t purged_to_clear_pages_min = (std::size_t{32} << 20) / page_size;
  /// By closing::always addresses come back after 64 MiB of others were closed, if there are
  /// others.
  static constexpr std::size_t closed_wait_max = (std::size_t{64} << 20) >> page_shift;
  static constexpr std::uint32_t first_pages_max = (std::uint32_t{9} << 20) >> page_shift;
  [[nodiscard]] run* at_locked(const void* address) noexcept {
    const page_range* range = runs().ranges().find(reinterpret_cast<std::uintptr_t>(address));
    if (range == nullptr) return nullptr;
    run* r = range->run_at(range->page_of(reinterpret_cast<std::uintptr_t>(address)));
    const bool starts =
        r != nullptr && r->kind == run_kind::large && runs().address_of(*r) == address;
    return starts ? r : nullptr;
  }

  /// Effects: `r`, which may be null, is a large block from now on. Returns: it.
  [[nodiscard]] run* made_large(run* r) noexcept {
    if (r == nullptr) return nullptr;
    runs().set_kind(r, run_kind::large);
    r->note = 0;
    r->closes = will_close(r->pages);
    runs().keep_rest(*r);
    ++stats_.large_made;
    count_large_pages(r->pages);
    stats_.large_runs_peak = std::max(stats_.large_runs_peak, ++stats_.large_runs);
    return r;
  }
  /// Effects: as above; a run of more pages than that goes back at once if its mapping is split.
  [[nodiscard]] std::size_t remove(void* address, std::size_t split_pages_kept) noexcept {
    const std::lock_guard guard(supply_.mutex());
    run* r = at_locked(address);
    if (r == nullptr) return 0;
    const std::size_t bytes = std::size_t{r->pages} << page_shift;
    ++stats_.large_freed;
    --stats_.large_runs;
    stats_.large_pages -= r->pages;
    runs().end_headroom(*r);
    if (!closed(r)) {
      if (r->pieces != 0 && r->pages > split_pages_kept && !space().is_sealed()) {
        supply_.heal(r);
      } else {
        // One page that stays closed would keep the pages on both sides of it apart.
        if (runs().is_fenced(*r)) static_cast<void>(grow(r, 1));
        supply_.give(r);
      }
    }
    return bytes;
  }
  /// Effects: a run in use is a large block and a closed page behind it, which stays open where the
  /// system refuses. The lock is open meanwhile. Returns: false when no record can be had for that
  /// page; then the run is free.
  [[nodiscard]] bool try_fence(run* r) noexcept {
    run* const fence = runs().split(r, r->pages - 1);
    if (fence == nullptr) {
      supply_.give(r);
      return false;
    }
    count_fence();
    runs().set_kind(fence, run_kind::purging);
    static_cast<void>(made_large(r));
    if (!supply_.close(fence, false)) supply_.give(fence);
    return true;
  }
  /// Returns: whether a block of `pages` that is made now is closed when it is freed.
  [[nodiscard]] bool will_close(std::size_t pages) const noexcept {
    return closing_ == closing::always || (closing_ == closing::first && pages > freed_pages_max_);
  }
  /// Returns: whether the pages that a block leaves are to be closed.
  [[nodiscard]] bool closes_now(const run& r) noexcept {
    if (closing_ != closing::first) return closing_ == closing::always;
    freed_pages_max_ = std::max(freed_pages_max_, r.pages);
    if (!r.closes || r.pages > first_pages_left_ || !supply_.gives_back_now()) return false;
    first_pages_left_ -= r.pages;
    return true;
  }
  /// Effects: pages in use that a block leaves go back at once, if it is one whose pages do.
  /// Returns: false when they are still in use. Then they hold nothing that was ever a caller's, if
  /// all blocks' pages are to go.
  [[nodiscard]] bool closed(run* r) noexcept {
    if (!closes_now(*r)) return false;
    if (closing_ == closing::first) return supply_.close(r, true);
    if (supply_.close(r, false)) return true;
    // A page in it may be closed, and all are to be zero: a fresh mapping, if the system may be
    // asked.
    if (!space().is_sealed()) {
      supply_.heal(r);
      return true;
    }
    const std::size_t bytes = std::size_t{r->pages} << page_shift;
    char* const begin = runs().address_of(*r);
    if (!space().reopen(begin, bytes)) {
      r->kind = run_kind::lost;
      return true;
    }
    std::memset(begin, 0, bytes);
    return false;
  }
  void count_large_pages(std::size_t pages) noexcept {
    stats_.large_pages += pages;
    stats_.large_pages_peak = std::max(stats_.large_pages_peak, stats_.large_pages);
  }

  /// Effects: adds the `extra` pages behind `r` to it: its headroom, free runs, and fresh pages
  /// where these end at the range's top. Returns: false, with nothing changed, when others are in
  /// the way or memory is refused.
  [[nodiscard]] bool grow(run* r, std::size_t extra) noexcept {
    if (extra > UINT32_MAX - r->pages) return false;
    const auto behind = runs().free_behind(*r, extra);
    if (!behind.enough || !supply_.within_max(extra - behind.dirty)) return false;
    if (!runs().extend(r, extra, behind)) return false;
    supply_.use(extra);
    return true;
  }
  [[nodiscard]] bool shrink(run* r, std::size_t pages) noexcept {
    if (pages == r->pages) return true;
    runs().end_headroom(*r);
    run* tail = runs().split(r, pages);
    if (tail == nullptr) return true;  // it stays as long as it was, which holds as many bytes
    runs().range_of(*r).note_ends(*r);
    r->cut = std::min(r->cut, r->pages);
    tail->rest = true;
    runs().set_kind(tail, run_kind::purging);
    tail->closes = r->closes;
    if (!closed(tail)) supply_.give(tail);
    return true;
  }

  /// Returns: how much headroom a block of `pages` gets that had to move. As much as itself, so
  /// what is moved or copied, over its whole life, is in proportion to its length.
  [[nodiscard]] static std::size_t headroom_for(std::size_t pages) noexcept {
    return std::min(pages, UINT32_MAX - pages);
  }

  /// Returns: a run in use of `pages` clean pages, of no kind yet and not counted, with headroom
  /// behind it if that can be had without a new range; null when out of memory. Requires: pages <=
  /// UINT32_MAX.
  [[nodiscard]] run* take_with_headroom(std::size_t pages, growth g) noexcept {
    const std::size_t headroom = headroom_for(pages);
    run* r = runs().take_clean(pages + headroom);
    if (r == nullptr && !supply_.closed_wait()) r = runs().take_closed(pages + headroom);
    if (r == nullptr && g == growth::refused) return nullptr;
    if (r == nullptr) r = runs().take_fresh_here(pages + headroom);
    if (r == nullptr) r = runs().take_clean(pages);
    if (r == nullptr) r = runs().take_closed(pages);
    if (r == nullptr) r = runs().take_fresh_here(pages);
    if (r == nullptr) r = runs().take_from_headrooms(pages, supply_type::headrooms_at_once);
    if (r == nullptr) r = runs().take_fresh(pages);
    if (r == nullptr) return nullptr;
    r = runs().carve(r, pages, 1);
    if (r != nullptr) runs().keep_headroom(*r, headroom);
    return r;
  }

  /// Effects: the pages of `from` are those of `to`. Returns: false when the system refuses; then
  /// `from` is as it was, and `to` must be renewed. Requires: the lock is open; from is movable.
  [[nodiscard]] bool remap(const run& from, const run& to) noexcept {
    char* const old_place = runs().address_of(from);
    char* const new_place = runs().address_of(to);
    const std::size_t bytes = std::size_t{from.pages} << page_shift;
    const std::size_t first = std::size_t{from.pieces == 0 ? from.pages : from.cut} << page_shift;
    if (!space().move(old_place, new_place, first)) return false;
    if (first == bytes || space().move(old_place + first, new_place + first, bytes - first))
      return true;
    std::memcpy(old_place, new_place, first);
    return false;
  }
};

}  // namespace ashlar::detail
