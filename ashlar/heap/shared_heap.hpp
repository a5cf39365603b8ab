// heap/shared_heap.hpp: what all threads of a heap share: everything but their caches.
// Layer: heap.
//
//   engine (basic_heap.hpp)     caches: stacks of free blocks, one owner each
//      | take, give: batches of one class          | allocate_large, deallocate_large
//   this file                   asks the reclaimer before the heap grows, and after a miss
//      |                                           |
//   centrals: stashes, slabs                       |
//      | runs of pages                             | runs of pages
//   page heap
//
// Law: the heap takes addresses that it never used only when nothing at hand can serve. First a
// request goes without growth, then with growth (and some of what rests is sorted back before, if
// that pays), then all that rests is sorted back, and growth is tried once more.
// Invariant: held() == bytes of blocks that callers and caches have.
// Thread-safety: any caller at any time, unless a function says otherwise.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include <ashlar/core/address.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/heap/block_use.hpp>
#include <ashlar/heap/central_set.hpp>
#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/copied_block.hpp>
#include <ashlar/heap/exact_counting.hpp>
#include <ashlar/heap/figures.hpp>
#include <ashlar/heap/heap_bounds.hpp>
#include <ashlar/heap/hit_path.hpp>
#include <ashlar/heap/interface_hits.hpp>
#include <ashlar/heap/reclaimer.hpp>
#include <ashlar/pages/page_heap.hpp>
#include <ashlar/pages/sealable.hpp>

namespace ashlar::detail {

/// The part of a heap that knows no cache. `Config` is as for basic_heap.
template <class Config>
class shared_heap {
 public:
  using space_type = typename Config::space;
  using mutex_type = typename Config::mutex;
  using classes = classes_of<Config>;
  /// What resize_in_place returns after a fault. Where the process goes on after faults (see
  /// ashlar_misuse), the request is dropped: no function changes anything for such an address.
  static constexpr std::size_t not_ours = SIZE_MAX;

  shared_heap(const shared_heap&) = delete;
  shared_heap& operator=(const shared_heap&) = delete;

  // ---- blocks ---------------------------------------------------------------------------------

  /// As page_heap::class_of.
  [[nodiscard]] class_index class_of(const void* block) noexcept { return pages_.class_of(block); }

  /// Effects: from now on new large blocks' pages are closed when they are freed, as `which` says.
  /// With `always` keys leave with the blocks that have them: so all free memory is zero, if
  /// callers clear all others that they free.
  void close_freed(closing which) noexcept {
    pages_.large().close_freed(which);
    pages_.keys().clear_in_slabs(which == closing::always);
    bounds_.freed_blocks_rest = which == closing::always;
  }

  /// As those of large_blocks, of which each block's owner may note something.
  [[nodiscard]] auto find_large(const void* block) noexcept { return pages_.large().find(block); }
  void note(const void* block, std::uint64_t what) noexcept { pages_.large().note(block, what); }

  /// Returns: the bytes a caller may use of `block`, not null; 0 after a fault: it is not ours.
  [[nodiscard]] std::size_t usable_size(const void* block, const char* call) noexcept {
    const std::size_t bytes = find(block).bytes;
    if (bytes == 0) fail(block, call);
    return bytes;
  }

  /// Effects: makes `block` hold `size` bytes without moving it, if that can be done and is not a
  /// waste (a block is kept while more than half of it is used). Returns: the block's usable bytes
  /// now if it stays, 0 if it has to move; `not_ours` after a fault: no live block is there.
  [[nodiscard]] std::size_t resize_in_place(void* block, std::size_t size,
                                            const char* call) noexcept {
    if (const class_index c = pages_.class_of(block); c != 0) {
      if (!expect_in_use(block, c, call)) return not_ours;
      return interface_hits<classes>::serves_well(c, size) ? classes::block_size(c) : 0;
    }
    run* r = pages_.large().at(block);
    if (r == nullptr) {
      fail(block, call);
      return not_ours;
    }
    if (size <= shared_slab_block_max || size > PTRDIFF_MAX) return 0;
    const std::size_t before = r->pages, pages = divide_up(size, page_size);
    if (!pages_.large().resize(r, pages)) return 0;
    held_.note_large(before, r->pages);
    return std::size_t{r->pages} << page_shift;
  }

  /// Effects: moves a large block to where it can hold `size` bytes, with headroom behind it:
  /// by remapping its pages, or by copying. Requires: `block` is a live large block. Returns: the
  /// new block, null if this could not be done so, or is not needed.
  [[nodiscard]] void* move_large(void* block, std::size_t size) noexcept {
    run* from = pages_.large().at(block);
    if (from == nullptr || size > PTRDIFF_MAX) return nullptr;
    const std::size_t pages = divide_up(size, page_size);
    const std::size_t before = from->pages;
    if (pages < before) return nullptr;
    step_budget left = budget_of_call();
    if (before >= remap_pages_min) {
      if (run* to = pages_.large().move(from, pages); to != nullptr) {
        held_.note_large(before, pages);
        after_miss(left);
        return pages_.address_of(*to);
      }
    }
    // The law's first two steps: where they get nothing, the caller allocates and copies.
    run* to = pages_.large().make_to_grow(pages, growth::refused);
    if (to == nullptr) {
      reclaimer_.before_growth(no_cache{}, pages, left);
      to = pages_.large().make_to_grow(pages, growth::allowed);
    }
    if (to == nullptr) return nullptr;
    held_.note_large(0, pages);
    void* const moved = pages_.address_of(*to);
    std::memcpy(moved, block, before << page_shift);
    static_cast<void>(pages_.large().remove_outgrown(block));
    held_.note_large(before, 0);
    after_miss(left);
    return moved;
  }

  /// Effects: makes `block` hold `size` bytes where it is, or by moving a large block that grows.
  /// Returns: the block, wherever it is then; null when its bytes have to be copied to another one,
  /// and it is as it was; no_block() after a fault: no live block is there.
  [[nodiscard]] void* reallocate(void* block, std::size_t size, const char* call) noexcept {
    const std::size_t kept = resize_in_place(block, size, call);
    if (kept != 0) return kept != not_ours ? block : no_block();
    const std::size_t have = usable_size(block, call);
    return size > have && have > small_size_max ? move_large(block, size) : nullptr;
  }

  // ---- the whole ------------------------------------------------------------------------------

  /// Effects: makes the heap usable; nothing if it is. Returns: false when memory for that was
  /// refused; a later call tries again. Every other function calls it where it has to.
  [[nodiscard]] bool start() noexcept {
    if (has_started()) [[likely]]
      return true;
    const std::lock_guard guard(start_mutex_);
    if (started_.load(std::memory_order_relaxed)) return true;
    if constexpr (requires { classes::load(); }) classes::load();
    if (!pages_.start(classes::table().bit_words_per_page,
                      centrals_type::slots(bounds_.stash_bytes)))
      return false;
    centrals_.start(pages_, bounds_.stash_bytes, bounds_.steady_slabs);
    started_.store(true, std::memory_order_release);
    return true;
  }

  [[nodiscard]] bool has_started() const noexcept {
    return started_.load(std::memory_order_acquire);
  }

  /// Effects: the whole pages of [p, p + bytes), which are in a block of this heap, are in memory
  /// if the system has them; their contents stay. Nothing while the heap is sealed.
  void populate(void* p, std::size_t bytes) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    const std::uintptr_t begin = align_up(at, page_size);
    const std::uintptr_t end = align_down(at + bytes, page_size);
    if (begin < end)
      static_cast<void>(space_.populate(reinterpret_cast<void*>(begin), end - begin));
  }

  /// Effects: while it is on, no function but collect and release_all makes a system call, except
  /// to wait for a lock that another thread holds: what is free serves, or nothing does.
  void seal(bool on) noexcept { space_.seal(on); }
  [[nodiscard]] bool is_sealed() const noexcept { return space_.is_sealed(); }

  /// Effects: from now on the heap keeps to `bounds`. Requires: called before anything else.
  void set_bounds(const heap_bounds& bounds) noexcept {
    bounds_ = bounds;
    pages_.supply().set_pages_max(bounds.budget_bytes >> page_shift);
  }

  /// Returns: whether the limit is why a request for `size` gets null. Requires: started.
  [[nodiscard]] bool is_beyond_limit(std::size_t size) noexcept {
    const class_index c = classes::class_for(size, 1);
    return size <= PTRDIFF_MAX &&
           pages_.supply().is_beyond_max(c != 0 ? classes::shape(c).pages
                                                : divide_up(size, page_size));
  }
  void note_refusal() noexcept { refusals_.fetch_add(1, std::memory_order_relaxed); }

  /// As page_heap::close_behind_slabs.
  void close_behind_slabs(std::size_t most) noexcept { pages_.close_behind_slabs(most); }

  /// Returns: whether `address` lies where this heap's blocks do, in use or not.
  [[nodiscard]] bool owns(const void* address) noexcept { return pages_.owns(address); }

  /// Effects: every free block that no cache holds goes back to its slab, every free page to the
  /// system, also those inside slabs. Returns: bytes given to the system. O(slabs + stashed
  /// blocks).
  std::size_t trim() noexcept { return has_started() ? reclaimer_.give_back_all() : 0; }

  /// Effects: from now on free pages go back as `policy` says.
  void set_purge_policy(const detail::purge_policy& policy) noexcept {
    pages_.supply().set_policy(policy);
    reclaimer_.forget_time();
  }
  /// Returns: milliseconds between two scans; negative when free pages never go back.
  [[nodiscard]] std::int64_t reclaim_interval_ms() const noexcept {
    return detail::reclaim_interval_ms(pages_.supply().delay_ms());
  }

  /// Effects: the next step of a scan: one class's stash is sorted back, or some runs are given
  /// back, or the free pages of some slabs. No lock is held afterwards. Returns: false when `scan`
  /// has come to its end.
  bool reclaim_step(reclaim_progress& scan) noexcept {
    return has_started() && reclaimer_.step(scan);
  }

  /// Effects: while it is on, misses do not scan for what can be given back: the caller does, by
  /// reclaim_step.
  void let_misses_reclaim(bool on) noexcept {
    const auto wait = static_cast<std::uint64_t>(reclaim_interval_ms() + 1);
    reclaimer_.let_misses_reclaim(on ? space_.now_ms() + wait : reclaimer_type::never);
  }

  /// Returns: bytes of pages in use or dirty that neither a caller nor a cache holds: in free runs,
  /// slabs and stashes, also where a slab's pages have left it. At some recent moment; takes no
  /// lock.
  [[nodiscard]] std::size_t idle_bytes() const noexcept {
    const auto held = held_.now();
    const std::size_t committed = pages_.supply().committed_bytes();
    return committed - std::min(committed, held);
  }

  /// Effects: checks the invariants of every structure; ends in a fault if one does not hold.
  /// Requires: no other thread is inside the heap. O(pages + blocks / 64).
  void audit() noexcept {
    if (!has_started()) return;
    pages_.audit();
    centrals_.audit(pages_);
  }

  [[nodiscard]] space_type& space() noexcept { return space_; }
  /// Returns: where the pages come from: how many there are, and may be, and when they go back.
  [[nodiscard]] auto& supply() noexcept { return pages_.supply(); }

  /// Effects: faults call the heap by this name; null, the beginning: by none. It is not copied.
  /// Requires: called before anything else.
  void set_name(const char* name) noexcept { pages_.set_name(name); }
  [[nodiscard]] const char* name() const noexcept { return pages_.name(); }

 protected:
  using pages_type = page_heap<space_type, mutex_type>;
  using centrals_type = central_set<space_type, mutex_type, classes>;
  using reclaimer_type = reclaimer<centrals_type, mutex_type>;

  constexpr shared_heap() noexcept
      : pages_(space_), reclaimer_(centrals_, pages_, bounds_, held_) {}

  [[nodiscard]] pages_type& pages() noexcept { return pages_; }
  [[nodiscard]] centrals_type& centrals() noexcept { return centrals_; }
  [[nodiscard]] exact_counting<pages_type>& counting() noexcept { return counting_; }

  /// Effects: takes up to `count` blocks of class `c`, not 0, and writes them to out[-1], out[-2],
  /// ... `cached` is what the caller's cache can give back (no_cache), `left` what the call may
  /// still spend. Returns: how many; 0 when memory is out. Requires: started.
  template <class Cached>
  [[nodiscard]] std::size_t take(class_index c, void** out, std::size_t count, Cached cached,
                                 step_budget& left, batch_start start) noexcept {
    const auto attempt = [&](growth g, std::size_t bytes) {
      if (g == growth::allowed) {
        start = batch_start::lowest_block;
        count = left.steps_left(step::block_taken,
                                std::clamp<std::size_t>(bytes / classes::block_size(c), 1, count));
      }
      return centrals_[c].take(out, count, g, left, start, cached.side());
    };
    const std::size_t got =
        by_growth_at_last(cached, cached, classes::shape(c).pages, left, attempt);
    left.spend<space_type>(step::block_taken, got);
    held_.note(static_cast<std::int64_t>(got * classes::block_size(c)));
    return got;
  }

  /// Effects: takes back the first of `count` blocks of class `c`, one at least, until `left` is
  /// spent. Ends in a fault naming `call` for an address that is no block in use, at once or when
  /// it is sorted back. Returns: how many.
  [[nodiscard]] std::size_t give(class_index c, void* const* blocks, std::size_t count,
                                 const char* call, step_budget& left, resting_place to,
                                 unsigned side) noexcept {
    const std::size_t done = centrals_[c].give(blocks, count, call, left, to, side);
    held_.note(-static_cast<std::int64_t>(done * classes::block_size(c)));
    return done;
  }

  /// Returns: a block whose address is a multiple of `alignment`, a power of two; null when memory
  /// is out. One that is to be `zeroed` is cleared if that costs less than writing to it. `cached`
  /// is as for `take`.
  template <class Cached>
  [[nodiscard]] new_block allocate_large(std::size_t size, std::size_t alignment, bool zeroed,
                                         Cached cached) noexcept {
    if (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX || !start()) return {};
    const std::size_t pages = std::max<std::size_t>(divide_up(size, page_size), 1);
    const std::size_t align_pages = std::max<std::size_t>(alignment / page_size, 1);
    step_budget left = budget_of_call();
    // A cache's few pages would not help before memory is refused.
    run* const r = by_growth_at_last(no_cache{}, cached, pages, left, [&](growth g, std::size_t) {
      return pages_.large().make(pages, align_pages, g);
    });
    if (r == nullptr) return {};
    held_.note_large(0, r->pages);
    return {pages_.address_of(*r), zeroed ? pages_.large().try_clear(*r) : r->zero};
  }

  /// Effects: takes back a large block. A fault naming `call` when none starts at `block`.
  void deallocate_large(void* block, const char* call) noexcept {
    const std::size_t bytes = pages_.large().remove(block);
    if (bytes == 0) return fail(block, call);
    held_.note_large(bytes >> page_shift, 0);
    step_budget left = budget_of_call();
    after_miss(left);
  }

  /// The law of this file, for a request of `pages`. Of the caller's cache `idle` is sorted back
  /// before the heap grows, `all` when memory was refused. Returns: what attempt(growth, bytes that
  /// may be taken) does, 0 or null when memory is out.
  template <class Idle, class All, class Attempt>
  [[nodiscard]] auto by_growth_at_last(Idle idle, All all, std::size_t pages, step_budget& left,
                                       Attempt attempt) noexcept {
    auto got = attempt(growth::refused, SIZE_MAX);
    if (got) [[likely]]
      return got;
    const std::size_t bytes = reclaimer_.before_growth(idle, pages, left);
    got = attempt(growth::allowed, bytes);
    if (!got) {
      reclaimer_.sort_all(all);
      got = attempt(growth::allowed, bytes);
    }
    if (got) reclaimer_.after_growth();
    return got;
  }

  /// Returns: what tells which blocks of class `c` are in use.
  [[nodiscard]] block_use<pages_type> use_of(class_index c) noexcept {
    return block_use<pages_type>(pages_, classes::mark_shift(c));
  }
  /// Returns: whether a block of class `c` that is in use starts at `block`; false after a fault.
  [[nodiscard]] bool expect_in_use(const void* block, class_index c, const char* call) noexcept {
    if (use_of(c).is_in_use(block)) [[likely]]
      return true;
    centrals_[c].report_not_in_use(block, call);
    return false;
  }
  /// As block_use::wake, with a fault where it is false.
  [[nodiscard]] bool wake(void* block, class_index c) noexcept {
    if (use_of(c).wake(block)) [[likely]]
      return true;
    centrals_[c].report_written(block);
    return false;
  }

  /// Returns: what one call may spend.
  [[nodiscard]] step_budget budget_of_call() const noexcept {
    return step_budget(bounds_.instructions_a_call);
  }

  /// As those of the reclaimer.
  [[nodiscard]] bool drains(const void* cache) const noexcept { return reclaimer_.drains(cache); }
  void after_miss(step_budget& left, const void* cache = nullptr) noexcept {
    reclaimer_.after_miss(space_, cache, left);
  }
  void at_end(std::size_t moved_blocks) noexcept { reclaimer_.at_end(moved_blocks); }

  /// As basic_heap::prefault, without caches.
  [[nodiscard]] bool prefault_pages(std::size_t bytes) noexcept {
    if (bytes > PTRDIFF_MAX) return false;
    const std::size_t pages = divide_up(bytes, page_size);
    return pages == 0 || (pages_.prefault(pages) && centrals_.populate(bytes));
  }

  /// Effects: gives all memory back to the space. Requires: nobody uses the heap any more.
  void release_all() noexcept { pages_.release_all(); }

  /// Effects: `out` has the figures of the heap; `caches` are all there are.
  template <class Caches>
  void collect(ashlar_stats& out, Caches& caches) noexcept {
    begin_figures<classes>(out);
    if (!has_started()) return;
    collect_classes<classes>(out, caches, centrals_, counting_);
    const page_heap_stats pages = pages_.stats();
    collect_pages(out, pages, held_, counting_);
    out.total.limit_refusals = refusals_.load(std::memory_order_relaxed);
    out.total.metadata_bytes = pages.table_bytes + caches.resident_bytes(space_);
  }

  /// A fault naming `call`: no live block starts at `block`.
  ASHLAR_COLD void fail(const void* block, const char* call) noexcept {
    const bool is_ours = pages_.owns(block);
    ashlar_misuse({.kind = is_ours ? fault_kind::not_in_use : fault_kind::foreign_pointer,
                   .call = call,
                   .address = block,
                   .pool = name()});
  }

  /// Returns: what is at `block`, any address, in use or not; 0 bytes where there can be no block.
  [[nodiscard]] found_block find(const void* block) noexcept {
    if (const class_index c = pages_.class_of(block); c != 0) return {classes::block_size(c), c};
    const run* r = pages_.large().at(block);
    return {r == nullptr ? 0 : std::size_t{r->pages} << page_shift, 0};
  }

  /// For a fork.
  void lock() noexcept {
    start_mutex_.lock();
    reclaimer_.lock();
    centrals_.lock();
    pages_.supply().lock_all();
  }
  void unlock() noexcept {
    pages_.supply().unlock_all();
    centrals_.unlock();
    reclaimer_.unlock();
    start_mutex_.unlock();
  }

  [[nodiscard]] sealable<space_type>& sealed_space() noexcept { return space_; }
  /// Returns: bytes that callers and caches hold, at some recent moment.
  [[nodiscard]] std::size_t held() const noexcept { return held_.now(); }
  [[nodiscard]] const heap_bounds& bounds() const noexcept { return bounds_; }
  /// Returns: what all caches together may hold while no limit is set.
  [[nodiscard]] std::size_t caches_total() noexcept {
    return bounds_.caches_total(space_.processors());
  }

 private:
  friend struct heap_layout;  // tells where the members are
  /// From this length on, a block that has to move is remapped. For 132 pages that takes 14 us, as
  /// copying to pages in memory does; copying to fresh ones takes 270 us. For 1056 pages: 33, 230
  /// and 2,100 us.
  static constexpr std::size_t remap_pages_min = 512 * 1024 / page_size;

  sealable<space_type> space_;
  pages_type pages_;
  centrals_type centrals_;
  std::atomic<bool> started_{false};
  typename ranked<mutex_type, lock_rank::start>::type start_mutex_;
  heap_bounds bounds_;
  std::atomic<std::uint64_t> refusals_{0};  ///< requests that a limit has refused
  exact_counting<pages_type> counting_;
  held_bytes held_;
  reclaimer_type reclaimer_;
};

}  // namespace ashlar::detail
