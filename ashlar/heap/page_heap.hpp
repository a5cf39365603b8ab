// heap/page_heap.hpp: runs of pages for slabs and large blocks, shared by all classes and threads.
// Layer: heap. Includes: core.
//
// A run that is freed becomes dirty: it keeps its memory, merges with dirty neighbours and is the
// first choice of whoever needs pages next, of any class. So memory moves between classes without a
// system call. What stays dirty for longer than the delay is purged: given back to the system, and
// merged with clean neighbours. Dirty and clean are never merged with each other: that would either
// lose the knowledge that pages are zero or call memory resident that is not.
//
// A large block that has to move because it grows gets headroom: clean pages behind it are kept for it,
// as many as it has. So what is moved over a block's life is in proportion to its length, and
// growth between two moves costs no system call. Room is addresses only. It counts as nothing, and
// it goes back to the clean runs when the block shrinks, moves or is freed, and whenever a request
// would otherwise be refused or need a new range.
//
//   | large block, 300 pages | its headroom, 300 | free, clean | ...
//
// A block moves by remapping where the system can do that: it moves only within one mapping, and
// what was moved lies in a mapping of its own. So each run knows how many such pieces it holds at
// most, and a large block where its one piece ends. A run that holds pieces is healed by a fresh
// mapping when its memory goes back to the system.
//
// Law: used_pages_ + dirty pages <= pages_max_ whenever pages are handed out.
// Invariant (audit): slab + large + purging + lost pages == used_pages_; dirty, clean and headroom
// pages are those in the bins; with the moving ones, together they are the ranges' tops. The runs'
// pieces sum up to pieces_; clean runs and headrooms have none. In front of a headroom is a large or moving
// run. Locking: one lock for the structure, open during every system call that gives memory back;
// purging itself is done by one thread at a time, under a lock of its own. Order: central, purge,
// structure.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/heap/address_space.hpp>
#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/page_range.hpp>
#include <ashlar/heap/range_set.hpp>
#include <ashlar/heap/run.hpp>
#include <ashlar/heap/run_bins.hpp>
#include <ashlar/heap/sealable.hpp>
#include <ashlar/heap/slab.hpp>
#include <ashlar/heap/unlock_guard.hpp>

namespace ashlar::detail {

/// When free pages go back to the system.
struct purge_policy {
  std::int64_t delay_ms = 1000;  ///< after they became free; 0: at once; below 0: never
  std::size_t keep_bytes = 0;    ///< so much is kept whatever its age
};

/// Whether a request may be served from pages that were never used, or only from free ones.
enum class growth : bool { refused, allowed };

struct page_heap_stats {
  std::uint64_t reserved_bytes = 0;
  std::uint64_t committed_bytes = 0;  ///< in use or dirty, tables excluded: no more is resident
  std::uint64_t peak_committed_bytes = 0;
  std::uint64_t given_back_bytes = 0;
  std::uint64_t table_bytes = 0;  ///< in memory
  std::uint64_t large_runs = 0, large_runs_peak = 0, large_pages = 0, large_pages_peak = 0;
  std::uint64_t large_made = 0, large_freed = 0;
};

/// Where a slab begins: page `page` of range `range`. The class is 0 when there is none.
struct slab_place {
  std::uint32_t range = 0;
  std::size_t page = 0;
  class_index size_class = 0;
};

template <address_space Space, class Mutex>
class page_heap {
 public:
  explicit constexpr page_heap(sealable<Space>& space) noexcept : space_(space), ranges_(space) {}
  page_heap(const page_heap&) = delete;
  page_heap& operator=(const page_heap&) = delete;

  /// Effects: faults call the heap by this name from now on; null: by none. It is not copied.
  void set_name(const char* name) noexcept { name_ = name; }
  [[nodiscard]] const char* name() const noexcept { return name_; }

  /// Effects: reserves the first range; in every range there is room for so many words of bitmaps a page.
  /// Returns: false when the system refuses. Requires: called until it succeeds, before any other function but
  /// set_policy and set_name.
  [[nodiscard]] bool start(std::size_t bit_words_per_page) noexcept {
    const std::lock_guard guard(mutex_);
    return ranges_.start(bit_words_per_page);
  }

  /// Effects: from now on pages in use and dirty are never more than `pages`. Requires: no other thread
  /// is inside the heap.
  void set_pages_max(std::size_t pages) noexcept { pages_max_ = pages; }

  /// Effects: gives everything back to the space. Requires: nobody uses the heap any more, nor ever will.
  void release_all() noexcept { ranges_.release_all(); }

  /// Effects: from now on free pages go back as `policy` says.
  void set_policy(const purge_policy& policy) noexcept {
    // Ages are kept in 32 bits of milliseconds, so half of that is "never".
    const bool never = policy.delay_ms < 0 || policy.delay_ms > INT32_MAX;
    delay_ms_.store(never ? -1 : policy.delay_ms, std::memory_order_relaxed);
    keep_bytes_.store(policy.keep_bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] purge_policy policy() const noexcept {
    return {.delay_ms = delay_ms(), .keep_bytes = keep_bytes_.load(std::memory_order_relaxed)};
  }
  [[nodiscard]] std::int64_t delay_ms() const noexcept {
    return delay_ms_.load(std::memory_order_relaxed);
  }

  /// Returns: what a cache needs to find a block's class by itself. Requires: started.
  [[nodiscard]] const page_classes& first_classes() const noexcept {
    return ranges_.first_classes();
  }

  // ---- lookup: address -> class, slab or large block --------------------------------------------

  /// Returns: the class of the slab that holds `address`, if the first range does; 0 says only "ask
  /// `class_anywhere`". Any value may be passed; no lock.
  [[nodiscard]] ASHLAR_HOT class_index class_of(const void* address) const noexcept {
    return ranges_.first_classes().of(address);
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
    const page_range* range = ranges_.first_if_holds(number_of(address));
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

  /// Returns: whether `address` lies where a range has memory, in use or not. No lock for a block in a slab of
  /// the first range.
  [[nodiscard]] bool owns(const void* address) noexcept { return owner_of(address) != nullptr; }

  [[nodiscard]] char* address_of(const run& r) const noexcept {
    return reinterpret_cast<char*>(ranges_[r.range].address_of(r.first));
  }

  // ---- runs -----------------------------------------------------------------------------------

  /// Returns: a run for a slab of class `c`, cut to `shape`, with its bitmap all ones; null when out of memory, or
  /// when it would take growth and that is refused.
  [[nodiscard]] run* new_slab(class_index c, const slab_shape& shape, growth g) noexcept {
    const std::lock_guard guard(mutex_);
    run* r = take(shape.pages, 1, g);
    if (r == nullptr) return nullptr;
    page_range& range = ranges_[r->range];
    r->free_bits = range.new_bits(space_, shape.words);
    if (r->free_bits == nullptr) {
      give(r);
      return nullptr;
    }
    std::fill_n(r->free_bits, shape.words, ~std::uint64_t{0});
    if (const std::uint32_t rest = shape.blocks % 64; rest != 0)
      r->free_bits[shape.words - 1] = (std::uint64_t{1} << rest) - 1;
    r->free_blocks = shape.blocks;
    r->seen_free = 0;
    r->absent = r->zero && may_be_hollow(shape) ? pages_between(0, shape.pages) : 0;
    r->size_class = c;
    r->kind = run_kind::slab;
    range.note_slab(*r);
    return r;
  }

  /// Requires: every block of the slab, which is cut to `shape`, is free.
  void delete_slab(run* r, const slab_shape& shape) noexcept {
    const std::lock_guard guard(mutex_);
    page_range& range = ranges_[r->range];
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

  /// Returns: as `new_large`, a place for a block that has to move because it grows: there is headroom
  /// to grow again behind it, unless addresses are short.
  [[nodiscard]] run* new_large_to_grow(std::size_t pages, growth g) noexcept {
    const std::lock_guard guard(mutex_);
    if (pages > UINT32_MAX) return nullptr;
    // The pages are about to be written, and dirty ones are in memory. What is left behind them is
    // not kept for the block, but others take it last.
    run* r = take_from(dirty_, pages + headroom_for(pages));
    if (r == nullptr) r = take_from(dirty_, pages + headroom_for(pages) / 4);
    if (r != nullptr) return made_large(count_used(carve(r, pages, 1)));
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

  /// Effects: the large block `from` becomes one of `pages` pages, with headroom to grow behind it, by
  /// remapping. Only what it grows by counts as more memory. Returns: the new run, and `from` is
  /// gone; or null, and `from` is as it was. Requires: pages >= from->pages.
  [[nodiscard]] run* move_large(run* from, std::size_t pages) noexcept {
    const std::size_t extra = pages - from->pages;
    const std::lock_guard guard(mutex_);
    if (space_.is_sealed() || !is_movable(*from) || pages > UINT32_MAX) return nullptr;
    if (!within_max(extra)) {
      const unlock_guard open(mutex_);
      purge_all();
    }
    if (!within_max(extra)) return nullptr;
    run* to = take_with_headroom(pages, growth::allowed);
    if (to == nullptr) return nullptr;
    to->kind = run_kind::moving;
    ranges_[to->range].note_ends(*to);
    used_pages_ += extra;
    note_committed();
    bool done = false;
    {
      const unlock_guard open(mutex_);
      done = remap(*from, *to);
    }
    if (!done) {
      used_pages_ -= extra;
      end_headroom(*to);
      renew(to);
      return nullptr;
    }
    to->kind = run_kind::large;
    to->grown = true;
    to->cut = from->pieces == 0 ? from->pages : 0;
    set_pieces(to, from->pieces + 1u);
    ++stats_.large_made;
    ++stats_.large_freed;
    stats_.large_pages -= from->pages;
    count_large_pages(to->pages);
    end_headroom(*from);
    from->kind = run_kind::moving;
    // What was left reads as zero and is in no memory.
    if (from->pieces == 0)
      make_clean(from);
    else
      renew(from);
    return to;
  }

  // ---- exact counting -------------------------------------------------------------------------

  /// Effects: from now on every block has a slack entry. Returns: false when memory was refused.
  [[nodiscard]] bool keep_slack() noexcept {
    const std::lock_guard guard(mutex_);
    return ranges_.keep_slack();
  }

  /// Effects: stores `entry` in the slack table for every block that is in no slab's bitmap, and for
  /// every large one. Requires: keep_slack succeeded; no other thread is inside the heap. O(blocks).
  void mark_held(const class_table& classes, std::uint16_t entry) noexcept {
    const std::lock_guard guard(mutex_);
    for (std::uint32_t i = 0; i < ranges_.count(); ++i) {
      const page_range& range = ranges_[i];
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

  /// Effects: there is a free run of `pages` that is in memory and stays so, and tables for whatever it
  /// comes to be cut into. The lock is open meanwhile. Returns: false when memory was refused.
  [[nodiscard]] bool prefault(std::size_t pages) noexcept {
    const std::lock_guard guard(mutex_);
    for (run_bins* bins : {&dirty_, &rests_, &clean_, &headrooms_}) bins->populate();
    run* r = take(pages, 1, growth::allowed);
    if (r == nullptr) return false;
    r->kind = run_kind::purging;  // nobody's meanwhile, and not free
    ranges_[r->range].note_ends(*r);
    const bool tables = ranges_[r->range].prepare_tables(space_, pages);
    bool done = false;
    {
      const unlock_guard open(mutex_);
      done = tables && space_.populate(address_of(*r), pages << page_shift);
    }
    give(r);
    if (done)
      keep_bytes_.store(std::max(keep_bytes_.load(std::memory_order_relaxed), pages << page_shift),
                        std::memory_order_relaxed);
    return done;
  }

  // ---- giving back ----------------------------------------------------------------------------

  /// Effects: gives back every dirty run. Returns: the bytes. Requires: no lock of a central is held
  /// by a thread that waits for this one.
  std::size_t purge_all() noexcept { return purge(INT64_MAX, 0, SIZE_MAX).bytes; }

  struct purged {
    std::size_t bytes = 0;
    bool complete = true;  ///< nothing is left that another call would give back
  };
  /// Effects: gives back what has been dirty for the delay (`any_age`: whatever is dirty), but for the
  /// bytes to keep: at most `runs_max` runs. Nothing when the policy says never.
  purged purge_aged(std::size_t runs_max = SIZE_MAX, bool any_age = false) noexcept {
    const std::int64_t delay = delay_ms();
    if (delay < 0) return {};
    const auto now = static_cast<std::int64_t>(space_.now_ms());
    return purge(any_age ? INT64_MAX : now - delay, keep_bytes_.load(std::memory_order_relaxed),
                 runs_max);
  }

  /// Returns: bytes of pages that are in use or dirty, at some recent moment. Takes no lock.
  [[nodiscard]] std::size_t committed_bytes() const noexcept {
    return committed_pages_.load(std::memory_order_relaxed) << page_shift;
  }

  /// Returns: the first slab that begins at or behind page `from.page` of range `from.range`.
  [[nodiscard]] slab_place next_slab(slab_place from) noexcept {
    const std::lock_guard guard(mutex_);
    for (; from.range < ranges_.count(); ++from.range, from.page = 0) {
      const page_range& range = ranges_[from.range];
      while (from.page < range.top) {
        const run* r = range.run_at(from.page);
        const bool begins = r != nullptr && r->first == from.page;
        if (begins && r->kind == run_kind::slab) return {from.range, from.page, r->size_class};
        from.page += begins ? r->pages : 1;  // inside of a run that has merged since
      }
    }
    return {};
  }
  /// Returns: the slab of class `c` that begins at `place`, null if there is none. Requires: the lock of that
  /// class is held; so long it stays.
  [[nodiscard]] run* slab_at(slab_place place, class_index c) noexcept {
    const std::lock_guard guard(mutex_);
    if (place.range >= ranges_.count()) return nullptr;
    run* r = ranges_[place.range].run_at(place.page);
    const bool found =
        r != nullptr && r->kind == run_kind::slab && r->size_class == c && r->first == place.page;
    return found ? r : nullptr;
  }

  /// Effects: gives back some pages of a slab. Returns: those that are gone. Requires: nobody has a block
  /// there, or can get one until this returns.
  [[nodiscard]] page_set purge_pages(const run& slab, page_set leaving) noexcept {
    page_set gone = 0;
    for (page_set left = leaving; left != 0;) {
      const int first = std::countr_zero(left);
      const int count = std::countr_one(left >> first);
      const page_set stretch =
          pages_between(static_cast<unsigned>(first), static_cast<unsigned>(first + count));
      char* const begin = address_of(slab) + (static_cast<std::size_t>(first) << page_shift);
      if (space_.purge(begin, static_cast<std::size_t>(count) << page_shift)) gone |= stretch;
      left &= ~stretch;
    }
    const std::lock_guard guard(mutex_);
    stats_.given_back_bytes += static_cast<std::size_t>(std::popcount(gone)) << page_shift;
    return gone;
  }
  /// Returns: whether the space leaves the system alone now (sealable.hpp).
  [[nodiscard]] bool is_sealed() const noexcept { return space_.is_sealed(); }
  /// Returns: whether more is free at once than is to be kept.
  [[nodiscard]] bool has_more_than_kept() noexcept {
    const std::lock_guard guard(mutex_);
    return dirty_pages() << page_shift >= keep_bytes_.load(std::memory_order_relaxed);
  }
  /// Returns: pages of addresses that are kept for large blocks to grow into.
  [[nodiscard]] std::size_t headroom_pages() noexcept {
    const std::lock_guard guard(mutex_);
    return headrooms_.pages();
  }

  [[nodiscard]] page_heap_stats stats() noexcept {
    const std::lock_guard guard(mutex_);
    page_heap_stats s = stats_;
    s.reserved_bytes = ranges_.reserved_bytes();
    for (std::uint32_t i = 0; i < ranges_.count(); ++i)
      s.table_bytes += ranges_[i].resident_table_bytes(space_);
    s.committed_bytes = std::uint64_t{used_pages_ + dirty_pages()} << page_shift;
    s.peak_committed_bytes = std::uint64_t{committed_pages_peak_} << page_shift;
    return s;
  }

  /// For fork: waits for a purge to end, then for everybody else.
  void lock_all() noexcept {
    purge_mutex_.lock();
    mutex_.lock();
  }
  void unlock_all() noexcept {
    mutex_.unlock();
    purge_mutex_.unlock();
  }

  /// Effects: checks the invariant of the whole structure; ends in a fault if it does not hold.
  /// O(pages). For tests and debugging.
  void audit() noexcept {
    const std::lock_guard guard(mutex_);
    std::size_t used = 0, dirty = 0, clean = 0, headroom = 0, moving = 0, pieces = 0;
    for (std::uint32_t i = 0; i < ranges_.count(); ++i) {
      for (std::size_t page = 0; page < ranges_[i].top;) {
        const run* r = ranges_[i].run_at(page);
        if (r == nullptr || r->first != page || r->pages == 0)
          corrupted(ranges_[i].address_of(page));
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
        if (astray || split) corrupted(ranges_[i].address_of(page));
        page += r->pages;
      }
    }
    if (used != used_pages_ || dirty != dirty_pages() || clean != clean_.pages() ||
        headroom != headrooms_.pages() || pieces != pieces_)
      corrupted(0);
  }

 private:
  /// A freed block of more pages than this whose mapping is split gives its memory back at once: it
  /// grew in steps, and what it had is much to hold for somebody else.
  static constexpr std::size_t kept_split_pages_max = 1024;
  /// Each piece has two borders, so these are less than a sixth of the mappings of a process.
  static constexpr std::size_t pieces_max = 4096;

  [[noreturn]] ASHLAR_COLD void corrupted(std::uintptr_t address) const noexcept {
    ashlar_fault({.kind = fault_kind::corrupted,
                  .call = "audit",
                  .address = reinterpret_cast<void*>(address),
                  .pool = name_});
  }

  [[nodiscard]] static std::uintptr_t number_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }

  [[nodiscard]] static class_index class_in(const page_range& range, const void* address) noexcept {
    return range.class_of.entries()[range.page_of(number_of(address))];
  }

  /// Returns: the range whose class table tells of `address`, or null; the address may lie where the range
  /// has no memory yet. Later ranges come and go, so looking for one takes the lock; what was found stays
  /// as long as a block in it is held. O(ranges).
  [[nodiscard]] const page_range* range_of(const void* address) noexcept {
    if (const page_range* first = ranges_.first_if_holds(number_of(address)); first != nullptr)
      return first;
    const std::lock_guard guard(mutex_);
    return ranges_.find(number_of(address));
  }

  /// Returns: the range that has memory at `address`, or null. Otherwise as range_of.
  [[nodiscard]] const page_range* owner_of(const void* address) noexcept {
    if (class_of(address) != 0) return ranges_.first_if_holds(number_of(address));
    const std::lock_guard guard(mutex_);
    return ranges_.find(number_of(address));
  }

  [[nodiscard]] run* large_at_locked(const void* address) const noexcept {
    const page_range* range = ranges_.find(number_of(address));
    if (range == nullptr) return nullptr;
    run* r = range->run_at(range->page_of(number_of(address)));
    const bool starts = r != nullptr && r->kind == run_kind::large && address_of(*r) == address;
    return starts ? r : nullptr;
  }

  /// Returns: a run in use of no kind yet; null when out of memory. May open the lock meanwhile.
  [[nodiscard]] run* take(std::size_t pages, std::size_t align_pages, growth g) noexcept {
    // An aligned run is a longer one with its ends cut off.
    if (pages > UINT32_MAX || align_pages > UINT32_MAX) return nullptr;
    const std::size_t length = pages + align_pages - 1;
    if (length > UINT32_MAX) return nullptr;
    run* r = take_once(pages, align_pages, length, g);
    if (r == nullptr && g == growth::allowed) {
      // Purged runs merge with clean neighbours, and the system may need the memory to say yes.
      {
        const unlock_guard open(mutex_);
        purge_all();
      }
      r = take_once(pages, align_pages, length, g);
    }
    return count_used(r);
  }

  /// Effects: counts `r`, which may be null, as in use. Returns: it.
  [[nodiscard]] run* count_used(run* r) noexcept {
    if (r == nullptr) return nullptr;
    used_pages_ += r->pages;
    note_committed();
    return r;
  }
  void note_committed() noexcept {
    const std::size_t pages = used_pages_ + dirty_pages();
    committed_pages_.store(pages, std::memory_order_relaxed);
    committed_pages_peak_ = std::max(committed_pages_peak_, pages);
  }

  /// Effects: `r`, which may be null, is a large block from now on. Returns: it.
  [[nodiscard]] run* made_large(run* r) noexcept {
    if (r == nullptr) return nullptr;
    r->kind = run_kind::large;
    ranges_[r->range].note_ends(*r);
    keep_rest(*r);
    ++stats_.large_made;
    count_large_pages(r->pages);
    stats_.large_runs_peak = std::max(stats_.large_runs_peak, ++stats_.large_runs);
    return r;
  }
  /// Effects: as above; a run whose mapping is split is given back if it has more than so many
  /// pages.
  [[nodiscard]] std::size_t delete_large(void* address, std::size_t split_pages_kept) noexcept {
    const std::lock_guard guard(mutex_);
    run* r = large_at_locked(address);
    if (r == nullptr) return 0;
    const std::size_t bytes = std::size_t{r->pages} << page_shift;
    ++stats_.large_freed;
    --stats_.large_runs;
    stats_.large_pages -= r->pages;
    end_headroom(*r);
    if (r->pieces != 0 && r->pages > split_pages_kept && !space_.is_sealed())
      heal(r);
    else
      give(r);
    return bytes;
  }
  /// Effects: where a block had grown before, `r` may do so too: others take the dirty pages behind
  /// it last. Not where none has, or blocks that never grow would cut up all long runs.
  void keep_rest(const run& r) noexcept {
    run* behind = run_behind(r);
    if (behind == nullptr || behind->kind != run_kind::dirty || !behind->grown) return;
    bins_of(*behind)->remove(behind);
    behind->rest = true;
    bins_of(*behind)->insert(behind);
  }
  [[nodiscard]] run* run_behind(const run& r) const noexcept {
    return ranges_[r.range].run_at(std::size_t{r.first} + r.pages);
  }
  void count_large_pages(std::size_t pages) noexcept {
    stats_.large_pages += pages;
    stats_.large_pages_peak = std::max(stats_.large_pages_peak, stats_.large_pages);
  }

  [[nodiscard]] run* take_once(std::size_t pages, std::size_t align_pages, std::size_t length,
                               growth g) noexcept {
    for (run_bins* bins : {&dirty_, &rests_, &clean_}) {
      if (bins == &clean_ && !within_max(pages)) return nullptr;
      if (run* r = take_from(*bins, length); r != nullptr) return carve(r, pages, align_pages);
    }
    if (g == growth::refused) return nullptr;
    run* r = take_fresh_here(length);
    if (r == nullptr) r = take_from_headrooms(length);
    if (r == nullptr && !space_.is_sealed()) r = ranges_.take_fresh(length);
    return r == nullptr ? nullptr : carve(r, pages, align_pages);
  }

  /// Returns: a clean run of at least `length` pages at the top of a range that there is, in no
  /// bin; or null.
  [[nodiscard]] run* take_fresh_here(std::size_t length) noexcept {
    if (space_.is_sealed()) return nullptr;
    run* r = ranges_.take_fresh_here(length);
    // With clean pages before them they are one run, or a rest of these would stand beside those.
    return r == nullptr ? nullptr : merge(r, run_kind::clean, [](const run*) {});
  }

  // ---- headrooms: clean pages that are kept for the block in front of them -------------------------

  /// Returns: how much headroom a block of `pages` gets that had to move. As much as itself, so what is
  /// moved or copied, over its whole life, is in proportion to its length.
  [[nodiscard]] static std::size_t headroom_for(std::size_t pages) noexcept {
    return std::min(pages, UINT32_MAX - pages);
  }

  /// Returns: a run in use of `pages` clean pages, of no kind yet and not counted, with headroom behind
  /// it if that can be had without a new range; null when out of memory. Requires: pages <=
  /// UINT32_MAX.
  [[nodiscard]] run* take_with_headroom(std::size_t pages, growth g) noexcept {
    const std::size_t headroom = headroom_for(pages);
    run* r = take_from(clean_, pages + headroom);
    if (r == nullptr && g == growth::refused) return nullptr;
    if (r == nullptr) r = take_fresh_here(pages + headroom);
    if (r == nullptr) r = take_from(clean_, pages);
    if (r == nullptr) r = take_fresh_here(pages);
    if (r == nullptr) r = take_from_headrooms(pages);
    if (r == nullptr && !space_.is_sealed()) r = ranges_.take_fresh(pages);
    if (r == nullptr) return nullptr;
    r = carve(r, pages, 1);
    if (r != nullptr) keep_headroom(*r, headroom);
    return r;
  }
  [[nodiscard]] static run* take_from(run_bins& bins, std::size_t length) noexcept {
    run* r = bins.find(length);
    if (r != nullptr) bins.remove(r);
    return r;
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

  /// Effects: no block has headroom any more: where others would get nothing, or only by a new range,
  /// what is in use comes first. Returns: a clean run of at least `length` pages, in no bin; or
  /// null.
  [[nodiscard]] run* take_from_headrooms(std::size_t length) noexcept {
    if (headrooms_.pages() == 0) return nullptr;
    headrooms_.for_each([this](run* headroom) {
      headrooms_.remove(headroom);
      make_clean(headroom);
      return true;
    });
    return take_from(clean_, length);
  }

  /// Returns: the block that a headroom is kept for.
  [[nodiscard]] const run* block_before(const run& headroom) const noexcept {
    if (headroom.first == 0) return nullptr;
    const run* r = ranges_[headroom.range].run_at(headroom.first - 1);
    const bool owns = r != nullptr && (r->kind == run_kind::large || r->kind == run_kind::moving);
    return owns ? r : nullptr;
  }

  // ---- pieces: what remapping does to mappings --------------------------------------------------

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

  /// Returns: whether so many pages more may be in use. Dirty pages count until they are purged.
  [[nodiscard]] bool within_max(std::size_t pages) const noexcept {
    const std::size_t now = used_pages_ + dirty_pages();
    return now <= pages_max_ && pages <= pages_max_ - now;
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
  [[nodiscard]] std::size_t dirty_pages() const noexcept { return dirty_.pages() + rests_.pages(); }

  /// Effects: a run that was in use becomes dirty, merged with its dirty neighbours.
  void give(run* r) noexcept {
    used_pages_ -= r->pages;
    make_dirty(r);
  }

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

  /// Effects: a run that is in no bin becomes clean, merged with its clean neighbours; a later range
  /// that is empty then goes, and so does a long run at the top of a range in a room, and `r` with it: what
  /// the heap gives back, others can map.
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

  /// Effects: a run in use whose mapping is split gets a fresh one, and is clean. The lock is open
  /// meanwhile.
  void heal(run* r) noexcept {
    const std::size_t bytes = std::size_t{r->pages} << page_shift;
    used_pages_ -= r->pages;
    if (renew(r)) stats_.given_back_bytes += bytes;
  }

  /// Effects: a run that is not counted gets a fresh mapping, and is clean; the lock is open
  /// meanwhile. Returns: false when the system refuses: it is lost.
  bool renew(run* r) noexcept {
    r->kind = run_kind::moving;
    bool fresh = false;
    {
      const unlock_guard open(mutex_);
      fresh = space_.renew(address_of(*r), std::size_t{r->pages} << page_shift);
    }
    set_pieces(r, 0);
    if (fresh) {
      make_clean(r);
    } else {
      r->kind = run_kind::lost;
      used_pages_ += r->pages;
    }
    note_committed();
    return fresh;
  }

  [[nodiscard]] bool shrink(run* r, std::size_t pages) noexcept {
    if (pages == r->pages) return true;
    end_headroom(*r);
    run* tail = split(r, pages);
    if (tail == nullptr) return true;  // it stays as long as it was, which holds as many bytes
    ranges_[r->range].note_ends(*r);
    r->cut = std::min(r->cut, r->pages);
    tail->rest = true;
    used_pages_ -= tail->pages;
    make_dirty(tail);
    return true;
  }

  /// Effects: adds the `extra` pages behind `r` to it: its headroom, free runs, and fresh pages where
  /// these end at the range's top. Returns: false, with nothing changed, when others are in the way
  /// or memory is refused.
  [[nodiscard]] bool grow(run* r, std::size_t extra) noexcept {
    page_range& range = ranges_[r->range];
    if (extra > UINT32_MAX - r->pages) return false;
    const std::size_t begin = std::size_t{r->first} + r->pages;
    const std::size_t end = begin + extra;
    std::size_t page = begin, dirty = 0, pieces = 0;
    while (page < end && page != range.top) {
      const run* free = range.run_at(page);
      if (free == nullptr || bins_of(*free) == nullptr) return false;
      if (free->kind == run_kind::dirty) dirty += std::min<std::size_t>(free->pages, end - page);
      page += free->pages;
    }
    if (!within_max(extra - dirty)) return false;
    if (page < end && !range.extend(space_, end - page)) return false;
    // What was fresh is in no run; the others are taken, the last perhaps in part.
    for (page = begin; page < std::min(end, range.top);) {
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
    used_pages_ += extra;
    note_committed();
    return true;
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

  /// Effects: gives back at most `runs_max` of the dirty runs that became so at or before `until_ms`, but for
  /// those without which less than `keep_bytes` would stay. The lock is open during each system call.
  purged purge(std::int64_t until_ms, std::size_t keep_bytes, std::size_t runs_max) noexcept {
    if (space_.is_sealed()) return {};
    std::size_t bytes_purged = 0;
    const std::lock_guard one_at_a_time(purge_mutex_);
    const std::lock_guard guard(mutex_);
    // First all that is old enough is taken out, so that nobody else takes it meanwhile.
    run* taken = nullptr;
    std::size_t count = 0;
    const auto take_old = [&](run* r) {
      if (((dirty_pages() - r->pages) << page_shift) < keep_bytes) return true;
      const bool old =
          until_ms == INT64_MAX ||
          static_cast<std::int32_t>(static_cast<std::uint32_t>(until_ms) - r->dirty_since_ms) >= 0;
      if (!old) return true;
      bins_of(*r)->remove(r);
      r->kind = run_kind::purging;
      used_pages_ += r->pages;
      r->next = taken;
      taken = r;
      return ++count < runs_max;
    };
    dirty_.for_each(take_old);
    if (count < runs_max) rests_.for_each(take_old);
    while (taken != nullptr) {
      run* const r = taken;
      taken = r->next;
      const std::size_t bytes = std::size_t{r->pages} << page_shift;
      if (r->pieces != 0) {
        used_pages_ -= r->pages;
        if (renew(r)) bytes_purged += bytes;
        continue;
      }
      bool gone = false;
      {
        const unlock_guard open(mutex_);
        gone = space_.purge(address_of(*r), bytes);
      }
      used_pages_ -= r->pages;
      if (gone) {
        bytes_purged += bytes;
        make_clean(r);
      } else {
        make_dirty(r);
      }
      note_committed();
    }
    stats_.given_back_bytes += bytes_purged;
    // Runs that the system did not take are dirty again: where it takes none, another try ends nothing.
    return {bytes_purged, count < runs_max || bytes_purged == 0};
  }

  sealable<Space>& space_;
  const char* name_ = nullptr;
  range_set<sealable<Space>> ranges_;
  Mutex mutex_;
  Mutex purge_mutex_;
  std::atomic<std::int64_t> delay_ms_{purge_policy{}.delay_ms};
  std::atomic<std::size_t> keep_bytes_{purge_policy{}.keep_bytes};
  run_bins dirty_, rests_, clean_, headrooms_;
  std::size_t used_pages_ = 0;
  std::size_t pieces_ = 0;
  std::size_t pages_max_ = SIZE_MAX;
  std::atomic<std::size_t> committed_pages_{0};  // used and dirty; written under the lock
  std::size_t committed_pages_peak_ = 0;
  page_heap_stats stats_;
};

}  // namespace ashlar::detail
