// heap/central.hpp: what all threads share for one size class: its lock, its stashes, its slabs.
// Layer: heap.
//
//   thread caches <- batches -> stashes (stacks of addresses) <- bits -> slabs <- runs -> page heap
//
// Blocks that come back wait in a stash and leave it as they came, whole batches by one memcpy: a
// producer and a consumer never touch a bitmap. Only what the stash cannot hold is sorted back into
// its slabs. There are two stashes, and each cache has a side: it uses that stash first. Else
// threads that work at once would get each other's blocks, whose lines are in another processor.
//
// Slabs with free blocks stand in lists by fullness. The fullest serves first, so that the emptier
// ones may become empty and leave. Free pages of the others leave alone.
//
// Invariant (audit): blocks of all slabs == free bits + stashed + held (by caches and callers), and
// absent_pages_ == bits of `absent` in all slabs.
// Thread-safety: every function locks; none calls out while it does, but for the page heap.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include <ashlar/core/config.hpp>
#include <ashlar/core/count_ones.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/linked_list.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/heap/block_use.hpp>
#include <ashlar/heap/page_heap.hpp>
#include <ashlar/heap/run.hpp>
#include <ashlar/heap/slab.hpp>
#include <ashlar/heap/work_bound.hpp>

namespace ashlar::detail {

/// What a fault names of a block that was freed long ago, nobody knows any more by which face.
inline constexpr const char* earlier_free = is_drop_in ? "free" : "an earlier free";

/// Blocks that came back and are not in their slabs: a stack of addresses.
class block_stash {
 public:
  void place(void** slots, std::size_t capacity) noexcept {
    slots_ = slots;
    capacity_ = capacity;
  }
  /// Returns: its blocks, at some recent moment. Anyone may call it; all others need the lock.
  [[nodiscard]] std::size_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }
  /// Returns: the fewest blocks that it had since `watch`.
  [[nodiscard]] std::size_t lowest() const noexcept { return lowest_; }
  void watch() noexcept { lowest_ = count(); }
  [[nodiscard]] void** at(std::size_t index) noexcept { return slots_ + index; }

  /// Effects: the first blocks that have room are its own. Returns: how many.
  [[nodiscard]] std::size_t give(void* const* blocks, std::size_t many) noexcept {
    const std::size_t had = count(), done = std::min(many, capacity_ - had);
    std::memcpy(at(had), blocks, done * sizeof(void*));
    set(had + done);
    return done;
  }
  /// Effects: up to `many` from its top go to out[-1], out[-2], ... Returns: how many.
  [[nodiscard]] std::size_t take(void** out, std::size_t many) noexcept {
    const std::size_t had = count(), got = std::min(many, had);
    std::memcpy(out - got, at(had - got), got * sizeof(void*));
    set(had - got);
    lowest_ = std::min(lowest_, had - got);
    return got;
  }
  /// Effects: the first `done` of the `many` blocks below the one at `end` have left it. As many
  /// from the top take their place. Requires: done <= many <= end <= count().
  void drop(std::size_t end, std::size_t many, std::size_t done) noexcept {
    void** const begin = at(end - many);
    std::memmove(begin, begin + done, (many - done) * sizeof(void*));
    const std::size_t had = count(), moved = std::min(done, had - end);
    std::memmove(at(end - done), at(had - moved), moved * sizeof(void*));
    set(had - done);
    lowest_ = std::min(lowest_, end - done);
  }

 private:
  friend struct heap_layout;  // tells where the members are
  void set(std::size_t count) noexcept { count_.store(count, std::memory_order_relaxed); }

  void** slots_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t lowest_ = 0;
  std::atomic<std::size_t> count_{0};  // written under the lock
};

template <address_space Space, class Mutex>
class central {
 public:
  using pages = page_heap<Space, Mutex>;
  using lock_type = typename ranked<Mutex, lock_rank::central>::type;

  static constexpr unsigned sides = 2;

  constexpr central() noexcept = default;
  central(const central&) = delete;
  central& operator=(const central&) = delete;

  /// Requires: called once, first; `shape`, of class `c`, stays; `slots` are both stashes'.
  void place(class_index c, const slab_shape& shape, void** slots, std::size_t stash_capacity,
             std::size_t steady_slabs = SIZE_MAX) noexcept {
    class_ = c;
    steady_slabs_ = shape.block_size <= page_size ? steady_slabs : SIZE_MAX;
    shape_ = &shape;
    for (unsigned side = 0; side != sides; ++side)
      stashes_[side].place(slots + side * stash_capacity, stash_capacity);
  }

  /// Effects: takes up to `count` blocks, from one stash or from slabs, and writes them to out[-1],
  /// out[-2], ... The stash of `side` comes first. Where keys are in use, blocks that come from
  /// slabs get their marks and keys. Returns: how many; 0 when out of memory, or when it would take
  /// growth and that is refused. A batch from slabs begins at `start`, and is shorter when `left`
  /// is spent. A slab behind steady_slabs others is in memory.
  [[nodiscard]] std::size_t take(pages& page_heap, void** out, std::size_t count, growth g,
                                 work& left, batch_start start = batch_start::lowest_block,
                                 unsigned side = 0) noexcept {
    bool keyed = false;
    std::size_t got = 0;
    char* steady = nullptr;
    {
      const std::lock_guard guard(mutex_);
      got = stashes_[side].take(out, count);
      if (got == 0) got = stashes_[1 - side].take(out, count);
      if (got == 0) {
        keyed = page_heap.keys().are_in_use();  // not before it has the lock
        got = take_from_slabs(page_heap, out, keyed ? std::min(count, keyed_batch()) : count, g,
                              left, start, steady);
      }
      counts_.taken += got;
      counts_.held_peak = std::max(counts_.held_peak, counts_.taken - counts_.given);
    }
    // Both without the lock: the blocks' pages may not be in memory yet.
    if (steady != nullptr) [[unlikely]]
      page_heap.populate(steady, shape_->bytes());
    if (keyed) use(page_heap).give_keys(out - got, got);
    return got;
  }

  /// Effects: takes blocks back: what fits into the stash of `side`, then others until `left` is
  /// spent, one at least. A fault naming `call` for an address that is no block in use of this
  /// class: at once if it has to be sorted into its slab, else when it is. Where the process goes on
  /// after it, that address is dropped. Returns: how many are dealt with, the first ones.
  [[nodiscard]] std::size_t give(pages& page_heap, void* const* blocks, std::size_t count,
                                 const char* call, work& left, unsigned side = 0) noexcept {
    misused_block bad;
    std::size_t done = 0;
    {
      const std::lock_guard guard(mutex_);
      done = stashes_[side].give(blocks, count);
      counts_.given += done;
      if (done != count && (done == 0 || left.is_left()))
        done += put_into_slabs(page_heap, blocks + done, count - done, bad, left);
    }
    report(page_heap, bad, call);
    return done;
  }

  /// As `give`, but straight into the slabs, also blocks that the next to take some shall not get.
  [[nodiscard]] std::size_t give_to_slabs(pages& page_heap, void* const* blocks, std::size_t count,
                                          const char* call, work& left) noexcept {
    misused_block bad;
    std::size_t done = 0;
    {
      const std::lock_guard guard(mutex_);
      done = put_into_slabs(page_heap, blocks, count, bad, left);
    }
    report(page_heap, bad, call);
    return done;
  }

  /// Effects: sorts the stashes back into the slabs, so that empty ones leave: what is in them now,
  /// from the top down, until `left` is spent, but `most` blocks at most. Between two pieces
  /// (sorted_at_once) the lock is open, and others get blocks. Returns: how many have left.
  std::size_t settle(pages& page_heap, work& left, std::size_t most = SIZE_MAX) noexcept {
    std::size_t sorted = 0;
    for (block_stash& stash : stashes_) {
      std::size_t wanted = std::min(most - sorted, stash.count());
      while (wanted != 0 && left.is_left()) {
        misused_block bad;
        std::size_t piece = 0;
        {
          const std::lock_guard guard(mutex_);
          piece = std::min({wanted, stash.count(), sorted_at_once});
          if (piece == 0) break;
          piece = sort_back(page_heap, stash, stash.count(), piece, bad, left);
        }
        wanted -= piece;
        sorted += piece;
        report(page_heap, bad, earlier_free);
      }
    }
    return sorted;
  }

  /// Effects: sorts back what nobody has needed since the last call that came to its end: the
  /// stashes' bottoms, below their lowest since. Returns: false where `left` was spent before.
  bool settle_unused(pages& page_heap, work& left) noexcept {
    for (;;) {
      misused_block bad;
      {
        const std::lock_guard guard(mutex_);
        const auto unused = std::find_if(stashes_, stashes_ + sides,
                                         [](const block_stash& s) { return s.lowest() != 0; });
        if (unused == stashes_ + sides) {
          for (block_stash& stash : stashes_) stash.watch();
          return true;
        }
        if (!left.is_left()) return false;
        static_cast<void>(sort_back(page_heap, *unused, unused->lowest(),
                                    std::min(unused->lowest(), sorted_at_once), bad, left));
      }
      report(page_heap, bad, earlier_free);
    }
  }

  /// Effects: gives back the pages of `part` of the slab at `place` that are free, and were so at
  /// the last look (unless `at_once`). Nothing if there is no slab of this class any more. Returns:
  /// the bytes. Requires: one thread at a time does this; the part is not empty. No lock is held
  /// during the system calls.
  ASHLAR_MISS std::size_t give_back_free_pages(pages& page_heap, slab_place place, slab_part part,
                                               bool at_once) noexcept {
    const slab_shape& shape = *shape_;
    run* slab = nullptr;
    page_set leaving = 0;
    {
      const std::lock_guard guard(mutex_);
      slab = page_heap.slab_at(place, class_);
      if (slab == nullptr || slab->free_blocks == 0) return 0;
      const page_set free = free_pages(*slab, shape, part);
      leaving = (at_once ? free : free & slab->seen_free) & ~slab->absent;
      slab->seen_free = (slab->seen_free & ~pages_between(part.begin, part.end)) | free;
      if (leaving == 0) return 0;
      unlink(slab);
      slab->fullness = away;
    }
    // Of a slab that is on no list nobody takes a block, so its free pages stay free.
    const page_set gone = page_heap.purge_pages(*slab, leaving);
    {
      const std::lock_guard guard(mutex_);
      slab->absent |= gone;
      absent_pages_ += pages_in(gone);
      slab->fullness = full;
      if (slab->free_blocks == shape.blocks)
        remove_slab(page_heap, slab);
      else
        link(slab);
    }
    return pages_in(gone) << page_shift;
  }

  /// Effects: visit(its first block) if the slab at `place` is of this class. The lock is held.
  template <class Visit>
  void visit_slab(pages& page_heap, slab_place place, Visit visit) noexcept {
    const std::lock_guard guard(mutex_);
    if (const run* const slab = page_heap.slab_at(place, class_); slab != nullptr)
      visit(page_heap.address_of(*slab));
  }

  /// Returns: what the slabs are made of, at this moment. O(1).
  [[nodiscard]] slab_bytes bytes_of_slabs() noexcept {
    const std::lock_guard guard(mutex_);
    const std::size_t size = shape_->block_size;
    const auto made = static_cast<std::size_t>(counts_.made);
    const auto held = static_cast<std::size_t>(counts_.taken - counts_.given);
    const std::size_t idle = (made - held - stashed()) * size;
    const std::size_t absent = absent_pages_ << page_shift;
    return {.blocks = made * size,
            .idle = idle - std::min(idle, absent),
            .absent = absent,
            .taken = counts_.taken * size};
  }

  /// Effects: a fault: `block` was written to while it rested, or was freed twice.
  ASHLAR_COLD void report_written(pages& page_heap, const void* block) const noexcept {
    report(page_heap, {fault_kind::use_after_free, block}, earlier_free);
  }

  /// Effects: a fault that names `call` and says what is wrong with `block`. Requires: no block of
  /// this class that is in use starts there.
  ASHLAR_COLD void report_not_in_use(pages& page_heap, const void* block,
                                     const char* call) noexcept {
    misused_block bad{fault_kind::not_in_use, block};
    {
      const std::lock_guard guard(mutex_);
      char* base = nullptr;
      const run* r = page_heap.slab_of(block, class_, base);
      if (r != nullptr) {
        const slab_shape& shape = *shape_;
        const auto offset = static_cast<std::size_t>(static_cast<const char*>(block) - base);
        const std::uint32_t index = shape.index_of(offset);
        const bool is_start =
            index * std::size_t{shape.block_size} == offset && index < shape.blocks;
        bad.kind = is_start ? fault_kind::double_free : fault_kind::interior_pointer;
      }
    }
    report(page_heap, bad, call);
  }

  /// Returns: blocks in the stashes, at some recent moment. Takes no lock.
  [[nodiscard]] std::size_t stashed() const noexcept {
    return stashes_[0].count() + stashes_[1].count();
  }

  [[nodiscard]] class_counts counts() noexcept {
    const std::lock_guard guard(mutex_);
    return counts_;
  }

  [[nodiscard]] lock_type& mutex() noexcept { return mutex_; }

  /// Effects: checks the invariant of the slabs that have free blocks. Returns: free bits +
  /// stashed.
  [[nodiscard]] std::uint64_t audit(pages& page_heap) noexcept {
    const std::lock_guard guard(mutex_);
    std::uint64_t free = 0;
    std::size_t absent = 0;
    for (std::uint8_t f = 0; f < fullness_lists; ++f) {
      for (run* r = lists_[f]; r != nullptr; r = r->next) {
        std::uint32_t bits = 0;
        for (std::uint32_t w = 0; w < shape_->words; ++w) bits += count_ones(r->free_bits[w]);
        const page_set noted = r->seen_free | r->absent;
        if (bits != r->free_blocks || bits == 0 || r->fullness != f ||
            fullness_of(*r, *shape_) != f ||
            (noted != 0 && (noted & ~free_pages(*r, *shape_, {0, shape_->pages})) != 0))
          ashlar_fault({.kind = fault_kind::corrupted,
                        .call = "audit",
                        .address = page_heap.address_of(*r),
                        .block_size = shape_->block_size,
                        .pool = page_heap.name()});
        free += bits;
        absent += pages_in(r->absent);
      }
    }
    if (absent != absent_pages_)
      ashlar_fault({.kind = fault_kind::corrupted,
                    .call = "audit",
                    .block_size = shape_->block_size,
                    .pool = page_heap.name()});
    return free + stashed();
  }

 private:
  friend struct heap_layout;  // tells where the members are
  static constexpr std::size_t keyed_bytes_max = 16 * 1024;
  /// So many blocks of stashes are sorted back while the lock is held.
  static constexpr std::size_t sorted_at_once = 128;

  // Lists 0..3 by quarters of free blocks, fullest first; a slab without any is on none.
  static constexpr std::uint8_t fullness_lists = 4;
  static constexpr std::uint8_t full = fullness_lists;
  // On none either while its pages are given back, and nobody's to put on one or to remove.
  static constexpr std::uint8_t away = fullness_lists + 1;

  [[nodiscard]] static std::uint8_t fullness_of(const run& r, const slab_shape& shape) noexcept {
    if (r.free_blocks == 0) return full;
    const std::uint32_t quarter = shape.blocks / fullness_lists;
    return static_cast<std::uint8_t>((r.free_blocks > quarter) + (r.free_blocks > 2 * quarter) +
                                     (r.free_blocks > 3 * quarter));
  }

  /// Returns: the pages of `set`, which is empty more often than not.
  [[nodiscard]] static std::size_t pages_in(page_set set) noexcept {
    return set == 0 ? 0 : count_ones(set);
  }

  void link(run* r) noexcept {
    r->fullness = fullness_of(*r, *shape_);
    if (r->fullness != full) link_first(lists_[r->fullness], *r);
  }
  void unlink(run* r) noexcept {
    if (r->fullness != full) unlink_from(lists_[r->fullness], *r);
  }

  void relink(run* r, const slab_shape& shape) noexcept {
    if (fullness_of(*r, shape) == r->fullness) [[likely]]
      return;
    if (r->fullness == away) return;
    unlink(r);
    link(r);
  }

  [[nodiscard]] run* fullest_slab() const noexcept {
    for (run* head : lists_)
      if (head != nullptr) return head;
    return nullptr;
  }

  /// Effects: `steady` is where the slab begins if it is to be put into memory.
  [[nodiscard]] run* add_slab(pages& page_heap, growth g, char*& steady) noexcept {
    run* r = page_heap.new_slab(class_, *shape_, g);
    if (r == nullptr) return nullptr;
    note_turns<Space>(turn::slab_made, 1);
    if (counts_.slabs >= steady_slabs_ && r->absent != 0) {
      steady = page_heap.address_of(*r);
      r->absent = 0;
    }
    ++counts_.slabs;
    counts_.made += shape_->blocks;
    counts_.made_peak = std::max(counts_.made_peak, counts_.made);
    absent_pages_ += pages_in(r->absent);
    link(r);
    return r;
  }

  [[nodiscard]] std::size_t take_from_slabs(pages& page_heap, void** out, std::size_t count,
                                            growth g, work& left, batch_start start,
                                            char*& steady) noexcept {
    std::size_t got = 0;
    while (got != count && (got == 0 || left.is_left())) {
      run* r = fullest_slab();
      // A short batch is better than a new slab: memory grows only when nothing else is left.
      if (r == nullptr && got == 0) r = add_slab(page_heap, g, steady);
      if (r == nullptr) break;
      char* const base = page_heap.address_of(*r);
      void** const end = out - got;
      const std::uint32_t from = begin_word(*r, shape_->words, start);
      const std::size_t taken = take_blocks(*r, *shape_, base, end, count - got, from);
      got += taken;
      left.spend<Space>(turn::slab_taken_from);
      left.spend<Space>(turn::word_passed, shape_->words);
      if ((r->seen_free | r->absent) != 0)
        forget_taken_pages(*r, *shape_, base, end[-1], end[-static_cast<std::ptrdiff_t>(taken)]);
      relink(r, *shape_);
    }
    return got;
  }

  /// Returns: how many blocks of slabs get keys at once: that puts them in memory.
  [[nodiscard]] std::size_t keyed_batch() const noexcept {
    return std::max<std::size_t>(keyed_bytes_max / shape_->block_size, 1);
  }

  [[nodiscard]] block_use<pages> use(pages& page_heap) const noexcept {
    return block_use<pages>(page_heap, mark_shift_of(shape_->block_size));
  }

  /// Effects: the pages from block `lowest` to block `highest` are no longer free: take_blocks
  /// leaves none between them.
  void forget_taken_pages(run& slab, const slab_shape& shape, const char* base, const void* lowest,
                          const void* highest) noexcept {
    const auto page_of = [base](const void* p, std::size_t byte) {
      const auto offset = static_cast<std::size_t>(static_cast<const char*>(p) - base) + byte;
      return static_cast<unsigned>(offset >> page_shift);
    };
    const page_set taken =
        pages_between(page_of(lowest, 0), page_of(highest, shape.block_size - 1) + 1);
    absent_pages_ -= pages_in(slab.absent & taken);
    slab.absent &= ~taken;
    slab.seen_free &= ~taken;
  }

  void report(const pages& page_heap, const misused_block& bad, const char* call) const noexcept {
    if (bad.address != nullptr) [[unlikely]]
      ashlar_misuse({.kind = bad.kind,
                     .call = call,
                     .address = bad.address,
                     .block_size = shape_->block_size,
                     .pool = page_heap.name()});
  }

  /// Effects: sorts back some of the `count` blocks of `stash` below the one at `end`, up to the
  /// first misuse, which is dropped and is `bad` then, or until `left` is spent. As many from the
  /// top take their place. Returns: how many left, not 0. Requires: the lock; 0 < count <= end.
  [[nodiscard]] std::size_t sort_back(pages& page_heap, block_stash& stash, std::size_t end,
                                      std::size_t count, misused_block& bad, work& left) noexcept {
    const std::size_t done = put_into_slabs(page_heap, stash.at(end - count), count, bad, left);
    counts_.given -= done;  // put_into_slabs has counted those that were blocks once more
    stash.drop(end, count, done);
    return done;
  }

  /// Effects: sorts blocks back, up to the first misuse, which is dropped, or until `left` is
  /// spent; counts those that were given. Returns: how many are dealt with, one at least; the last
  /// of them only where it is a misuse, which is `bad` then. Requires: count != 0.
  [[nodiscard]] std::size_t put_into_slabs(pages& page_heap, void* const* blocks, std::size_t count,
                                           misused_block& bad, work& left) noexcept {
    // Copies: the stores to bitmaps would make the compiler load the originals again and again.
    const slab_shape shape = *shape_;
    const class_index c = class_;
    const bool keyed = page_heap.keys().are_in_use();
    const block_use<pages> uses = use(page_heap);
    work rest = left;
    std::size_t i = 0;
    std::size_t signed_from = 0;  // those before have no signs any more
    const auto take_signs = [&] {
      if (keyed) uses.take_signs(blocks + signed_from, i - signed_from);
      signed_from = i;
    };
    run* r = nullptr;
    char* base = nullptr;
    do {
      // The next one is often in the same slab, and a look for another may take a lock.
      if (r == nullptr ||
          static_cast<std::size_t>(static_cast<char*>(blocks[i]) - base) >= shape.bytes())
        r = page_heap.slab_of(blocks[i], c, base);
      if (r == nullptr) [[unlikely]] {
        bad = {fault_kind::not_in_use, blocks[i]};
        break;
      }
      const std::size_t put = put_stretch(
          *r, shape, base, blocks + i,
          rest.turns_left(turn::block_sorted, std::min(count - i, stretch_blocks_max)), bad);
      if (put == 0) [[unlikely]]
        break;
      rest.spend<Space>(turn::stretch_sorted);
      rest.spend<Space>(turn::block_sorted, put);
      i += put;
      if (r->free_blocks == shape.blocks && r->fullness != away) [[unlikely]] {
        take_signs();
        rest.spend<Space>(turn::slab_left);
        remove_slab(page_heap, r);
        r = nullptr;
      } else {
        relink(r, shape);
      }
    } while (i < count && rest.is_left());
    take_signs();
    left = rest;
    counts_.given += i;
    return bad.address == nullptr ? i : i + 1;
  }

  ASHLAR_MISS void remove_slab(pages& page_heap, run* r) noexcept {
    unlink(r);
    --counts_.slabs;
    counts_.made -= shape_->blocks;
    absent_pages_ -= pages_in(r->absent);
    page_heap.delete_slab(r, *shape_);
  }

  lock_type mutex_;
  class_index class_ = 0;
  const slab_shape* shape_ = nullptr;
  std::size_t steady_slabs_ = SIZE_MAX;
  std::size_t absent_pages_ = 0;  // of the slabs: free pages that the system has
  block_stash stashes_[sides];
  run* lists_[fullness_lists] = {};
  class_counts counts_;
};

}  // namespace ashlar::detail
