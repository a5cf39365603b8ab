// heap/basic_heap.hpp: a general allocator made of fixed-block classes. The address is the header.
// Layer: heap.
//
//   allocate(n):   size -> class (table) -> pop the thread's stack
//   deallocate(p): address -> page -> class (table) -> push on the thread's stack
//   miss:          whole batches to and from the class's central (shared_heap.hpp)
//
// No block has a header, in use or free, so nothing that a caller writes past its block reaches the
// allocator's own data. No thread_local, no system call and no global is in this layer: the caller
// brings a cache, `Config` brings the system.
//
// This file has the engine of a heap with caches: misses of a cache, how much each stack may hold,
// owners that begin and end, forks. What is behind the caches is shared_heap.hpp.
//
//   a block leaves a stack because                       which ones         it goes to
//   the stack is full and may not grow                   thread_cache.hpp:  the stash
//                                                        batch
//   another stack opens, or there are more caches now    idle stacks        the stash
//   the cache drains (reclaimer.hpp: idleness)           the call's class,  the stash
//                                                        two idle stacks
//   the heap is about to grow                            idle stacks        its slab
//   memory was refused                                   all                its slab
//   the owner ends, or trims                             all                the stash
//
// A stack is idle if it is as its owner's last miss, or a look since, has left it. A short block
// that another thread has most likely allocated enters no stack: is_handed_over.
// Locks: core/lock_order.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/heap/cache_set.hpp>
#include <ashlar/heap/central.hpp>
#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/heap_bounds.hpp>
#include <ashlar/heap/hit_path.hpp>
#include <ashlar/heap/inspected_heap.hpp>
#include <ashlar/heap/shared_heap.hpp>
#include <ashlar/heap/thread_cache.hpp>

namespace ashlar {

namespace detail {
struct heap_layout;
}

/// A heap. `Config` names two types, `space` (address_space.hpp) and `mutex` (a Lockable that is
/// constant-initialised). It may name `classes` (class_table.hpp: classes_in a table, which may
/// have a load() that the heap calls before it starts), and `owner_part`, which each cache then has
/// for its owner (part_of). The constructor is constexpr and reserves nothing; the heap starts
/// itself at its first miss.
///
/// Every function that takes a `cache` must be called by the cache's one owner; all others by
/// anyone. None throws; null means out of memory. Sizes are bytes. Requests above PTRDIFF_MAX give
/// null.
template <class Config>
class basic_heap : public detail::hit_path<detail::classes_of<Config>>,
                   public detail::inspected_heap<Config> {
  using shared = detail::inspected_heap<Config>;
  using space_type = typename shared::space_type;

 public:
  using classes = typename shared::classes;
  using cache = detail::thread_cache;

  constexpr basic_heap() noexcept = default;
  basic_heap(const basic_heap&) = delete;
  basic_heap& operator=(const basic_heap&) = delete;

  // ---- blocks: the misses ---------------------------------------------------------------------

  /// Effects: gives `block` back, whatever it is: null, large, or of a class whose stack is full.
  /// Ends in a fault naming `call` when no live block of this heap starts there.
  ASHLAR_MISS void deallocate_slow(cache& own, void* block, const char* call) noexcept {
    if (block == nullptr) return;
    own.tops.tables.end = this->pages().first_tables().end;  // the heap may have grown
    const class_index c = this->class_of(block);
    if (c == 0) return deallocate_large(block, call);
    if (!this->expect_in_use(block, c, call)) return;
    step_budget left = this->budget_of_call();
    keep_to_share(own, left);
    if (is_handed_over(own, c))
      return give_uncached(block, c, call, left, &own, resting_place::slabs);
    if (!prepare(own, c, left)) return give_uncached(block, c, call, left, &own);
    if (own.top(c) == own.limit(c) && !grow(own, c, detail::miss::full)) {
      // The oldest leave; the newest are likelier to be in a CPU cache.
      drop_first(own, c,
                 give(c, own.first(c), own.batch(c, detail::miss::full), call, left,
                      resting_place::stash, own.side));
    }
    void** const slot = own.top(c)++;
    *slot = block;
    detail::mark_beside(slot) = this->use_of(c).put_to_rest(block);
    publish(own, c);
    after_miss(left, &own);
  }

  /// Returns: a block whose address is a multiple of `alignment`, a power of two. One that is to be
  /// `zeroed` is cleared if that costs less than writing to it.
  [[nodiscard]] detail::new_block allocate_large(std::size_t size, std::size_t alignment,
                                                 bool zeroed = false,
                                                 cache* own = nullptr) noexcept {
    return shared::allocate_large(size, alignment, zeroed, own_blocks{*this, own});
  }

  /// Returns: a block of class `c`, not 0, by the cache.
  [[nodiscard]] void* allocate_class(cache& own, class_index c) noexcept {
    void* const block = pop(own, c);
    return block != nullptr ? block : refill(own, c);
  }

  // ---- without a cache: threads that are ending, or that can get none -------------------------

  /// As allocation from class `c`, straight from the central. Requires: c != 0.
  [[nodiscard]] ASHLAR_MISS void* allocate_uncached(class_index c) noexcept {
    step_budget left = this->budget_of_call();
    return this->start() ? allocate_uncached(c, left, nullptr) : nullptr;
  }

  /// As `deallocate_slow`.
  ASHLAR_MISS void deallocate_uncached(void* block, const char* call) noexcept {
    if (block == nullptr) return;
    const class_index c = this->class_of(block);
    if (c == 0) return deallocate_large(block, call);
    if (!this->expect_in_use(block, c, call)) return;
    step_budget left = this->budget_of_call();
    give_uncached(block, c, call, left, nullptr,
                  leaves_to_slab(c, nullptr) ? resting_place::slabs : resting_place::stash);
  }

  // ---- caches ---------------------------------------------------------------------------------

  /// Returns: an empty cache for a new owner, or null; or one of the newest caches as it is, where
  /// `is_callers` says that the caller is its owner already. O(classes).
  template <class IsCallers>
  [[nodiscard]] cache* attach(IsCallers is_callers) noexcept {
    if (!this->start()) return nullptr;
    const std::size_t total = caches_.is_bounded() ? 0 : this->caches_total();
    const auto attached = [&] {
      return caches_.attach(this->sealed_space(), this->pages().first_tables(),
                            this->pages().keys(), total, is_callers);
    };
    cache* own = attached();
    // A thread without a cache works, but slowly.
    if (own == nullptr && this->pages().close_free(caches_.cache_bytes >> detail::page_shift))
      own = attached();
    return own;
  }
  [[nodiscard]] cache* attach() noexcept {
    return attach([](cache&) { return false; });
  }

  /// Returns: what the owner keeps in its cache: a `Config::owner_part`, all zero for a new owner.
  [[nodiscard]] ASHLAR_HOT static auto& part_of(cache& own) noexcept {
    using part = typename Config::owner_part;
    static_assert(sizeof(part) <= sizeof own.of_owner && alignof(part) <= alignof(void*));
    return reinterpret_cast<part&>(own.of_owner);
  }

  /// Returns: caches that have an owner.
  [[nodiscard]] std::size_t cache_count() const noexcept { return caches_.count(); }

  /// Effects: forgets every cache but `own` (may be null). For the child of a fork: the other
  /// owners do not exist there. What they held cannot be told from what they were just handing out,
  /// so it stays counted as in use.
  void keep_only(cache* own) noexcept { caches_.keep_only(own); }

  /// Effects: all blocks of the cache go back; the cache itself is kept for the next owner.
  void detach(cache* own) noexcept {
    flush(*own);
    this->at_end(own->moved_blocks);
    caches_.detach(this->sealed_space(), own, this->pages().first_tables());
  }

  /// Effects: gives all blocks of the cache to their centrals. O(blocks).
  void flush(cache& own) noexcept { flush_to(own, resting_place::stash); }

  // ---- beforehand -----------------------------------------------------------------------------

  /// Effects: there are `bytes` of free memory in one piece, and empty caches for `owners` more,
  /// all of it in memory, with all that the heap needs beside them to serve blocks of any class
  /// from it; and so much is kept, however long it is free. `own` (may be null) is the caller's
  /// cache. Returns: false when memory was refused; what was got until then stays. O(bytes).
  [[nodiscard]] bool prefault(std::size_t bytes, std::size_t owners, cache* own) noexcept {
    return this->start() && this->prefault_pages(bytes) &&
           caches_.prefault(this->sealed_space(), this->pages().first_tables(), owners, own);
  }

  // ---- the whole ------------------------------------------------------------------------------

  /// Effects: from now on committed_bytes() of the supply do not become more than `bytes`: where
  /// growth would, a request gets null, after all that is free has been used or given back. They
  /// cross at `soft_percent` of it. What the heap has already it keeps. Caches hold an eighth of it
  /// at most, from their next misses on. Nothing where memory for the heap itself is refused.
  void set_limit(std::size_t bytes, unsigned soft_percent) noexcept {
    if (!this->start()) return;
    this->supply().set_pages_max(bytes >> detail::page_shift, soft_percent);
    caches_.set_bytes(std::min(this->caches_total(), bytes / 8));
  }

  /// Effects: gives all memory back to the space, blocks and caches included. Requires: nobody uses
  /// the heap or a block of it any more, nor ever will. O(ranges + caches), plus what the space
  /// takes.
  void release_all() noexcept {
    caches_.release_all(this->sealed_space());
    shared::release_all();
  }

  /// Effects: fills `out`; the resident figure and accuracy are left to the caller. `own` (may be
  /// null) is the caller's cache, whose content is then exact.
  void collect(ashlar_stats& out, cache* own) noexcept {
    if (own != nullptr && this->has_started()) {
      for (std::size_t c = 1; c < classes::count(); ++c) publish(*own, static_cast<class_index>(c));
    }
    shared::collect(out, caches_);
  }

  /// Effects: statistics come from the note_ functions from now on. Requires: no other thread is
  /// inside the heap; `own` is the caller's cache or null. Returns: false, and nothing has changed,
  /// when memory was refused.
  [[nodiscard]] bool count_exactly(cache* own) noexcept {
    if (!this->start() || !this->keep_slack()) return false;
    ashlar_stats before;
    collect(before, own);
    this->begin_counting(before);
    return true;
  }

  /// Effects: locks everything, in the order of the layers, so that a fork copies a whole heap.
  void lock_all() noexcept {
    caches_.lock();
    shared::lock();
  }
  void unlock_all() noexcept {
    shared::unlock();
    caches_.unlock();
  }

 private:
  friend struct detail::heap_layout;  // tells where the members are
  using shared::after_miss;
  using shared::deallocate_large;
  using shared::give;
  using shared::take;
  using batch_start = detail::batch_start;
  using resting_place = detail::resting_place;
  using step = detail::step;
  using step_budget = detail::step_budget;

  /// What a cache has that the heap wants back before it grows. Null: there is no cache.
  struct own_blocks {
    basic_heap& heap;
    cache* own;

    [[nodiscard]] unsigned side() const noexcept { return own != nullptr ? own->side : 0; }
    /// Returns: what is on stacks that rest. O(classes).
    [[nodiscard]] detail::resting_blocks resting() const noexcept {
      detail::resting_blocks sum;
      if (own == nullptr) return sum;
      for (std::size_t i = 1; i < classes::count(); ++i) {
        const auto c = static_cast<class_index>(i);
        if (const std::size_t n = own->count(c); n != 0 && is_resting(*own, c))
          sum.add(n, classes::block_size(c));
      }
      return sum;
    }
    [[nodiscard]] std::size_t give_resting(std::uint32_t round, step_budget& left) const noexcept {
      return own != nullptr ? heap.flush_resting(*own, round, left) : 0;
    }
    [[nodiscard]] bool gives_more(std::uint32_t round) const noexcept {
      return own != nullptr && own->sorting_round == round && own->stacks_to_sort != 0;
    }
    void give_all() const noexcept {
      if (own != nullptr) heap.flush_to(*own, resting_place::slabs);
    }
  };

  /// How many stacks a miss looks at to find one whose room it can take.
  static constexpr std::size_t stacks_a_miss = 8;
  static constexpr std::size_t cache_line_bytes = 64;
  /// So many blocks a cache leaves to their slabs. Then it opens stacks, as for a thread that only
  /// frees.
  static constexpr std::uint8_t handed_over_max = 32;

  /// Effects: fills stack `c`, which is empty, and pops one. Requires: c != 0.
  [[nodiscard]] ASHLAR_MISS void* refill(cache& own, class_index c) noexcept {
    step_budget left = this->budget_of_call();
    keep_to_share(own, left);
    const bool first_miss = !own.is_open(c);
    if (!prepare(own, c, left)) return allocate_uncached(c, left, &own);
    if (!first_miss) grow(own, c, detail::miss::empty);
    const std::size_t room = left.steps_left(step::block_taken, own.batch(c, detail::miss::empty));
    void** const first = own.first(c);
    const batch_start start =
        first_miss && may_share_lines(c, &own) ? batch_start::free_word : batch_start::lowest_block;
    const std::size_t got = take(c, first + room, room, own_blocks{*this, &own}, left, start);
    if (got == 0) return nullptr;
    if (got != room) std::memmove(first, first + (room - got), got * sizeof(void*));
    if (!own.uses_keys()) note_marks(own, c, first, got);
    own.top(c) = first + got;
    own.moved_blocks += got;
    void* const block = pop(own, c);
    publish(own, c);
    after_miss(left, &own);
    return block != nullptr ? block : allocate_uncached(c, left, &own);  // all were written to
  }

  /// Effects: closes stacks of the cache that rest, until it may have room for `more` bytes within
  /// `share`. It goes round, and looks at `looks` stacks at most: what is used since the last time
  /// stays. Twice round closes all. Returns: whether there is so much room. Requires: the caller is
  /// done with all stacks but `kept`.
  bool make_room(cache& own, class_index kept, std::size_t more, std::size_t share,
                 std::size_t looks, step_budget& left) noexcept {
    for (; own.room_bytes() + more > share && looks != 0 && left.is_left(); --looks) {
      left.spend<space_type>(step::stack_passed);
      const auto c = static_cast<class_index>((own.looked_at + 1u) % classes::count());
      if (own.is_open(c) && c != kept) {
        if (!is_resting(own, c)) {
          publish(own, c);
        } else if (flush_class(own, c, resting_place::stash, left)) {
          own.close(c, classes::block_size(c));
        } else {
          continue;
        }
      }
      own.looked_at = c;
    }
    return own.room_bytes() + more <= share;
  }

  /// Effects: called at a miss: what the cache holds beyond its share, because there are more
  /// caches now, goes back; if `left` is spent before, the next miss goes on.
  void keep_to_share(cache& own, step_budget& left) noexcept {
    if (caches_.is_beyond_share(own.room_bytes())) [[unlikely]]
      static_cast<void>(make_room(own, 0, 0, caches_.share(), 2 * classes::count(), left));
  }

  /// Returns: whether stack `c` is to serve: it is open, unless the cache drains (reclaimer.hpp).
  /// Else a program that takes and frees a few blocks from time to time would hardly miss, and keep
  /// what a peak left.
  bool prepare(cache& own, class_index c, step_budget& left) noexcept {
    if (this->drains(&own)) [[unlikely]]
      return !close_some(own, c, left);
    return own.is_open(c) || open(own, c, left);
  }

  /// Effects: closes stack `c`, and those of the next two that rest, as far as `left` goes.
  /// Returns: whether `c` is closed.
  ASHLAR_MISS bool close_some(cache& own, class_index c, step_budget& left) noexcept {
    static_cast<void>(make_room(own, c, 0, 0, 2, left));
    if (own.is_open(c) && flush_class(own, c, resting_place::stash, left))
      own.close(c, classes::block_size(c));
    return !own.is_open(c);
  }

  /// Effects: opens stack `c`, which is closed, if the cache may hold blocks of that size. Returns:
  /// whether it is open.
  bool open(cache& own, class_index c, step_budget& left) noexcept {
    const heap_bounds& bounds = this->bounds();
    const std::size_t size = classes::block_size(c), share = caches_.share();
    if (size > std::min(bounds.cached_block_max, heap_bounds::block_max_of_share(share)))
      return false;
    const std::uint16_t blocks = std::min(
        detail::first_capacity(
            size, std::min(bounds.stack_bytes_first, heap_bounds::stack_bytes_of_share(share))),
        bounds.stack_blocks_max);
    return make_room(own, c, blocks * size, share, stacks_a_miss, left) &&
           own.open(c, size, blocks);
  }

  /// Effects: beside each of `count` blocks stands its mark. As `mark_at`, two blocks at a time on
  /// processors that can: a batch is long, and this is most of what it costs.
  void note_marks(const cache& own, class_index c, void** slots, std::size_t count) noexcept {
    using words = detail::address_pair;
    constexpr std::size_t at_once = 2;
    const detail::block_tables tables = own.tops.tables;
    const unsigned shift = classes::mark_shift(c);
    std::size_t i = 0;
    if (this->pages().first_tables_tell_all()) [[likely]] {
#pragma GCC unroll 4
      for (; i + at_once <= count; i += at_once)
        *reinterpret_cast<words*>(&detail::mark_beside(slots + i)) =
            ((*reinterpret_cast<const words*>(slots + i) - tables.origin) >> shift) + tables.marks;
    }
    for (; i < count; ++i) detail::mark_beside(slots + i) = this->use_of(c).mark_at(slots[i]);
  }

  /// Returns: the block on top of stack `c`, which leaves it; null if the stack is empty. Those
  /// that were written to while they rested leave it, too, each with a fault.
  [[nodiscard]] void* pop(cache& own, class_index c) noexcept {
    for (;;) {
      void* const block = *(own.top(c) - 1);
      if (block == nullptr) return nullptr;
      --own.top(c);
      if (this->wake(block, c)) return block;
    }
  }

  /// As allocation from class `c`, straight from the central. `own` (may be null) is the caller's
  /// cache. Requires: c != 0; started.
  [[nodiscard]] void* allocate_uncached(class_index c, step_budget& left, cache* own) noexcept {
    void* block = nullptr;
    do {
      if (take(c, &block + 1, 1, own_blocks{*this, own}, left, batch_start::lowest_block) == 0)
        return nullptr;
    } while (!this->wake(block, c));
    after_miss(left, own);
    return block;
  }
  /// Effects: gives back `block` of class `c`, which is in use. `own` is as for allocate_uncached.
  void give_uncached(void* block, class_index c, const char* call, step_budget& left,
                     const cache* own, resting_place to = resting_place::stash) noexcept {
    this->use_of(c).put_to_rest(block);
    static_cast<void>(give(c, &block, 1, call, left, to, own != nullptr ? own->side : 0));
    after_miss(left, own);
  }

  // Another thread has most likely allocated a block that a thread frees which has no cache yet, or
  // no stack for its class. The other thread may have the block's neighbours. If this thread got
  // the block again, both threads would write to one cache line. So the block goes to its slab, and
  // the first batch of a stack has whole lines.

  /// Returns: whether a block of class `c` may share a cache line, or a pair of lines, which
  /// processors fetch together, with a block of another thread. `own` (may be null) is the caller's
  /// cache.
  [[nodiscard]] bool may_share_lines(class_index c, const cache* own) const noexcept {
    return classes::block_size(c) < 2 * cache_line_bytes && caches_.count() > (own != nullptr);
  }
  /// Returns: whether a block of class `c` that another thread has most likely allocated goes to
  /// its slab.
  [[nodiscard]] bool leaves_to_slab(class_index c, const cache* own) const noexcept {
    return may_share_lines(c, own) && !this->bounds().freed_blocks_rest;
  }
  /// Returns: whether the cache leaves a block of class `c` to its slab. Counts it.
  [[nodiscard]] bool is_handed_over(cache& own, class_index c) noexcept {
    if (own.is_open(c) || own.handed_over == handed_over_max || !leaves_to_slab(c, &own))
      return false;
    ++own.handed_over;
    return true;
  }

  /// Effects: more room for class `c`, if this cache may hold more: within its share, and beyond
  /// what its stacks opened with its share of half of what the centrals have handed out. Returns:
  /// whether it got it.
  bool grow(cache& own, class_index c, detail::miss what) noexcept {
    const std::size_t size = classes::block_size(c);
    const std::uint16_t blocks =
        std::min(own.wanted(c, size, what), this->bounds().stack_blocks_max);
    if (blocks <= own.capacity[c]) return false;
    const std::size_t more = size * (blocks - own.capacity[c]);
    const std::size_t held = this->held();
    if (own.capacity_bytes + more >
        std::max(held / 2 / caches_.count(), this->bounds().cache_bytes_min))
      return false;
    return own.room_bytes() + more <= caches_.share() && own.grow(c, size, blocks);
  }

  /// Effects: the oldest `count` blocks of stack `c` have left it.
  static void drop_first(cache& own, class_index c, std::size_t count) noexcept {
    void** const first = own.first(c);
    cache::move_slots(first, first + count, own.count(c) - count);
    own.top(c) -= count;
    own.moved_blocks += count;
  }
  /// Effects: gives back blocks of stack `c` until `left` is spent. Returns: whether it is empty.
  bool flush_class(cache& own, class_index c, resting_place to, step_budget& left) noexcept {
    if (const std::size_t count = own.count(c); count != 0)
      drop_first(own, c, give(c, own.first(c), count, detail::earlier_free, left, to, own.side));
    publish(own, c);  // hits may have emptied it since it was published
    return own.count(c) == 0;
  }

  void flush_to(cache& own, resting_place to) noexcept {
    step_budget all = step_budget::without_end();
    for (std::size_t c = 1; c < classes::count(); ++c)
      while (!flush_class(own, static_cast<class_index>(c), to, all)) {
      }
  }

  /// Returns: whether class `c` of the cache is as it was published, by its last miss or by a scan
  /// at it since: its owner does not use it, or uses it little.
  [[nodiscard]] static bool is_resting(cache& own, class_index c) noexcept {
    return own.count(c) == own.published[c].load(std::memory_order_relaxed);
  }
  /// Effects: goes on to give back to the slabs what rests, once round all stacks in each round,
  /// until `left` is spent; looks at the rest, so that next time it may. Returns: the bytes.
  std::size_t flush_resting(cache& own, std::uint32_t round, step_budget& left) noexcept {
    if (own.sorting_round != round) {
      own.sorting_round = round;
      own.stacks_to_sort = static_cast<std::uint16_t>(classes::count());
    }
    std::size_t bytes = 0;
    while (own.stacks_to_sort != 0 && left.is_left()) {
      left.spend<space_type>(step::stack_passed);
      const auto c = static_cast<class_index>((own.looked_at + 1u) % classes::count());
      const std::size_t had = c != 0 ? own.count(c) : 0;
      if (had == 0 || !is_resting(own, c)) {
        own.published[c].store(static_cast<std::uint32_t>(had), std::memory_order_relaxed);
      } else {
        const bool is_empty = flush_class(own, c, resting_place::slabs, left);
        bytes += (had - own.count(c)) * classes::block_size(c);
        if (!is_empty) continue;
      }
      own.looked_at = c;
      --own.stacks_to_sort;
    }
    return bytes;
  }

  static void publish(cache& own, class_index c) noexcept {
    own.published[c].store(static_cast<std::uint32_t>(own.count(c)), std::memory_order_relaxed);
  }

  detail::cache_set<space_type, typename shared::mutex_type> caches_;
};

}  // namespace ashlar
