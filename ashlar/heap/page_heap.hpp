// heap/page_heap.hpp: runs of pages for slabs and large blocks, shared by all classes and threads.
// Layer: heap. Includes: core.
//
// A run that is freed becomes dirty: it keeps its memory, merges with dirty neighbours and is the
// first choice of whoever needs pages next, of any class. So memory moves between classes without a
// system call. What stays dirty for longer than the delay is purged: given back to the system, and
// merged with clean neighbours. Dirty and clean are never merged with each other: that would either
// lose the knowledge that pages are zero or call memory resident that is not.
//
// Law: used_pages_ + dirty pages <= pages_max_ whenever pages are handed out.
// Invariant (audit): slab + large + purging + lost pages == used_pages_; dirty and clean pages are those in
// the bins; together they are the ranges' tops.
// Locking: one lock for the structure, open during every system call that gives memory back; purging
// itself is done by one thread at a time, under a lock of its own. Order: central, purge, structure.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
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

  /// Returns: whether `address` lies in any range, in use or not.
  [[nodiscard]] bool owns(const void* address) noexcept { return range_of(address) != nullptr; }

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
    run* r = take(pages, align_pages, g);
    if (r == nullptr) return nullptr;
    r->kind = run_kind::large;
    ranges_[r->range].note_ends(*r);
    ++stats_.large_made;
    stats_.large_pages += r->pages;
    stats_.large_pages_peak = std::max(stats_.large_pages_peak, stats_.large_pages);
    stats_.large_runs_peak = std::max(stats_.large_runs_peak, ++stats_.large_runs);
    return r;
  }

  /// Effects: takes back the large block that starts at `address`. Returns: its bytes, or 0 when no
  /// large block starts there, and then changes nothing.
  [[nodiscard]] std::size_t delete_large(void* address) noexcept {
    const std::lock_guard guard(mutex_);
    run* r = large_at_locked(address);
    if (r == nullptr) return 0;
    const std::size_t bytes = std::size_t{r->pages} << page_shift;
    ++stats_.large_freed;
    --stats_.large_runs;
    stats_.large_pages -= r->pages;
    if (r->moved && !space_.is_sealed())
      heal(r);
    else
      give(r);
    return bytes;
  }

  /// Effects: makes a large block `pages` long where it stands. Returns: false if it cannot grow
  /// there; shrinking always works unless no record can be had for the rest.
  [[nodiscard]] bool resize_large(run* r, std::size_t pages) noexcept {
    const std::lock_guard guard(mutex_);
    const std::size_t before = r->pages;
    const bool done = pages <= before ? shrink(r, pages) : grow(r, pages - before);
    if (done) {
      stats_.large_pages += r->pages;
      stats_.large_pages -= before;
      stats_.large_pages_peak = std::max(stats_.large_pages_peak, stats_.large_pages);
    }
    return done;
  }

  /// Effects: the pages of `from` become those of `to`, which has at least as many; afterwards `from`
  /// reads as zero. Returns: false when the system cannot; then `to` is gone.
  /// Requires: both are large blocks of the caller's.
  [[nodiscard]] bool move_pages(run* from, run* to) noexcept {
    // What was moved once lies in mappings of its own, and the system moves only within one.
    const bool whole = !from->moved;
    const bool done = whole && space_.move(address_of(*from), address_of(*to),
                                           std::size_t{from->pages} << page_shift);
    {
      // Some systems unmap the target before they refuse: so it needs a fresh mapping even then.
      const std::lock_guard guard(mutex_);
      from->moved = from->moved || done;
      to->moved = whole;
    }
    if (!done) static_cast<void>(delete_large(address_of(*to)));
    return done;
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
    const page_range* range = range_of(block);
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
  /// Returns: whether more is free at once than is to be kept.
  [[nodiscard]] bool has_more_than_kept() noexcept {
    const std::lock_guard guard(mutex_);
    return dirty_.pages() << page_shift >= keep_bytes_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] page_heap_stats stats() noexcept {
    const std::lock_guard guard(mutex_);
    page_heap_stats s = stats_;
    s.reserved_bytes = ranges_.reserved_bytes();
    for (std::uint32_t i = 0; i < ranges_.count(); ++i)
      s.table_bytes += ranges_[i].resident_table_bytes(space_);
    s.committed_bytes = std::uint64_t{used_pages_ + dirty_.pages()} << page_shift;
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
    std::size_t used = 0, dirty = 0, clean = 0;
    for (std::uint32_t i = 0; i < ranges_.count(); ++i) {
      for (std::size_t page = 0; page < ranges_[i].top;) {
        const run* r = ranges_[i].run_at(page);
        if (r == nullptr || r->first != page || r->pages == 0)
          corrupted(ranges_[i].address_of(page));
        (r->kind == run_kind::dirty   ? dirty
         : r->kind == run_kind::clean ? clean
                                      : used) += r->pages;
        page += r->pages;
      }
    }
    if (used != used_pages_ || dirty != dirty_.pages() || clean != clean_.pages()) corrupted(0);
  }

 private:
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

  /// Returns: the range that `address` lies in, or null. Later ranges come and go, so looking for one
  /// takes the lock; what was found stays as long as a block in it is held. O(ranges).
  [[nodiscard]] const page_range* range_of(const void* address) noexcept {
    if (const page_range* first = ranges_.first_if_holds(number_of(address)); first != nullptr)
      return first;
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
    if (r == nullptr) return nullptr;
    used_pages_ += r->pages;
    note_committed();
    return r;
  }

  [[nodiscard]] run* take_once(std::size_t pages, std::size_t align_pages, std::size_t length,
                               growth g) noexcept {
    for (run_bins* bins : {&dirty_, &clean_}) {
      if (bins == &clean_ && !within_max(pages)) return nullptr;
      if (run* r = bins->find(length); r != nullptr) {
        const bool zero = bins == &clean_;
        bins->remove(r);
        return carve(r, *bins, pages, align_pages, zero);
      }
    }
    if (g == growth::refused || space_.is_sealed()) return nullptr;
    run* r = ranges_.take_fresh(length);
    if (r == nullptr) return nullptr;
    // With clean pages before them they are one run, or a rest of these would stand beside those.
    r = merge(r, clean_, run_kind::clean, [](const run*) {});
    return carve(r, clean_, pages, align_pages, true);
  }

  /// Returns: whether so many pages more may be in use. Dirty pages count until they are purged.
  [[nodiscard]] bool within_max(std::size_t pages) const noexcept {
    const std::size_t now = used_pages_ + dirty_.pages();
    return now <= pages_max_ && pages <= pages_max_ - now;
  }

  /// Effects: cuts `pages` at an aligned address out of `r`; the rest goes to `bins`, of whose kind
  /// it is. Returns: null, with everything in `bins`, if no record can be had for a rest.
  [[nodiscard]] run* carve(run* r, run_bins& bins, std::size_t pages, std::size_t align_pages,
                           bool zero) noexcept {
    const run_kind rest_kind = zero ? run_kind::clean : run_kind::dirty;
    page_range& range = ranges_[r->range];
    const std::uint32_t since = zero ? 0 : r->dirty_since_ms;
    const std::size_t page_number = range.address_of(r->first) >> page_shift;
    const std::size_t skip = align_up(page_number, align_pages) - page_number;
    if (skip != 0) {
      run* head = range.new_run(space_);
      if (head == nullptr) {
        put_back(r, bins, rest_kind, since);
        return nullptr;
      }
      head->first = r->first;
      head->pages = static_cast<std::uint32_t>(skip);
      r->first += static_cast<std::uint32_t>(skip);
      r->pages -= static_cast<std::uint32_t>(skip);
      put_back(head, bins, rest_kind, since);
    }
    if (r->pages > pages) {
      run* tail = split(r, pages);
      if (tail == nullptr) {
        put_back(r, bins, rest_kind, since);
        return nullptr;
      }
      put_back(tail, bins, rest_kind, since);
    }
    r->zero = zero;
    r->moved = false;
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
    return tail;
  }

  void put_back(run* r, run_bins& bins, run_kind kind, std::uint32_t since) noexcept {
    r->kind = kind;
    r->dirty_since_ms = since;
    ranges_[r->range].note_ends(*r);
    bins.insert(r);
  }

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
    r = merge(r, dirty_, run_kind::dirty, take_age);
    put_back(r, dirty_, run_kind::dirty, now);
  }

  /// Effects: a run that is in no bin becomes clean, merged with its clean neighbours; a later range
  /// that is empty then goes, and `r` with it.
  void make_clean(run* r) noexcept {
    r = merge(r, clean_, run_kind::clean, [](const run*) {});
    page_range& range = ranges_[r->range];
    if (r->range != 0 && r->pages == range.top)
      ranges_.release(range);
    else
      put_back(r, clean_, run_kind::clean, 0);
  }

  template <class Note>
  [[nodiscard]] run* merge(run* r, run_bins& bins, run_kind kind, Note note) noexcept {
    page_range& range = ranges_[r->range];
    if (r->first != 0) {
      run* before = range.run_at(r->first - 1);
      if (before != nullptr && before->kind == kind) {
        bins.remove(before);
        note(before);
        before->pages += r->pages;
        range.delete_run(r);
        r = before;
      }
    }
    run* after = range.run_at(std::size_t{r->first} + r->pages);
    if (after != nullptr && after->kind == kind) {
      bins.remove(after);
      note(after);
      r->pages += after->pages;
      range.delete_run(after);
    }
    return r;
  }

  /// Effects: a large block whose pages were remapped gets a fresh mapping, so that mappings do not
  /// multiply with every realloc. The lock is open meanwhile.
  void heal(run* r) noexcept {
    const std::size_t bytes = std::size_t{r->pages} << page_shift;
    r->kind = run_kind::purging;
    bool fresh = false;
    {
      const unlock_guard open(mutex_);
      fresh = space_.renew(address_of(*r), bytes);
    }
    if (!fresh) {
      r->kind = run_kind::lost;
      return;
    }
    stats_.given_back_bytes += bytes;
    used_pages_ -= r->pages;
    make_clean(r);
    note_committed();
  }

  [[nodiscard]] bool shrink(run* r, std::size_t pages) noexcept {
    if (pages == r->pages) return true;
    run* tail = split(r, pages);
    if (tail == nullptr) return true;  // it stays as long as it was, which holds as many bytes
    ranges_[r->range].note_ends(*r);
    used_pages_ -= tail->pages;
    make_dirty(tail);
    return true;
  }

  /// Effects: adds the `extra` pages behind `r` to it: free runs, and fresh pages where these end at the
  /// range's top. Returns: false, with nothing changed, when others are in the way or memory is refused.
  [[nodiscard]] bool grow(run* r, std::size_t extra) noexcept {
    page_range& range = ranges_[r->range];
    if (extra > UINT32_MAX - r->pages) return false;
    const std::size_t begin = std::size_t{r->first} + r->pages;
    const std::size_t end = begin + extra;
    std::size_t page = begin, dirty = 0;
    while (page < end && page != range.top) {
      const run* free = range.run_at(page);
      if (free == nullptr || !is_free_kind(free->kind)) return false;
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
      take_front(free, std::min<std::size_t>(free->pages, end - free->first));
    }
    r->pages += static_cast<std::uint32_t>(extra);
    range.note_ends(*r);
    used_pages_ += extra;
    note_committed();
    return true;
  }

  void note_committed() noexcept {
    const std::size_t pages = used_pages_ + dirty_.pages();
    committed_pages_.store(pages, std::memory_order_relaxed);
    committed_pages_peak_ = std::max(committed_pages_peak_, pages);
  }

  [[nodiscard]] static constexpr bool is_free_kind(run_kind kind) noexcept {
    return kind == run_kind::dirty || kind == run_kind::clean;
  }
  /// Effects: a free run loses its first `pages`, or goes when it has no more.
  void take_front(run* free, std::size_t pages) noexcept {
    run_bins& bins = free->kind == run_kind::dirty ? dirty_ : clean_;
    const run_kind kind = free->kind;
    const std::uint32_t since = free->dirty_since_ms;
    bins.remove(free);
    if (free->pages == pages) {
      ranges_[free->range].delete_run(free);
      return;
    }
    free->first += static_cast<std::uint32_t>(pages);
    free->pages -= static_cast<std::uint32_t>(pages);
    put_back(free, bins, kind, since);
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
    dirty_.for_each([&](run* r) {
      if (((dirty_.pages() - r->pages) << page_shift) < keep_bytes) return true;
      const bool old =
          until_ms == INT64_MAX ||
          static_cast<std::int32_t>(static_cast<std::uint32_t>(until_ms) - r->dirty_since_ms) >= 0;
      if (!old) return true;
      dirty_.remove(r);
      r->kind = run_kind::purging;
      used_pages_ += r->pages;
      r->next = taken;
      taken = r;
      return ++count < runs_max;
    });
    while (taken != nullptr) {
      run* const r = taken;
      taken = r->next;
      const std::size_t bytes = std::size_t{r->pages} << page_shift;
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
  run_bins dirty_, clean_;
  std::size_t used_pages_ = 0;
  std::size_t pages_max_ = SIZE_MAX;
  std::atomic<std::size_t> committed_pages_{0};  // used and dirty; written under the lock
  std::size_t committed_pages_peak_ = 0;
  page_heap_stats stats_;
};

}  // namespace ashlar::detail
