// heap/page_heap.hpp: runs of pages for slabs and large blocks, shared by all classes and threads.
// Layer: heap. Includes: core.
//
// A run that is freed becomes dirty: it keeps its memory, merges with dirty neighbours and is the
// first choice of whoever needs pages next, of any class. So memory moves between classes without a
// system call. What stays dirty for longer than the delay is purged: given back to the system, and
// merged with clean neighbours. Dirty and clean are never merged with each other: that would either
// lose the knowledge that pages are zero or call memory resident that is not.
//
// Invariant (audit): slab + large + dirty + clean + purging pages == sum of the ranges' tops.
// Locking: one lock; it is not held during purge's system calls. Order: central before page heap.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/heap/address_space.hpp>
#include <ashlar/heap/page_range.hpp>
#include <ashlar/heap/run.hpp>
#include <ashlar/heap/run_bins.hpp>

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
  std::uint64_t committed_bytes = 0;  ///< in use or dirty: what may be resident, tables excluded
  std::uint64_t peak_committed_bytes = 0;
  std::uint64_t given_back_bytes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t large_runs = 0, large_runs_peak = 0, large_pages = 0;
  std::uint64_t large_made = 0, large_freed = 0;
};

template <address_space Space, class Mutex>
class page_heap {
 public:
  explicit constexpr page_heap(Space& space) noexcept : space_(space) {}
  page_heap(const page_heap&) = delete;
  page_heap& operator=(const page_heap&) = delete;

  void set_policy(const purge_policy& policy) noexcept {
    const std::lock_guard guard(mutex_);
    policy_ = policy;
  }

  /// Effects: reserves the first range. Returns: false when the system refuses. Requires: called
  /// until it succeeds, before any other function but set_policy.
  [[nodiscard]] bool start() noexcept {
    const std::lock_guard guard(mutex_);
    return range_count_.load(std::memory_order_relaxed) != 0 || add_range(1);
  }

  // ---- the hot lookup: address -> class -------------------------------------------------------

  /// Returns: the class of the slab that holds `address`, if the first range does; 0 says only "ask
  /// `class_anywhere`". Any value may be passed. Reads three words and a byte; takes no
  /// lock.
  [[nodiscard]] ASHLAR_HOT class_index class_of(const void* address) const noexcept {
    const std::size_t page = (number_of(address) - first_base_) >> page_shift;
    if (page >= first_pages_) [[unlikely]]
      return 0;
    return first_classes_[page];
  }

  /// Returns: the class of the slab that holds `address`, in any range; 0 if none does.
  [[nodiscard]] class_index class_anywhere(const void* address) const noexcept {
    if (const class_index c = class_of(address); c != 0) [[likely]]
      return c;
    const page_range* range = range_of(address);
    return range == nullptr ? class_index{0}
                            : range->class_of.entries()[range->page_of(number_of(address))];
  }

  /// Returns: the slab of class `c` that holds `address`, and where it begins; null if none does.
  /// Exact for a block that somebody holds (its slab cannot change then), a guess for others. No
  /// lock.
  [[nodiscard]] run* slab_of(const void* address, class_index c, char*& begin) const noexcept {
    const page_range* range = &ranges_[0];
    std::size_t page = range->page_of(number_of(address));
    if (page >= range->pages || range->class_of.entries()[page] != c) [[unlikely]] {
      range = range_of(address);
      if (range == nullptr) return nullptr;
      page = range->page_of(number_of(address));
      if (range->class_of.entries()[page] != c) return nullptr;
    }
    run* r = range->runs.entries() + range->run_of.entries()[page];
    begin = reinterpret_cast<char*>(range->address_of(r->first));
    return r;
  }

  /// Returns: the large block that starts at `address`, null if none does.
  [[nodiscard]] run* large_at(const void* address) noexcept {
    const std::lock_guard guard(mutex_);
    return large_at_locked(address);
  }

  /// Returns: whether `address` lies in any range, in use or not.
  [[nodiscard]] bool owns(const void* address) const noexcept {
    return range_of(address) != nullptr;
  }

  [[nodiscard]] char* address_of(const run& r) const noexcept {
    return reinterpret_cast<char*>(ranges_[r.range].address_of(r.first));
  }

  // ---- runs -----------------------------------------------------------------------------------

  /// Returns: a run for a slab of class `c`, with its bitmap all ones; null when out of memory, or
  /// when it would take growth and that is refused.
  [[nodiscard]] run* new_slab(class_index c, growth g) noexcept {
    const slab_shape& shape = slab_shapes[c];
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
    r->size_class = c;
    r->kind = run_kind::slab;
    range.note_slab(*r);
    return r;
  }

  /// Requires: every block of the slab is free.
  void delete_slab(run* r) noexcept {
    {
      const std::lock_guard guard(mutex_);
      page_range& range = ranges_[r->range];
      range.forget_slab(*r);
      range.delete_bits(r->free_bits, slab_shapes[r->size_class].words);
      r->size_class = 0;
      give(r);
    }
    purge_aged();
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
    stats_.large_pages += pages;
    stats_.large_runs_peak = std::max(stats_.large_runs_peak, ++stats_.large_runs);
    return r;
  }

  /// Effects: takes back the large block that starts at `address`. Returns: its bytes, or 0 when no
  /// large block starts there, and then changes nothing.
  [[nodiscard]] std::size_t delete_large(void* address) noexcept {
    std::size_t bytes = 0;
    {
      const std::lock_guard guard(mutex_);
      run* r = large_at_locked(address);
      if (r == nullptr) return 0;
      bytes = std::size_t{r->pages} << page_shift;
      ++stats_.large_freed;
      --stats_.large_runs;
      stats_.large_pages -= r->pages;
      if (r->moved)
        heal(r);
      else
        give(r);
    }
    purge_aged();
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
    }
    return done;
  }

  /// Effects: the pages of `from` become those of `to`, which has at least as many; afterwards
  /// `from` reads as zero. Returns: false when the system cannot, and nothing has changed.
  [[nodiscard]] bool move_pages(run* from, run* to) noexcept {
    const std::size_t bytes = std::size_t{from->pages} << page_shift;
    if (!space_.move(address_of(*from), address_of(*to), bytes)) return false;
    from->moved = to->moved = true;
    return true;
  }

  // ---- exact counting -------------------------------------------------------------------------

  /// Effects: from now on every block has a slack entry. Returns: false when memory was refused.
  [[nodiscard]] bool keep_slack() noexcept {
    const std::lock_guard guard(mutex_);
    const std::uint32_t count = range_count_.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i)
      if (!ranges_[i].keep_slack(space_)) return false;
    keep_slack_ = true;
    return true;
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

  // ---- giving back ----------------------------------------------------------------------------

  /// Effects: gives back every dirty run. Returns: the bytes.
  std::size_t purge_all() noexcept { return purge(INT64_MAX, 0); }

  /// Effects: gives back what has been dirty for the delay, if it is time to look.
  void purge_aged() noexcept {
    if (policy_.delay_ms < 0) return;
    const std::uint64_t now = space_.now_ms();
    if (policy_.delay_ms != 0) {
      std::uint64_t next = next_look_ms_.load(std::memory_order_relaxed);
      if (now < next) return;
      // Whoever moves the time on does the work; the others go on allocating.
      const auto wait = static_cast<std::uint64_t>(policy_.delay_ms) / 4 + 1;
      if (!next_look_ms_.compare_exchange_strong(next, now + wait, std::memory_order_relaxed))
        return;
    }
    purge(static_cast<std::int64_t>(now) - policy_.delay_ms, policy_.keep_bytes);
  }

  [[nodiscard]] page_heap_stats stats() noexcept {
    const std::lock_guard guard(mutex_);
    page_heap_stats s = stats_;
    const std::uint32_t count = range_count_.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i) {
      s.reserved_bytes += ranges_[i].reserved_bytes;
      s.table_bytes += ranges_[i].table_bytes();
    }
    s.committed_bytes = std::uint64_t{used_pages_ + dirty_.pages()} << page_shift;
    s.peak_committed_bytes = std::uint64_t{committed_pages_peak_} << page_shift;
    return s;
  }

  [[nodiscard]] Mutex& mutex() noexcept { return mutex_; }

  /// Effects: checks the invariant of the whole structure; ends in a fault if it does not hold.
  /// O(pages). For tests and debugging.
  void audit() noexcept {
    const std::lock_guard guard(mutex_);
    const std::uint32_t count = range_count_.load(std::memory_order_relaxed);
    std::size_t used = 0, dirty = 0, clean = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
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
  static constexpr std::uint32_t ranges_max = 64;
  static constexpr std::size_t first_range_min = std::size_t{16} << 30;
  static constexpr std::size_t range_min = std::size_t{64} << 20;
  static constexpr std::size_t range_least = std::size_t{1} << 20;

  [[noreturn]] ASHLAR_COLD static void corrupted(std::uintptr_t address) noexcept {
    ashlar_fault({.kind = fault_kind::corrupted,
                  .call = "audit",
                  .address = reinterpret_cast<void*>(address)});
  }

  [[nodiscard]] static std::uintptr_t number_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }

  /// Returns: the range that `address` lies in, or null. What a range says of itself never changes
  /// once range_count_ counts it, so no lock is needed. O(ranges).
  [[nodiscard]] const page_range* range_of(const void* address) const noexcept {
    const std::uint32_t count = range_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i)
      if (ranges_[i].contains(number_of(address))) return &ranges_[i];
    return nullptr;
  }

  [[nodiscard]] run* large_at_locked(const void* address) const noexcept {
    const page_range* range = range_of(address);
    if (range == nullptr) return nullptr;
    run* r = range->run_at(range->page_of(number_of(address)));
    const bool starts = r != nullptr && r->kind == run_kind::large && address_of(*r) == address;
    return starts ? r : nullptr;
  }

  /// Returns: a run in use of no kind yet; null when out of memory.
  [[nodiscard]] run* take(std::size_t pages, std::size_t align_pages, growth g) noexcept {
    if (pages > UINT32_MAX || align_pages > UINT32_MAX) return nullptr;
    run* r = take_once(pages, align_pages, g);
    if (r == nullptr && g == growth::allowed && dirty_.pages() != 0) {
      // Purged runs merge with clean neighbours, and the system may need the memory to say yes.
      while (run* d = dirty_.find(1)) purge_one(d);
      r = take_once(pages, align_pages, g);
    }
    if (r == nullptr) return nullptr;
    used_pages_ += pages;
    committed_pages_peak_ = std::max(committed_pages_peak_, used_pages_ + dirty_.pages());
    return r;
  }

  [[nodiscard]] run* take_once(std::size_t pages, std::size_t align_pages, growth g) noexcept {
    // An aligned run is a longer one with its ends cut off. The length cannot overflow: both <
    // 2^32.
    const std::size_t length = pages + align_pages - 1;
    for (run_bins* bins : {&dirty_, &clean_}) {
      if (run* r = bins->find(length); r != nullptr) {
        const bool zero = bins == &clean_;
        bins->remove(r);
        return carve(r, *bins, pages, align_pages, zero);
      }
    }
    if (g == growth::refused) return nullptr;
    run* r = take_fresh(length);
    return r == nullptr ? nullptr : carve(r, clean_, pages, align_pages, true);
  }

  /// Effects: cuts `pages` at an aligned address out of `r`; the rest goes to `bins`, of whose kind
  /// it is. If no record can be had for a rest, the run keeps it: longer than asked, never wrong.
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

  /// Returns: never-used pages from the newest range, or from a new one.
  [[nodiscard]] run* take_fresh(std::size_t pages) noexcept {
    page_range* range = &ranges_[range_count_.load(std::memory_order_relaxed) - 1];
    if (pages > range->pages - range->top) {
      if (!add_range(pages)) return nullptr;
      ++range;
    }
    return extend(*range, pages);
  }

  /// Effects: moves the top of `range` up. Returns: the run of the new pages, of no kind yet; null,
  /// with the top where it was, when memory was refused.
  [[nodiscard]] run* extend(page_range& range, std::size_t pages) noexcept {
    const std::size_t first = range.top;
    if (!range.extend(space_, pages)) return nullptr;
    run* r = range.new_run(space_);
    if (r == nullptr) {
      range.top = first;
      return nullptr;
    }
    r->first = static_cast<std::uint32_t>(first);
    r->pages = static_cast<std::uint32_t>(pages);
    return r;
  }

  /// Effects: reserves another range that holds `pages`. The first is as large as the machine's
  /// memory suggests; where addresses are limited, a quarter of what is allowed, and halved until
  /// the system agrees.
  [[nodiscard]] bool add_range(std::size_t pages) noexcept {
    const std::uint32_t count = range_count_.load(std::memory_order_relaxed);
    if (count == ranges_max) return false;
    const std::size_t needed = align_up(pages << page_shift, range_least);
    std::size_t bytes = range_min;
    if (count == 0) {
      bytes = std::max(first_range_min, std::bit_ceil(space_.physical()) * 4);
      const std::size_t limit = space_.limit();
      if (limit != SIZE_MAX) bytes = std::min(bytes, std::bit_ceil(limit / 4 + 1) / 2);
    }
    bytes = std::max(bytes, needed);
    // Counting needs a table of an eighth of the range on top, so it asks for less to begin with.
    if (keep_slack_) bytes = std::max(bytes / 8, needed);
    while (!ranges_[count].reserve(space_, bytes >> page_shift, static_cast<std::uint8_t>(count))) {
      if (bytes <= needed || bytes <= range_least) return false;
      bytes = std::max(align_down(bytes / 2, range_least), needed);
    }
    if (keep_slack_ && !ranges_[count].keep_slack(space_)) return false;
    if (count == 0) {
      first_classes_ = ranges_[0].class_of.entries();
      first_base_ = ranges_[0].base;
      first_pages_ = ranges_[0].pages;
    } else {
      retire_rest(ranges_[count - 1]);
    }
    range_count_.store(count + 1, std::memory_order_release);
    return true;
  }

  /// Effects: the committed end of a range that will not grow any more becomes a clean run.
  void retire_rest(page_range& range) noexcept {
    const std::size_t rest = range.commit_end - range.top;
    if (rest == 0) return;
    if (run* r = extend(range, rest); r != nullptr) put_back(r, clean_, run_kind::clean, 0);
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

  void make_clean(run* r) noexcept {
    r = merge(r, clean_, run_kind::clean, [](const run*) {});
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
  /// multiply with every realloc.
  void heal(run* r) noexcept {
    if (!space_.renew(address_of(*r), std::size_t{r->pages} << page_shift)) {
      give(r);
      return;
    }
    stats_.given_back_bytes += std::uint64_t{r->pages} << page_shift;
    r->moved = false;
    used_pages_ -= r->pages;
    make_clean(r);
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

  [[nodiscard]] bool grow(run* r, std::size_t extra) noexcept {
    page_range& range = ranges_[r->range];
    const std::size_t end = std::size_t{r->first} + r->pages;
    if (extra > UINT32_MAX - r->pages) return false;
    if (end == range.top) {
      if (r->range + 1u != range_count_.load(std::memory_order_relaxed)) return false;
      if (!range.extend(space_, extra)) return false;
    } else {
      run* after = range.run_at(end);
      if (after == nullptr || after->pages < extra) return false;
      if (after->kind != run_kind::dirty && after->kind != run_kind::clean) return false;
      run_bins& bins = after->kind == run_kind::dirty ? dirty_ : clean_;
      const run_kind kind = after->kind;
      const std::uint32_t since = after->dirty_since_ms;
      bins.remove(after);
      if (after->pages > extra) {
        after->first += static_cast<std::uint32_t>(extra);
        after->pages -= static_cast<std::uint32_t>(extra);
        put_back(after, bins, kind, since);
      } else {
        range.delete_run(after);
      }
    }
    r->pages += static_cast<std::uint32_t>(extra);
    range.note_ends(*r);
    used_pages_ += extra;
    committed_pages_peak_ = std::max(committed_pages_peak_, used_pages_ + dirty_.pages());
    return true;
  }

  /// Effects: one dirty run goes back to the system. Requires: the lock is held.
  void purge_one(run* r) noexcept {
    dirty_.remove(r);
    const std::size_t bytes = std::size_t{r->pages} << page_shift;
    if (space_.purge(address_of(*r), bytes)) stats_.given_back_bytes += bytes;
    make_clean(r);
  }

  /// Effects: gives back the dirty runs that became so at or before `until_ms`, as long as more
  /// than `keep_bytes` stay. The lock is open during each system call. Returns: the bytes.
  std::size_t purge(std::int64_t until_ms, std::size_t keep_bytes) noexcept {
    std::size_t bytes_purged = 0;
    std::unique_lock guard(mutex_);
    // First all that is old enough is taken out, so that nobody else takes it meanwhile.
    run* taken = nullptr;
    dirty_.for_each([&](run* r) {
      if ((dirty_.pages() << page_shift) <= keep_bytes) return;
      const bool old =
          until_ms == INT64_MAX ||
          static_cast<std::int32_t>(static_cast<std::uint32_t>(until_ms) - r->dirty_since_ms) >= 0;
      if (!old) return;
      dirty_.remove(r);
      r->kind = run_kind::purging;
      used_pages_ += r->pages;
      r->next = taken;
      taken = r;
    });
    while (taken != nullptr) {
      run* const r = taken;
      taken = r->next;
      const std::size_t bytes = std::size_t{r->pages} << page_shift;
      guard.unlock();
      const bool gone = space_.purge(address_of(*r), bytes);
      guard.lock();
      used_pages_ -= r->pages;
      if (gone) {
        bytes_purged += bytes;
        make_clean(r);
      } else {
        make_dirty(r);
      }
    }
    stats_.given_back_bytes += bytes_purged;
    return bytes_purged;
  }

  // Copies of ranges_[0]'s, beside each other and not atomic (an atomic load is never folded into
  // the instruction that uses it: three more in every free). They are written once, by `start`,
  // which happens before anybody has a cache, and so before anybody has a block.
  std::uintptr_t first_base_ = 0;
  std::size_t first_pages_ = 0;
  const class_index* first_classes_ = nullptr;

  Mutex mutex_;
  Space& space_;
  purge_policy policy_;
  bool keep_slack_ = false;
  std::atomic<std::uint64_t> next_look_ms_{0};
  std::atomic<std::uint32_t> range_count_{0};
  page_range ranges_[ranges_max];
  run_bins dirty_, clean_;
  std::size_t used_pages_ = 0;
  std::size_t committed_pages_peak_ = 0;
  page_heap_stats stats_;
};

}  // namespace ashlar::detail
