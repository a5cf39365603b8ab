// heap/page_heap.hpp: slabs and large blocks: runs of pages in use, shared by all classes.
// Layer: heap.
//
//   this file     slabs; large blocks that grow, shrink and move; which of them an address is in
//   page_supply   which pages a request gets, the most there may be, what goes back and when
//   run_store     the runs themselves: free ones by length, cutting, merging, headroom
//
// A large block that has to move because it grows gets headroom: clean pages behind it are kept for
// it, as many as it has. So what is moved over a block's life is in proportion to its length, and
// growth between two moves costs no system call.
//
//   | large block, 300 pages | its headroom, 300 | free, clean | ...
//
// A block moves by remapping where the system can do that. A run that holds pieces of other
// mappings is healed by a fresh mapping when its memory goes back to the system.
//
// Invariant (audit): slab + large + purging + lost pages == the pages that the supply counts as
// used.
// Thread-safety: any caller at any time, by the lock of the supply.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/address_space.hpp>
#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/page_range.hpp>
#include <ashlar/heap/page_supply.hpp>
#include <ashlar/heap/run.hpp>
#include <ashlar/heap/run_store.hpp>
#include <ashlar/heap/sealable.hpp>
#include <ashlar/heap/slab.hpp>
#include <ashlar/heap/unlock_guard.hpp>

namespace ashlar::detail {

struct page_heap_stats {
  std::uint64_t reserved_bytes = 0;
  std::uint64_t committed_bytes = 0;  ///< in use or dirty, tables excluded: no more is resident
  std::uint64_t peak_committed_bytes = 0;
  std::uint64_t given_back_bytes = 0;
  std::uint64_t table_bytes = 0;  ///< in memory
  std::uint64_t large_runs = 0, large_runs_peak = 0, large_pages = 0, large_pages_peak = 0;
  std::uint64_t large_made = 0, large_freed = 0;
};

template <address_space Space, class Mutex>
class page_heap : public page_supply<Space, Mutex> {
  using supply = page_supply<Space, Mutex>;

 public:
  explicit constexpr page_heap(sealable<Space>& space) noexcept : supply(space) {}
  page_heap(const page_heap&) = delete;
  page_heap& operator=(const page_heap&) = delete;

  /// Effects: faults call the heap by this name from now on; null: by none. It is not copied.
  void set_name(const char* name) noexcept { name_ = name; }
  [[nodiscard]] const char* name() const noexcept { return name_; }

  /// Effects: reserves the first range; in every range there is room for so many words of bitmaps a
  /// page. Returns: false when the system refuses. Requires: called until it succeeds, before any
  /// other function but set_policy and set_name.
  [[nodiscard]] bool start(std::size_t bit_words_per_page) noexcept {
    const std::lock_guard guard(mutex_);
    return runs_.ranges().start(bit_words_per_page);
  }

  /// Effects: gives everything back to the space. Requires: nobody uses the heap any more, nor ever
  /// will.
  void release_all() noexcept { runs_.ranges().release_all(); }

  /// Returns: what a cache needs to find a block's class by itself. Requires: started.
  [[nodiscard]] const page_classes& first_classes() const noexcept {
    return runs_.ranges().first_classes();
  }

  /// Returns: whether there is no other range than the first. No lock: a caller who has a block of a
  /// later range knows of that range.
  [[nodiscard]] bool has_one_range() const noexcept { return runs_.ranges().count() == 1; }
  /// Returns: where the marks of the first range are. Requires: started.
  [[nodiscard]] const mark_tables& first_marks() const noexcept {
    return runs_.ranges()[0].where_marks_are;
  }

  // ---- lookup: address -> class, slab or large block --------------------------------------------

  /// Returns: the mark for `address`, which is in a slab whose windows have this length.
  [[nodiscard]] live_mark* mark_at(const void* address, unsigned shift) noexcept {
    const page_range* range = runs_.ranges().first_if_holds(number_of(address));
    if (range == nullptr) [[unlikely]]
      range = range_of(address);
    return range->where_marks_are.at(address, shift);
  }

  /// Returns: the class of the slab that holds `address`, if the first range does; 0 says only "ask
  /// `class_anywhere`". Any value may be passed; no lock.
  [[nodiscard]] ASHLAR_HOT class_index class_of(const void* address) const noexcept {
    return runs_.ranges().first_classes().of(address);
  }

  /// Returns: the class of the slab that holds `address`, in any range; 0 if none does.
  [[nodiscard]] class_index class_anywhere(const void* address) noexcept {
    if (const class_index c = class_of(address); c != 0) [[likely]]
      return c;
    const page_range* range = range_of(address);
    return range == nullptr ? class_index{0} : class_in(*range, address);
  }

  /// Returns: the slab of class `c` that holds `address`, and where it begins; null if none does.
  /// Exact for a block that somebody holds (its slab cannot change then), a guess for others.
  [[nodiscard]] run* slab_of(const void* address, class_index c, char*& begin) noexcept {
    const page_range* range = runs_.ranges().first_if_holds(number_of(address));
    if (range == nullptr) [[unlikely]]
      range = range_of(address);
    if (range == nullptr || class_in(*range, address) != c) [[unlikely]]
      return nullptr;
    run* r = range->runs.entries() + range->run_of.entries()[range->page_of(number_of(address))];
    begin = reinterpret_cast<char*>(range->address_of(r->first));
    return r;
  }

  /// Returns: the large block that starts at `address`, null if none does.
  [[nodiscard]] run* large_at(const void* address) noexcept {
    const std::lock_guard guard(mutex_);
    return large_at_locked(address);
  }

  /// Returns: whether `address` lies where a range has memory, in use or not. No lock for a block
  /// in a slab of the first range.
  [[nodiscard]] bool owns(const void* address) noexcept { return owner_of(address) != nullptr; }

  [[nodiscard]] char* address_of(const run& r) const noexcept { return runs_.address_of(r); }

  // ---- runs -----------------------------------------------------------------------------------

  /// Returns: a run for a slab of class `c`, cut to `shape`, with its bitmap all ones; null when
  /// out of memory, or when it would take growth and that is refused.
  [[nodiscard]] run* new_slab(class_index c, const slab_shape& shape, growth g) noexcept {
    const std::lock_guard guard(mutex_);
    run* r = take_with_tables(shape, g);
    if (r == nullptr && g == growth::allowed) {
      // Free pages that go back may leave room for the tables.
      {
        const unlock_guard open(mutex_);
        this->purge_all();
      }
      r = take_with_tables(shape, g);
    }
    if (r == nullptr) return nullptr;
    std::fill_n(r->free_bits, shape.words, ~std::uint64_t{0});
    if (const std::uint32_t rest = shape.blocks % 64; rest != 0)
      r->free_bits[shape.words - 1] = (std::uint64_t{1} << rest) - 1;
    r->free_blocks = shape.blocks;
    r->seen_free = 0;
    r->absent = r->zero && may_be_hollow(shape) ? pages_between(0, shape.pages) : 0;
    r->size_class = c;
    r->kind = run_kind::slab;
    runs_.range_of(*r).note_slab(*r);
    return r;
  }

  /// Requires: every block of the slab, which is cut to `shape`, is free.
  void delete_slab(run* r, const slab_shape& shape) noexcept {
    const std::lock_guard guard(mutex_);
    page_range& range = runs_.range_of(*r);
    range.forget_slab(*r);
    range.delete_bits(r->free_bits, shape.words);
    r->size_class = 0;
    give(r);
  }

  /// Returns: a run of `pages` whose address is a multiple of `align_pages` pages, or null.
  /// Requires: pages > 0; align_pages is a power of two.
  [[nodiscard]] run* new_large(std::size_t pages, std::size_t align_pages, growth g) noexcept {
    const std::lock_guard guard(mutex_);
    return made_large(take(pages, align_pages, g));
  }

  /// Returns: as `new_large`, a place for a block that has to move because it grows: there is
  /// headroom to grow again behind it, unless addresses are short.
  [[nodiscard]] run* new_large_to_grow(std::size_t pages, growth g) noexcept {
    const std::lock_guard guard(mutex_);
    if (pages > UINT32_MAX) return nullptr;
    // The pages are about to be written, and dirty ones are in memory. What is left behind them is
    // not kept for the block, but others take it last.
    run* r = runs_.take_dirty(pages + headroom_for(pages));
    if (r == nullptr) r = runs_.take_dirty(pages + headroom_for(pages) / 4);
    if (r != nullptr) return made_large(count_used(runs_.carve(r, pages, 1)));
    // Clean pages would cost page faults; a sealed heap prefers what is in memory, headroom or not.
    if (space_.is_sealed() || !within_max(pages)) return nullptr;
    return made_large(count_used(take_with_headroom(pages, g)));
  }

  /// Effects: takes back the large block that starts at `address`. Returns: its bytes, or 0 when no
  /// large block starts there, and then changes nothing.
  [[nodiscard]] std::size_t delete_large(void* address) noexcept {
    return delete_large(address, kept_split_pages_max);
  }
  /// Effects: as `delete_large`, for a block that was copied because it could not grow. The next
  /// block there could not grow either, so a place whose mapping is split is given back at once.
  [[nodiscard]] std::size_t delete_outgrown(void* address) noexcept {
    return delete_large(address, 0);
  }

  /// Effects: makes a large block `pages` long where it stands. Returns: false if it cannot grow
  /// there; shrinking always works unless no record can be had for the rest.
  [[nodiscard]] bool resize_large(run* r, std::size_t pages) noexcept {
    const std::lock_guard guard(mutex_);
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
  [[nodiscard]] run* move_large(run* from, std::size_t pages) noexcept {
    const std::size_t extra = pages - from->pages;
    const std::lock_guard guard(mutex_);
    if (space_.is_sealed() || !runs_.is_movable(*from) || pages > UINT32_MAX) return nullptr;
    if (!within_max(extra)) {
      const unlock_guard open(mutex_);
      this->purge_all();
    }
    if (!within_max(extra)) return nullptr;
    run* to = take_with_headroom(pages, growth::allowed);
    if (to == nullptr) return nullptr;
    runs_.set_kind(to, run_kind::moving);
    this->use(extra);
    bool done = false;
    {
      const unlock_guard open(mutex_);
      done = remap(*from, *to);
    }
    if (!done) {
      this->unuse(extra);
      runs_.end_headroom(*to);
      renew(to);
      return nullptr;
    }
    to->kind = run_kind::large;
    to->grown = true;
    to->cut = from->pieces == 0 ? from->pages : 0;
    runs_.set_pieces(to, from->pieces + 1u);
    ++stats_.large_made;
    ++stats_.large_freed;
    stats_.large_pages -= from->pages;
    count_large_pages(to->pages);
    runs_.end_headroom(*from);
    from->kind = run_kind::moving;
    // What was left reads as zero and is in no memory.
    if (from->pieces == 0)
      runs_.make_clean(from);
    else
      renew(from);
    return to;
  }

  /// Returns: the first slab that begins at or behind page `from.page` of range `from.range`.
  [[nodiscard]] slab_place next_slab(slab_place from) noexcept {
    const std::lock_guard guard(mutex_);
    return runs_.next_slab(from);
  }
  /// Returns: the slab of class `c` that begins at `place`, null if there is none. Requires: the
  /// lock of that class is held. The result is valid while that lock is held.
  [[nodiscard]] run* slab_at(slab_place place, class_index c) noexcept {
    const std::lock_guard guard(mutex_);
    return runs_.slab_at(place, c);
  }

  // ---- exact counting -------------------------------------------------------------------------

  /// Effects: from now on every block has a slack entry. Returns: false when memory was refused.
  [[nodiscard]] bool keep_slack() noexcept {
    const std::lock_guard guard(mutex_);
    return runs_.ranges().keep_slack();
  }

  /// Effects: calls visit(begin, class) for each slab, with the lock held, until it returns false. O(runs).
  template <class Visit>
  void for_each_slab(Visit visit) noexcept {
    const std::lock_guard guard(mutex_);
    for (std::uint32_t i = 0; i < runs_.ranges().count(); ++i) {
      const page_range& range = runs_.ranges()[i];
      for (std::size_t page = 0; page < range.top;) {
        const run* r = range.run_at(page);
        if (r == nullptr) break;
        if (r->kind == run_kind::slab && !visit(address_of(*r), r->size_class)) return;
        page += r->pages;
      }
    }
  }

  /// Effects: stores `entry` in the slack table for every block that is in no slab's bitmap, and
  /// for every large one. Requires: keep_slack succeeded; no other thread is inside the heap.
  /// O(blocks).
  void mark_held(const class_table& classes, std::uint16_t entry) noexcept {
    const std::lock_guard guard(mutex_);
    for (std::uint32_t i = 0; i < runs_.ranges().count(); ++i) {
      const page_range& range = runs_.ranges()[i];
      for (std::size_t page = 0; page < range.top;) {
        const run* r = range.run_at(page);
        if (r == nullptr) break;
        const std::uintptr_t begin = range.address_of(r->first);
        if (r->kind == run_kind::large) range.slack_at(begin) = entry;
        if (r->kind == run_kind::slab) {
          const slab_shape& shape = classes.shapes[r->size_class];
          for (std::uint32_t b = 0; b < shape.blocks; ++b)
            if (!is_free(*r, b)) range.slack_at(begin + std::size_t{b} * shape.block_size) = entry;
        }
        page += r->pages;
      }
    }
  }

  /// Effects: stores the slack of the live block at `block`. Returns: what was stored before.
  std::uint16_t exchange_slack(const void* block, std::size_t slack) noexcept {
    const page_range* range = owner_of(block);
    if (range == nullptr) return 0;
    std::uint16_t& entry = range->slack_at(number_of(block));
    const std::uint16_t before = entry;
    entry = static_cast<std::uint16_t>(std::min<std::size_t>(slack, UINT16_MAX));
    return before;
  }

  // ---- beforehand -----------------------------------------------------------------------------

  /// Effects: there is a free run of `pages` that is in memory and stays so, and tables for
  /// whatever it comes to be cut into. The lock is open meanwhile. Returns: false when memory was
  /// refused.
  [[nodiscard]] bool prefault(std::size_t pages) noexcept {
    const std::lock_guard guard(mutex_);
    runs_.populate();
    run* r = take(pages, 1, growth::allowed);
    if (r == nullptr) return false;
    runs_.set_kind(r, run_kind::purging);  // nobody's meanwhile, and not free
    const bool tables = runs_.range_of(*r).prepare_tables(space_, pages);
    bool done = false;
    {
      const unlock_guard open(mutex_);
      done = tables && space_.populate(address_of(*r), pages << page_shift);
    }
    give(r);
    if (done) this->keep_at_least(pages << page_shift);
    return done;
  }

  // ---- figures --------------------------------------------------------------------------------

  /// Returns: pages of addresses that are kept for large blocks to grow into.
  [[nodiscard]] std::size_t headroom_pages() noexcept {
    const std::lock_guard guard(mutex_);
    return runs_.headroom_pages();
  }

  [[nodiscard]] page_heap_stats stats() noexcept {
    const std::lock_guard guard(mutex_);
    page_heap_stats s = stats_;
    s.reserved_bytes = runs_.ranges().reserved_bytes();
    for (std::uint32_t i = 0; i < runs_.ranges().count(); ++i)
      s.table_bytes += runs_.ranges()[i].resident_table_bytes(space_);
    const typename supply::page_counts counts = this->counts();
    s.committed_bytes = counts.committed_bytes;
    s.peak_committed_bytes = counts.peak_committed_bytes;
    s.given_back_bytes = counts.given_back_bytes;
    return s;
  }

  /// Effects: checks the invariant of the whole structure; ends in a fault if it does not hold.
  /// O(pages). For tests and debugging.
  void audit() noexcept {
    const std::lock_guard guard(mutex_);
    if (runs_.audit(name_) != this->counts().used_pages)
      ashlar_fault({.kind = fault_kind::corrupted, .call = "audit", .pool = name_});
  }

 private:
  /// Returns: a run for a slab, with its bitmap and its marks; null when memory for one of them was
  /// refused. Requires: the lock is held.
  [[nodiscard]] run* take_with_tables(const slab_shape& shape, growth g) noexcept {
    run* const r = take(shape.pages, 1, g);
    if (r == nullptr) return nullptr;
    page_range& range = runs_.range_of(*r);
    const std::size_t end = std::size_t{r->first} + r->pages;
    const bool marked = range.have_marks(space_, mark_shift_of(shape.block_size), end);
    r->free_bits = marked ? range.new_bits(space_, shape.words) : nullptr;
    if (r->free_bits != nullptr) return r;
    give(r);
    return nullptr;
  }

  using supply::count_used;
  using supply::give;
  using supply::heal;
  using supply::mutex_;
  using supply::renew;
  using supply::runs_;
  using supply::space_;
  using supply::take;
  using supply::within_max;

  /// A freed block of more pages than this whose mapping is split gives its memory back at once: it
  /// grew in steps, and what it had is much to hold for somebody else.
  static constexpr std::size_t kept_split_pages_max = 1024;
  [[nodiscard]] static std::uintptr_t number_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }

  [[nodiscard]] static class_index class_in(const page_range& range, const void* address) noexcept {
    return range.class_of.entries()[range.page_of(number_of(address))];
  }

  /// Returns: the range whose class table tells of `address`, or null; the address may lie where
  /// the range has no memory yet. Later ranges come and go, so looking for one takes the lock; what
  /// was found stays as long as a block in it is held. O(ranges).
  [[nodiscard]] const page_range* range_of(const void* address) noexcept {
    if (const page_range* first = runs_.ranges().first_if_holds(number_of(address));
        first != nullptr)
      return first;
    const std::lock_guard guard(mutex_);
    return runs_.ranges().find(number_of(address));
  }

  /// Returns: the range that has memory at `address`, or null. Otherwise as range_of.
  [[nodiscard]] const page_range* owner_of(const void* address) noexcept {
    if (class_of(address) != 0) return runs_.ranges().first_if_holds(number_of(address));
    const std::lock_guard guard(mutex_);
    return runs_.ranges().find(number_of(address));
  }

  [[nodiscard]] run* large_at_locked(const void* address) const noexcept {
    const page_range* range = runs_.ranges().find(number_of(address));
    if (range == nullptr) return nullptr;
    run* r = range->run_at(range->page_of(number_of(address)));
    const bool starts = r != nullptr && r->kind == run_kind::large && address_of(*r) == address;
    return starts ? r : nullptr;
  }

  /// Effects: `r`, which may be null, is a large block from now on. Returns: it.
  [[nodiscard]] run* made_large(run* r) noexcept {
    if (r == nullptr) return nullptr;
    runs_.set_kind(r, run_kind::large);
    runs_.keep_rest(*r);
    ++stats_.large_made;
    count_large_pages(r->pages);
    stats_.large_runs_peak = std::max(stats_.large_runs_peak, ++stats_.large_runs);
    return r;
  }
  /// Effects: as above; a run of more pages than that goes back at once if its mapping is split.
  [[nodiscard]] std::size_t delete_large(void* address, std::size_t split_pages_kept) noexcept {
    const std::lock_guard guard(mutex_);
    run* r = large_at_locked(address);
    if (r == nullptr) return 0;
    const std::size_t bytes = std::size_t{r->pages} << page_shift;
    ++stats_.large_freed;
    --stats_.large_runs;
    stats_.large_pages -= r->pages;
    runs_.end_headroom(*r);
    if (r->pieces != 0 && r->pages > split_pages_kept && !space_.is_sealed())
      heal(r);
    else
      give(r);
    return bytes;
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
    const auto behind = runs_.free_behind(*r, extra);
    if (!behind.enough || !within_max(extra - behind.dirty)) return false;
    if (!runs_.extend(r, extra, behind)) return false;
    this->use(extra);
    return true;
  }
  [[nodiscard]] bool shrink(run* r, std::size_t pages) noexcept {
    if (pages == r->pages) return true;
    runs_.end_headroom(*r);
    run* tail = runs_.split(r, pages);
    if (tail == nullptr) return true;  // it stays as long as it was, which holds as many bytes
    runs_.range_of(*r).note_ends(*r);
    r->cut = std::min(r->cut, r->pages);
    tail->rest = true;
    give(tail);
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
    run* r = runs_.take_clean(pages + headroom);
    if (r == nullptr && g == growth::refused) return nullptr;
    if (r == nullptr) r = runs_.take_fresh_here(pages + headroom);
    if (r == nullptr) r = runs_.take_clean(pages);
    if (r == nullptr) r = runs_.take_fresh_here(pages);
    if (r == nullptr) r = runs_.take_from_headrooms(pages);
    if (r == nullptr) r = runs_.take_fresh(pages);
    if (r == nullptr) return nullptr;
    r = runs_.carve(r, pages, 1);
    if (r != nullptr) runs_.keep_headroom(*r, headroom);
    return r;
  }

  /// Effects: the pages of `from` are those of `to`. Returns: false when the system refuses; then
  /// `from` is as it was, and `to` must be renewed. Requires: the lock is open; from is movable.
  [[nodiscard]] bool remap(const run& from, const run& to) noexcept {
    char* const old_place = address_of(from);
    char* const new_place = address_of(to);
    const std::size_t bytes = std::size_t{from.pages} << page_shift;
    const std::size_t first = std::size_t{from.pieces == 0 ? from.pages : from.cut} << page_shift;
    if (!space_.move(old_place, new_place, first)) return false;
    if (first == bytes || space_.move(old_place + first, new_place + first, bytes - first))
      return true;
    std::memcpy(old_place, new_place, first);
    return false;
  }

  const char* name_ = nullptr;
  page_heap_stats stats_;  ///< of large blocks; the others are filled in by stats()
};

}  // namespace ashlar::detail
