// heap/central.hpp: what all threads share for one size class: two sides with blocks to give.
// Layer: heap.
//
//   thread caches <- batches -> stashes (stacks of addresses) <- bits -> slabs <- runs -> page heap
//
// Blocks that come back wait in a stash and leave it as they came, whole batches by one memcpy: a
// producer and a consumer never touch a bitmap. Only what the stash cannot hold is sorted back into
// its slabs.
//
// There are two sides of all that, each with its lock (central_side.hpp). Each cache has a side,
// and each slab: that of the cache for which it was made. A cache uses the other side where its own
// has no free block. Else threads that work at once would wait for each other, and get each other's
// blocks, whose lines are in another processor.
//
// Some empty slabs rest for their side. The others leave, and serve any class. Free pages of slabs
// in use leave alone.
//
// A batch is taken from the first of these that has a block: the side's stash, its slabs whose
// pages are all in memory; if a slab of either side is empty, the side's other slabs, or a new one
// for which the other side's empty slab leaves; the other side's stash; free pages, as a new slab;
// the other side's slabs; growth.
//
// Invariant (audit): blocks of all slabs == free bits + stashed + held (by caches and callers).
// Thread-safety: any caller. No lock is held while others are called, but for the page heap and the
// visitor of a slab.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/heap/block_stash.hpp>
#include <ashlar/heap/central_side.hpp>
#include <ashlar/heap/slab_lists.hpp>
#include <ashlar/pages/page_heap.hpp>
#include <ashlar/pages/run.hpp>
#include <ashlar/pages/slab.hpp>
#include <ashlar/pages/step_budget.hpp>

namespace ashlar::detail {

/// The call that a fault names for a block that was freed earlier: the real one is not recorded.
inline constexpr const char* earlier_free = is_drop_in ? "free" : "an earlier free";

template <address_space Space, class Mutex>
class central {
 public:
  using side_type = central_side<Space, Mutex>;
  using pages = typename side_type::pages_type;

  static constexpr unsigned sides = 2;

  constexpr central() noexcept = default;
  central(const central&) = delete;
  central& operator=(const central&) = delete;

  /// Requires: called once, first; the pages, which have slots for both stashes, `shape` and `rest`
  /// live as long as this. Null `rest`: no empty slab is kept.
  void place(pages& all_pages, class_index c, const slab_shape& shape, std::size_t stash_capacity,
             std::size_t steady_slabs = SIZE_MAX, empty_slabs_at_rest* rest = nullptr) noexcept {
    kind_.size_class = c;
    kind_.shape = &shape;
    kind_.at_rest = may_be_hollow(shape) ? rest : nullptr;
    kind_.pages = &all_pages;
    kind_.steady_slabs = shape.block_size <= page_size ? steady_slabs : SIZE_MAX;
    kind_.stash_capacity = static_cast<std::uint32_t>(stash_capacity);
    for (unsigned side = 0; side != sides; ++side)
      sides_[side].number = static_cast<std::uint8_t>(side);
  }

  /// Effects: takes up to `count` blocks, from one stash or from slabs, and writes them to out[-1],
  /// out[-2], ... Those of `side` come first. Where keys are in use, blocks that come from slabs
  /// get their marks and keys. Returns: how many; 0 when out of memory, or when it would take
  /// growth and that is refused. A batch from slabs begins at `start`, and ends when `left` is
  /// spent. The pages of a slab beyond steady_slabs are put into memory at once.
  [[nodiscard]] std::size_t take(void** out, std::size_t count, growth g, step_budget& left,
                                 batch_start start = batch_start::lowest_block,
                                 unsigned side = 0) noexcept {
    taken_batch to{.out = out, .count = count, .start = start};
    side_type& own = sides_[side];
    side_type& other = sides_[1 - side];
    std::size_t got = 0;
    if (own.has_free()) got = own.take(kind_, other, to, batch_source::used_slabs, left);
    // An empty slab first, its own or taken from the other side: so the sides' blocks do not mix.
    if (got == 0 && empty_slabs() != 0) {
      if (own.slabs.listed() == 0) static_cast<void>(remove_empty(other, left));
      got = own.take(kind_, other, to, batch_source::free_pages, left);
    }
    // Threads of the other side put back there what this side's threads have allocated.
    if (got == 0 && other.has_free()) got = other.take(kind_, own, to, batch_source::stash, left);
    if (got == 0 && g == growth::refused)
      got = own.take(kind_, other, to, batch_source::free_pages, left);
    if (got == 0 && other.has_free()) got = other.take(kind_, own, to, batch_source::slabs, left);
    if (got == 0 && g == growth::allowed)
      got = own.take(kind_, other, to, batch_source::growth, left);
    // Without the lock: both calls may fault pages in.
    if (to.steady != nullptr) [[unlikely]]
      kind_.pages->populate(to.steady, kind_.shape->bytes());
    if (to.keyed)
      kind_.use().give_keys(out - got, got);
    else
      kind_.use().ask_for(out - got, got);
    return got;
  }

  /// Effects: takes blocks back until `left` is spent, one at least: what fits into the stash of
  /// `side`, then others into their slabs. With resting_place::slabs all go there: who takes next
  /// does not get these blocks first. A fault naming `call` for an address that is no block in use
  /// of this class: at once if it has to be sorted into its slab, else when it is. Where the
  /// process goes on after it, that address is dropped. Returns: how many are dealt with, the first
  /// ones.
  [[nodiscard]] std::size_t give(void* const* blocks, std::size_t count, const char* call,
                                 step_budget& left, resting_place to = resting_place::stash,
                                 unsigned side = 0) noexcept {
    sorted_blocks how(to == resting_place::stash);
    const std::size_t done = sides_[side].give(kind_, blocks, count, to, how, left);
    finish(sides_[side], how, call);
    return done;
  }

  /// Effects: deletes the empty slabs, then sorts stashed blocks into slabs, from the top: what is
  /// there now, but `most` at most, until `left` is spent. Between two pieces (sorted_at_once) the
  /// lock is open. Returns: what has gone.
  resting_blocks settle(step_budget& left, std::size_t most = SIZE_MAX) noexcept {
    resting_blocks gone;
    for (side_type& s : sides_) {
      for (std::size_t empty = s.slabs.empty(); empty != 0 && gone.blocks != most && left.is_left();
           --empty)
        if (remove_empty(s, left)) gone.add(1, kind_.shape->bytes());
      std::size_t wanted = std::min(most - gone.blocks, s.stash.count());
      while (wanted != 0 && left.is_left()) {
        sorted_blocks how(false);
        std::size_t piece = 0;
        {
          const std::lock_guard guard(s.mutex);
          piece = std::min({wanted, s.stash.count(), sorted_at_once});
          if (piece == 0) break;
          piece = s.sort_back(kind_, s.stash.count(), piece, how, left);
        }
        wanted -= piece;
        gone.add(piece, kind_.shape->block_size);
        finish(s, how, earlier_free);
      }
    }
    return gone;
  }

  /// Effects: sorts back what nobody has needed since the last call that came to its end: the
  /// stashes' bottoms, below their lowest since, and as many empty slabs as there always were.
  /// Returns: false where `left` was spent before.
  bool settle_unused(step_budget& left) noexcept {
    for (side_type& s : sides_) {
      for (bool is_done = false; !is_done;) {
        sorted_blocks how(false);
        if (s.slabs.empty_lowest() != 0) {
          if (!left.is_left()) return false;
          static_cast<void>(remove_empty(s, left));
          continue;
        }
        {
          const std::lock_guard guard(s.mutex);
          const std::size_t lowest = s.stash.lowest();
          is_done = lowest == 0;
          if (!is_done) {
            if (!left.is_left()) return false;
            static_cast<void>(
                s.sort_back(kind_, lowest, std::min(lowest, sorted_at_once), how, left));
          }
        }
        finish(s, how, earlier_free);
      }
    }
    for (side_type& s : sides_) {
      const std::lock_guard guard(s.mutex);
      s.stash.watch();
      s.slabs.watch();
    }
    return true;
  }

  /// Effects: gives back the pages of `some` of the slab at `place` that are free, and were so at
  /// the last scan (unless `at_once`). Nothing if there is no slab of this class any more. Returns:
  /// the bytes. Requires: one thread at a time does this; `some` is not empty. No lock is held
  /// during the system calls.
  ASHLAR_MISS std::size_t give_back_free_pages(slab_place place, slab_part some,
                                               bool at_once) noexcept {
    page_set leaving = 0;
    run* const slab = with_slab(place, [&](side_type& s, run& r) {
      if (r.free_blocks == 0) return;
      const page_set free = free_pages(r, *kind_.shape, some);
      leaving = (at_once ? free : free & r.seen_free) & ~r.absent;
      r.seen_free = (r.seen_free & ~pages_between(some.begin, some.end)) | free;
      if (leaving == 0) return;
      s.slabs.begin_purge(r, kind_);
    });
    return leaving != 0 ? purge_slab(*slab, leaving) : 0;
  }

  /// Effects: visit(its first block) if the slab at `place` is of this class. The lock is held.
  template <class Visit>
  void visit_slab(slab_place place, Visit visit) noexcept {
    with_slab(place, [&](side_type&, const run& slab) { visit(kind_.pages->address_of(slab)); });
  }

  /// Returns: what the slabs are made of, at some recent moment. O(1), takes no lock.
  [[nodiscard]] slab_bytes bytes_of_slabs() const noexcept {
    const std::size_t size = kind_.shape->block_size;
    const std::size_t made = slabs() * kind_.shape->blocks;
    // What is given is read last: what is moved meanwhile counts as idle rather than as held.
    const std::size_t taken = sum_of(&side_type::taken);
    const std::size_t not_idle = taken - std::min(taken, sum_of(&side_type::given)) + stashed();
    const std::size_t idle = (made - std::min(made, not_idle)) * size;
    const std::size_t absent_pages =
        sides_[0].slabs.absent_pages() + sides_[1].slabs.absent_pages();
    const std::size_t absent = absent_pages << page_shift;
    return {.blocks = made * size,
            .idle = idle - std::min(idle, absent),
            .absent = absent,
            .taken = taken * size};
  }

  /// Effects: a fault: `block` was written to while it rested, or was freed twice.
  ASHLAR_COLD void report_written(const void* block) const noexcept {
    report({fault_kind::use_after_free, block}, earlier_free);
  }

  /// Effects: a fault that names `call` and says what is wrong with `block`. Requires: no block of
  /// this class that is in use starts there.
  ASHLAR_COLD void report_not_in_use(const void* block, const char* call) noexcept {
    misused_block bad{fault_kind::not_in_use, block};
    {
      const std::lock_guard guard(*this);
      char* base = nullptr;
      const run* r = kind_.pages->slab_of(block, kind_.size_class, base);
      if (r != nullptr) {
        const slab_shape& shape = *kind_.shape;
        const auto offset = static_cast<std::size_t>(static_cast<const char*>(block) - base);
        const std::uint32_t index = shape.index_of(offset);
        const bool is_start =
            index * std::size_t{shape.block_size} == offset && index < shape.blocks;
        bad.kind = is_start ? fault_kind::double_free : fault_kind::interior_pointer;
      }
    }
    report(bad, call);
  }

  /// Effects: what the stashes need to hold `blocks` is in memory. Returns: false when memory was
  /// refused.
  [[nodiscard]] bool populate_stashes(std::size_t blocks) noexcept {
    blocks = std::min<std::size_t>(blocks, kind_.stash_capacity);
    if (blocks == 0) return true;
    for (side_type& s : sides_) {
      const std::lock_guard guard(s.mutex);
      if (!s.stash.is_placed()) s.place_stash(kind_);
      if (!s.stash.is_placed() || !kind_.pages->populate_slots(s.stash.at(0), blocks)) return false;
    }
    return true;
  }

  /// Returns: blocks in the stashes, at some recent moment. Takes no lock.
  [[nodiscard]] std::size_t stashed() const noexcept {
    return sides_[0].stash.count() + sides_[1].stash.count();
  }
  /// Returns: slabs that rest without a block in use, at some recent moment. Takes no lock.
  [[nodiscard]] std::size_t empty_slabs() const noexcept {
    return sides_[0].slabs.empty() + sides_[1].slabs.empty();
  }
  /// Returns: whether `settle` has anything to do, at some recent moment. Takes no lock.
  [[nodiscard]] bool has_resting() const noexcept { return stashed() + empty_slabs() != 0; }

  [[nodiscard]] class_counts counts() noexcept {
    const std::lock_guard guard(*this);
    const std::size_t blocks = kind_.shape->blocks;
    return {.taken = sum_of(&side_type::taken),
            .given = sum_of(&side_type::given),
            .held_peak = std::max(sides_[0].held_peak, sides_[1].held_peak),
            .made = slabs() * blocks,
            .made_peak = std::max(sides_[0].slabs.peak(), sides_[1].slabs.peak()) * blocks,
            .slabs = slabs(),
            .empty_slabs = empty_slabs()};
  }

  /// Both sides, in the order of their addresses.
  void lock() noexcept {
    for (side_type& s : sides_) s.mutex.lock();
  }
  void unlock() noexcept {
    for (unsigned side = sides; side != 0; --side) sides_[side - 1].mutex.unlock();
  }

  /// Effects: checks the invariant of the slabs that have free blocks. Returns: free bits +
  /// stashed.
  [[nodiscard]] std::uint64_t audit() noexcept {
    const std::lock_guard guard(*this);
    std::uint64_t free = 0;
    for (const side_type& s : sides_) {
      const run* const wrong = s.slabs.first_wrong(kind_, s.number, free);
      if (wrong != nullptr || !s.slabs.are_counts_right())
        ashlar_fault({.kind = fault_kind::corrupted,
                      .call = "audit",
                      .address = wrong == nullptr ? nullptr : kind_.pages->address_of(*wrong),
                      .block_size = kind_.shape->block_size,
                      .pool = kind_.pages->name()});
    }
    return free + stashed();
  }

 private:
  friend struct heap_layout;  // tells where the members are

  [[nodiscard]] std::size_t sum_of(locked_count<std::size_t> side_type::* member) const noexcept {
    return (sides_[0].*member).get() + (sides_[1].*member).get();
  }
  [[nodiscard]] std::size_t slabs() const noexcept {
    return sides_[0].slabs.count() + sides_[1].slabs.count();
  }

  /// Effects: visit(its side, the slab) if a slab of this class is at `place`, with the lock held.
  /// Returns: the slab, or null.
  template <class Visit>
  run* with_slab(slab_place place, Visit visit) noexcept {
    for (side_type& s : sides_) {
      const std::lock_guard guard(s.mutex);
      run* const r = kind_.pages->slab_at(place, kind_.size_class, s.number);
      if (r == nullptr) continue;
      visit(s, *r);
      return r;
    }
    return nullptr;
  }

  /// Effects: gives back the pages `leaving` of a slab whose purge has begun, and ends that.
  /// Returns: the bytes. Requires: no lock is held.
  ASHLAR_COLD std::size_t purge_slab(run& slab, page_set leaving) noexcept {
    // No thread takes blocks from a slab that is on no list, so its free pages stay free.
    const page_set gone = kind_.pages->supply().purge_pages(slab, leaving);
    side_type& s = sides_[slab.side];
    const std::lock_guard guard(s.mutex);
    s.slabs.end_purge(slab, kind_, gone);
    if (slab.free_blocks == kind_.shape->blocks) s.remove_slab(kind_, &slab);
    return pages_in(gone) << page_shift;
  }

  /// Returns: false where no slab of the side is empty.
  bool remove_empty(side_type& s, step_budget& left) noexcept {
    const std::lock_guard guard(s.mutex);
    run* const r = s.slabs.next_to_leave();
    if (r == nullptr) return false;
    left.spend<Space>(step::stretch_sorted);  // the lock, and what else is not in the other cost
    left.spend<Space>(step::slab_left);
    s.remove_slab(kind_, r);
    return true;
  }

  void report(const misused_block& bad, const char* call) const noexcept {
    if (bad.address != nullptr) [[unlikely]]
      ashlar_misuse({.kind = bad.kind,
                     .call = call,
                     .address = bad.address,
                     .block_size = kind_.shape->block_size,
                     .pool = kind_.pages->name()});
  }

  /// Effects: sorts the strays into the slabs of the other side. Then reports the first misuse: the
  /// program may not come back from that. Requires: no lock is held.
  void finish(side_type& s, sorted_blocks& how, const char* call) noexcept {
    if (how.strays != 0) [[unlikely]]
      put_strays(other_than(s), how);
    report(how.bad, call);
  }
  ASHLAR_COLD void put_strays(side_type& s, sorted_blocks& how) noexcept {
    misused_block first = how.bad;
    // There is no third side.
    const std::size_t strays = std::exchange(how.strays, sorted_blocks::strays_max);
    for (std::size_t done = 0; done != strays;) {
      how.bad = {};
      step_budget all = step_budget::without_end();
      const std::lock_guard guard(s.mutex);
      done += s.put_into_slabs(kind_, how.stray + done, strays - done, how, all);
      if (first.address == nullptr) first = how.bad;
    }
    how.bad = first;
  }
  [[nodiscard]] side_type& other_than(const side_type& s) noexcept { return sides_[1 - s.number]; }

  central_kind<pages> kind_;
  side_type sides_[sides];
};

}  // namespace ashlar::detail
