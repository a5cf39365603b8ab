// heap/central.hpp: what all threads share for one size class: its locks, its stashes, its slabs.
// Layer: heap.
//
//   thread caches <- batches -> stashes (stacks of addresses) <- bits -> slabs <- runs -> page heap
//
// Blocks that come back wait in a stash and leave it as they came, whole batches by one memcpy: a
// producer and a consumer never touch a bitmap. Only what the stash cannot hold is sorted back into
// its slabs.
//
// There are two sides of all that, each with its lock. Each cache has a side, and each slab: that
// of the cache for which it was made. A cache uses the other side where its own has no free block.
// Else threads that work at once would wait for each other, and get each other's blocks, whose
// lines are in another processor.
//
// Slabs with free blocks stand in lists by fullness. The fullest serves first, so that the emptier
// ones may become empty. Some empty ones rest for their side. The others leave, and serve any
// class. Free pages of slabs in use leave alone.
//
// A batch is taken from the first of these that has a block: the side's stash, its slabs whose
// pages are all in memory; if a slab is empty, the side's other slabs; the other side's stash; free
// pages, as a new slab; the other side's slabs; growth.
//
// Invariant (audit): blocks of all slabs == free bits + stashed + held (by caches and callers), and
// absent_pages == bits of `absent` in all slabs of the side.
// Thread-safety: any caller. No lock is held while others are called, but for the page heap and the
// visitor of a slab.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/count_ones.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/linked_list.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/heap/block_stash.hpp>
#include <ashlar/heap/block_use.hpp>
#include <ashlar/pages/page_heap.hpp>
#include <ashlar/pages/run.hpp>
#include <ashlar/pages/slab.hpp>
#include <ashlar/pages/work_bound.hpp>

namespace ashlar::detail {

/// The call that a fault names for a block that was freed earlier: the real one is not recorded.
inline constexpr const char* earlier_free = is_drop_in ? "free" : "an earlier free";

/// Bytes of the empty slabs that are kept, of all classes.
struct empty_slabs_at_rest {
  std::size_t most = 0;
  std::atomic<std::size_t> bytes{0};
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

  /// Requires: called once, first; the pages, which have slots for both stashes, `shape` and `rest`
  /// live as long as this. Null `rest`: no empty slab is kept.
  void place(pages& all_pages, class_index c, const slab_shape& shape, std::size_t stash_capacity,
             std::size_t steady_slabs = SIZE_MAX, empty_slabs_at_rest* rest = nullptr) noexcept {
    class_ = c;
    pages_ = &all_pages;
    steady_slabs_ = shape.block_size <= page_size ? steady_slabs : SIZE_MAX;
    rest_ = may_be_hollow(shape) ? rest : nullptr;
    shape_ = &shape;
    stash_capacity_ = static_cast<std::uint32_t>(stash_capacity);
  }

  /// Effects: takes up to `count` blocks, from one stash or from slabs, and writes them to out[-1],
  /// out[-2], ... Those of `side` come first. Where keys are in use, blocks that come from slabs
  /// get their marks and keys. Returns: how many; 0 when out of memory, or when it would take
  /// growth and that is refused. A batch from slabs begins at `start`, and ends when `left` is
  /// spent. The pages of a slab beyond steady_slabs are put into memory at once.
  [[nodiscard]] std::size_t take(void** out, std::size_t count, growth g, work& left,
                                 batch_start start = batch_start::lowest_block,
                                 unsigned side = 0) noexcept {
    batch to{.out = out, .count = count, .start = start};
    const unsigned other = 1 - side;
    std::size_t got = 0;
    if (has_free(side)) got = take_from(side, to, source::used_slabs, left);
    // An empty slab first, its own or taken from the other side: so the sides' blocks do not mix.
    if (got == 0 && empty_slabs() != 0) {
      if (sides_[side].listed.load(relaxed) == 0)
        static_cast<void>(remove_empty(sides_[other], left));
      got = take_from(side, to, source::free_pages, left);
    }
    // Threads of the other side put back there what this side's threads have allocated.
    if (got == 0 && has_free(other)) got = take_from(other, to, source::stash, left);
    if (got == 0 && g == growth::refused) got = take_from(side, to, source::free_pages, left);
    if (got == 0 && has_free(other)) got = take_from(other, to, source::slabs, left);
    if (got == 0 && g == growth::allowed) got = take_from(side, to, source::growth, left);
    // Without the lock: both calls may fault pages in.
    if (to.steady != nullptr) [[unlikely]]
      pages_->populate(to.steady, shape_->bytes());
    if (to.keyed)
      use().give_keys(out - got, got);
    else
      use().ask_for(out - got, got);
    return got;
  }

  /// Effects: takes blocks back: what fits into the stash of `side`, then others until `left` is
  /// spent, one at least. A fault naming `call` for an address that is no block in use of this
  /// class: at once if it has to be sorted into its slab, else when it is. Where the process goes
  /// on after it, that address is dropped. Returns: how many are dealt with, the first ones.
  [[nodiscard]] std::size_t give(void* const* blocks, std::size_t count, const char* call,
                                 work& left, unsigned side = 0) noexcept {
    sorting how(true);
    std::size_t done = 0;
    {
      part& own = sides_[side];
      const std::lock_guard guard(own.mutex);
      if (!own.stash.is_placed()) [[unlikely]]
        place_stash(own);
      done = own.stash.give(blocks, count);
      add(own.given, done);
      if (done != count && (done == 0 || left.is_left()))
        done += put_into_slabs(side, blocks + done, count - done, how, left);
    }
    finish(side, how, call);
    return done;
  }

  /// As `give`, but into the slabs: who takes next does not get these blocks first.
  [[nodiscard]] std::size_t give_to_slabs(void* const* blocks, std::size_t count, const char* call,
                                          work& left, unsigned side = 0) noexcept {
    sorting how(false);
    std::size_t done = 0;
    {
      const std::lock_guard guard(sides_[side].mutex);
      done = put_into_slabs(side, blocks, count, how, left);
    }
    finish(side, how, call);
    return done;
  }

  /// Effects: deletes the empty slabs, then sorts stashed blocks into slabs, from the top: what is
  /// there now, but `most` at most, until `left` is spent. Between two pieces (sorted_at_once) the
  /// lock is open. Returns: what has gone.
  resting_blocks settle(work& left, std::size_t most = SIZE_MAX) noexcept {
    resting_blocks gone;
    for (unsigned side = 0; side != sides; ++side) {
      part& p = sides_[side];
      for (std::size_t empty = p.empty.load(relaxed);
           empty != 0 && gone.blocks != most && left.is_left(); --empty)
        if (remove_empty(p, left)) gone.add(1, shape_->bytes());
      std::size_t wanted = std::min(most - gone.blocks, p.stash.count());
      while (wanted != 0 && left.is_left()) {
        sorting how(false);
        std::size_t piece = 0;
        {
          const std::lock_guard guard(p.mutex);
          piece = std::min({wanted, p.stash.count(), sorted_at_once});
          if (piece == 0) break;
          piece = sort_back(side, p.stash.count(), piece, how, left);
        }
        wanted -= piece;
        gone.add(piece, shape_->block_size);
        finish(side, how, earlier_free);
      }
    }
    return gone;
  }

  /// Effects: sorts back what nobody has needed since the last call that came to its end: the
  /// stashes' bottoms, below their lowest since, and as many empty slabs as there always were.
  /// Returns: false where `left` was spent before.
  bool settle_unused(work& left) noexcept {
    for (unsigned side = 0; side != sides; ++side) {
      part& p = sides_[side];
      for (bool is_done = false; !is_done;) {
        sorting how(false);
        if (p.empty_lowest.load(relaxed) != 0) {
          if (!left.is_left()) return false;
          static_cast<void>(remove_empty(p, left));
          continue;
        }
        {
          const std::lock_guard guard(p.mutex);
          is_done = p.stash.lowest() == 0;
          if (!is_done) {
            if (!left.is_left()) return false;
            static_cast<void>(sort_back(side, p.stash.lowest(),
                                        std::min(p.stash.lowest(), sorted_at_once), how, left));
          }
        }
        finish(side, how, earlier_free);
      }
    }
    for (part& p : sides_) {
      const std::lock_guard guard(p.mutex);
      p.stash.watch();
      p.empty_lowest.store(p.empty.load(relaxed), relaxed);
    }
    return true;
  }

  /// Effects: gives back the pages of `some` of the slab at `place` that are free, and were so at
  /// the last look (unless `at_once`). Nothing if there is no slab of this class any more. Returns:
  /// the bytes. Requires: one thread at a time does this; `some` is not empty. No lock is held
  /// during the system calls.
  ASHLAR_MISS std::size_t give_back_free_pages(slab_place place, slab_part some,
                                               bool at_once) noexcept {
    const slab_shape& shape = *shape_;
    page_set leaving = 0;
    run* const slab = with_slab(place, [&](part& p, run& r) {
      if (r.free_blocks == 0) return;
      const page_set free = free_pages(r, shape, some);
      leaving = (at_once ? free : free & r.seen_free) & ~r.absent;
      r.seen_free = (r.seen_free & ~pages_between(some.begin, some.end)) | free;
      if (leaving == 0) return;
      unlink(p, &r);
      r.fullness = purging;
    });
    return leaving != 0 ? purge_slab(*slab, leaving) : 0;
  }

  /// Effects: visit(its first block) if the slab at `place` is of this class. The lock is held.
  template <class Visit>
  void visit_slab(slab_place place, Visit visit) noexcept {
    with_slab(place, [&](part&, const run& slab) { visit(pages_->address_of(slab)); });
  }

  /// Returns: what the slabs are made of, at some recent moment. O(1), takes no lock.
  [[nodiscard]] slab_bytes bytes_of_slabs() const noexcept {
    const std::size_t size = shape_->block_size, made = sum_of(&part::slabs) * shape_->blocks;
    // What is given is read last: what is moved meanwhile counts as idle rather than as held.
    const std::size_t taken = sum_of(&part::taken);
    const std::size_t not_idle = taken - std::min(taken, sum_of(&part::given)) + stashed();
    const std::size_t idle = (made - std::min(made, not_idle)) * size;
    const std::size_t absent = sum_of(&part::absent_pages) << page_shift;
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
      const run* r = pages_->slab_of(block, class_, base);
      if (r != nullptr) {
        const slab_shape& shape = *shape_;
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
    blocks = std::min<std::size_t>(blocks, stash_capacity_);
    if (blocks == 0) return true;
    for (part& p : sides_) {
      const std::lock_guard guard(p.mutex);
      if (!p.stash.is_placed()) place_stash(p);
      if (!p.stash.is_placed() || !pages_->populate_slots(p.stash.at(0), blocks)) return false;
    }
    return true;
  }

  /// Returns: blocks in the stashes, at some recent moment. Takes no lock.
  [[nodiscard]] std::size_t stashed() const noexcept {
    return sides_[0].stash.count() + sides_[1].stash.count();
  }
  /// Returns: slabs that rest without a block in use, at some recent moment. Takes no lock.
  [[nodiscard]] std::size_t empty_slabs() const noexcept { return sum_of(&part::empty); }
  /// Returns: whether `settle` has anything to do, at some recent moment. Takes no lock.
  [[nodiscard]] bool has_resting() const noexcept { return stashed() + empty_slabs() != 0; }

  [[nodiscard]] class_counts counts() noexcept {
    const std::lock_guard guard(*this);
    return sum();
  }

  /// Both sides, in the order of their addresses.
  void lock() noexcept {
    for (part& p : sides_) p.mutex.lock();
  }
  void unlock() noexcept {
    for (unsigned side = sides; side != 0; --side) sides_[side - 1].mutex.unlock();
  }

  /// Effects: checks the invariant of the slabs that have free blocks. Returns: free bits +
  /// stashed.
  [[nodiscard]] std::uint64_t audit() noexcept {
    const std::lock_guard guard(*this);
    std::uint64_t free = 0;
    for (const part& p : sides_) {
      std::size_t absent = 0, empty = 0;
      for (std::uint8_t f = 0; f < fullness_lists; ++f) {
        for (const run* r = p.lists[f]; r != nullptr; r = r->next) {
          std::uint32_t bits = 0;
          for (std::uint32_t w = 0; w < shape_->words; ++w) bits += count_ones(r->free_bits[w]);
          const page_set noted = r->seen_free | r->absent;
          if (bits != r->free_blocks || bits == 0 || r->fullness != f || &sides_[r->side] != &p ||
              fullness_of(*r, *shape_) != f ||
              (noted != 0 && (noted & ~free_pages(*r, *shape_, {0, shape_->pages})) != 0))
            ashlar_fault({.kind = fault_kind::corrupted,
                          .call = "audit",
                          .address = pages_->address_of(*r),
                          .block_size = shape_->block_size,
                          .pool = pages_->name()});
          free += bits;
          absent += pages_in(r->absent);
          empty += f == empty_slab;
        }
      }
      if (absent != p.absent_pages.load(relaxed) || empty != p.empty.load(relaxed))
        ashlar_fault({.kind = fault_kind::corrupted,
                      .call = "audit",
                      .block_size = shape_->block_size,
                      .pool = pages_->name()});
    }
    return free + stashed();
  }

 private:
  friend struct heap_layout;  // tells where the members are
  static constexpr std::size_t keyed_bytes_max = 16 * 1024;
  /// So many blocks of stashes are sorted back while the lock is held.
  static constexpr std::size_t sorted_at_once = 128;
  /// So many blocks of the other side's slabs wait for its lock meanwhile.
  static constexpr std::size_t strays_max = sorted_at_once;

  // Lists 0..3 by quarters of free blocks, fullest first, then those with no block in use; a slab
  // without free ones is on none.
  static constexpr std::uint8_t quarters = 4;
  static constexpr std::uint8_t empty_slab = quarters;
  static constexpr std::uint8_t fullness_lists = quarters + 1;
  static constexpr std::uint8_t full = fullness_lists;
  // Its pages are being given back: on no list, and not to be linked or deleted.
  static constexpr std::uint8_t purging = fullness_lists + 1;

  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr std::size_t cache_line_bytes = 64;
  // Written under the lock, read without it. Slabs and pages: 2^32 pages are 16 TiB.
  using counter = std::atomic<std::size_t>;
  using counter_of_slabs = std::atomic<std::uint32_t>;

  /// What one side has, on cache lines of its own: 128 bytes. Where two sides shared a line, lists
  /// of two threads took an eighth longer.
  struct alignas(cache_line_bytes) part {
    lock_type mutex;
    counter_of_slabs slabs{0};
    counter_of_slabs listed{0};                  // that have a free block
    counter_of_slabs empty{0}, empty_lowest{0};  // on the last list; the fewest since the last look
    counter_of_slabs absent_pages{0};            // of the slabs: free pages that the system has
    block_stash stash;
    counter taken{0}, given{0};  // blocks that this side ever handed to caches, and got
    run* lists[fullness_lists] = {};
    std::uint32_t slabs_peak = 0;  // of both sides, as this one saw them
    std::size_t held_peak = 0;
  };

  /// What may serve a batch: this one, and before it those above.
  enum class source : std::uint8_t {
    stash,
    used_slabs,  // those whose pages are all in memory
    slabs,
    free_pages,  // as a new slab
    growth
  };

  /// A batch that is taken.
  struct batch {
    void** out;
    std::size_t count;
    batch_start start;
    char* steady = nullptr;  // a slab that is to be put into memory
    bool keyed = false;      // the blocks are to get keys
  };

  /// Blocks that one side sorts back, and what it found.
  struct sorting {
    explicit sorting(bool keeps) noexcept : keeps_slabs(keeps) {}
    bool keeps_slabs;  // empty slabs may rest
    misused_block bad;
    std::size_t strays = 0;   // so many blocks are of the other side's slabs,
    void* stray[strays_max];  // these
  };

  template <class Number>
  static void add(std::atomic<Number>& n, std::size_t more) noexcept {
    n.store(static_cast<Number>(n.load(relaxed) + more), relaxed);
  }
  template <class Number>
  static void subtract(std::atomic<Number>& n, std::size_t less) noexcept {
    n.store(static_cast<Number>(n.load(relaxed) - less), relaxed);
  }
  template <class Number>
  [[nodiscard]] std::size_t sum_of(std::atomic<Number> part::* member) const noexcept {
    return std::size_t{(sides_[0].*member).load(relaxed)} + (sides_[1].*member).load(relaxed);
  }
  /// Requires: both locks.
  [[nodiscard]] class_counts sum() const noexcept {
    const std::size_t slabs = sum_of(&part::slabs), blocks = shape_->blocks;
    return {.taken = sum_of(&part::taken),
            .given = sum_of(&part::given),
            .held_peak = std::max(sides_[0].held_peak, sides_[1].held_peak),
            .made = slabs * blocks,
            .made_peak = std::size_t{std::max(sides_[0].slabs_peak, sides_[1].slabs_peak)} * blocks,
            .slabs = slabs,
            .empty_slabs = empty_slabs()};
  }

  [[nodiscard]] static std::uint8_t fullness_of(const run& r, const slab_shape& shape) noexcept {
    if (r.free_blocks == 0) return full;
    const std::uint32_t quarter = shape.blocks / quarters;
    return static_cast<std::uint8_t>((r.free_blocks > quarter) + (r.free_blocks > 2 * quarter) +
                                     (r.free_blocks > 3 * quarter) +
                                     (r.free_blocks == shape.blocks));
  }

  /// Returns: the pages of `set`, which is empty more often than not.
  [[nodiscard]] static std::size_t pages_in(page_set set) noexcept {
    return set == 0 ? 0 : count_ones(set);
  }

  void link(part& p, run* r) noexcept {
    r->fullness = fullness_of(*r, *shape_);
    if (r->fullness == full) return;
    link_first(p.lists[r->fullness], *r);
    add(p.listed, 1);
    if (r->fullness != empty_slab) return;
    add(p.empty, 1);
    if (rest_ != nullptr) rest_->bytes.fetch_add(shape_->bytes(), relaxed);
  }
  void unlink(part& p, run* r) noexcept {
    if (r->fullness == full) return;
    unlink_from(p.lists[r->fullness], *r);
    subtract(p.listed, 1);
    if (r->fullness != empty_slab) return;
    subtract(p.empty, 1);
    if (rest_ != nullptr) rest_->bytes.fetch_sub(shape_->bytes(), relaxed);
    p.empty_lowest.store(std::min(p.empty_lowest.load(relaxed), p.empty.load(relaxed)), relaxed);
  }

  /// Returns: whether the side has a block to give, at some recent moment.
  [[nodiscard]] bool has_free(unsigned side) const noexcept {
    return sides_[side].stash.count() + sides_[side].listed.load(relaxed) != 0;
  }
  [[nodiscard]] bool may_rest() const noexcept {
    return rest_ != nullptr && rest_->bytes.load(relaxed) + shape_->bytes() <= rest_->most;
  }

  void relink(part& p, run* r, const slab_shape& shape) noexcept {
    if (fullness_of(*r, shape) == r->fullness) [[likely]]
      return;
    if (r->fullness == purging) return;
    unlink(p, r);
    link(p, r);
  }

  /// Effects: visit(its side, the slab) if a slab of this class is at `place`, with the lock held.
  /// Returns: the slab, or null.
  template <class Visit>
  run* with_slab(slab_place place, Visit visit) noexcept {
    for (part& p : sides_) {
      const std::lock_guard guard(p.mutex);
      run* const r = pages_->slab_at(place, class_, static_cast<std::uint8_t>(&p - sides_));
      if (r == nullptr) continue;
      visit(p, *r);
      return r;
    }
    return nullptr;
  }

  /// Effects: gives back the pages `leaving` of a slab that is `purging`, and ends that.
  /// Returns: the bytes. Requires: no lock is held.
  ASHLAR_COLD std::size_t purge_slab(run& slab, page_set leaving) noexcept {
    // No thread takes blocks from a slab that is on no list, so its free pages stay free.
    const page_set gone = pages_->purge_pages(slab, leaving);
    part& p = sides_[slab.side];
    const std::lock_guard guard(p.mutex);
    slab.absent |= gone;
    add(p.absent_pages, pages_in(gone));
    slab.fullness = full;
    if (slab.free_blocks == shape_->blocks)
      remove_slab(p, &slab);
    else
      link(p, &slab);
    return pages_in(gone) << page_shift;
  }

  [[nodiscard]] static run* fullest_slab(const part& p) noexcept {
    for (run* head : p.lists)
      if (head != nullptr) return head;
    return nullptr;
  }

  /// Effects: `steady` is where the slab begins if it is to be put into memory.
  [[nodiscard]] run* add_slab(unsigned side, growth g, char*& steady) noexcept {
    part& p = sides_[side];
    run* r = pages_->new_slab(class_, *shape_, g, static_cast<std::uint8_t>(side));
    if (r == nullptr) return nullptr;
    note_turns<Space>(turn::slab_made, 1);
    if (sum_of(&part::slabs) >= steady_slabs_ && r->absent != 0) {
      steady = pages_->address_of(*r);
      r->absent = 0;
    }
    add(p.slabs, 1);
    p.slabs_peak = std::max(p.slabs_peak, static_cast<std::uint32_t>(sum_of(&part::slabs)));
    add(p.absent_pages, pages_in(r->absent));
    link(p, r);
    return r;
  }

  /// Effects: as `take`, from what `side` has, down to `last`.
  [[nodiscard]] std::size_t take_from(unsigned side, batch& to, source last, work& left) noexcept {
    part& p = sides_[side];
    const std::lock_guard guard(p.mutex);
    std::size_t got = p.stash.take(to.out, to.count);
    to.keyed = false;
    if (got == 0 && last != source::stash) {
      to.keyed = pages_->keys().are_in_use();  // not before it has the lock
      got = take_from_slabs(side, to, last, left);
    }
    if (got == 0) return 0;
    add(p.taken, got);
    // Of the other side at some recent moment; strays that it has set aside count as held.
    const std::size_t taken = sum_of(&part::taken);
    const std::size_t given = sum_of(&part::given);
    if (taken > given) p.held_peak = std::max(p.held_peak, taken - given);
    return got;
  }

  [[nodiscard]] std::size_t take_from_slabs(unsigned side, batch& to, source last,
                                            work& left) noexcept {
    part& p = sides_[side];
    const std::size_t count = to.keyed ? std::min(to.count, keyed_batch()) : to.count;
    std::size_t got = 0;
    while (got != count && (got == 0 || left.is_left())) {
      run* r = fullest_slab(p);
      // A short batch is better than a new slab: memory grows only when nothing else is left.
      if (r == nullptr && got == 0 && last >= source::free_pages)
        r = add_slab(side, last == source::growth ? growth::allowed : growth::refused, to.steady);
      if (r == nullptr || (r->absent != 0 && last == source::used_slabs)) break;
      char* const base = pages_->address_of(*r);
      void** const end = to.out - got;
      const std::uint32_t from = begin_word(*r, shape_->words, to.start);
      const std::size_t taken = take_blocks(*r, *shape_, base, end, count - got, from);
      got += taken;
      left.spend<Space>(turn::slab_taken_from);
      left.spend<Space>(turn::word_passed, shape_->words);
      if ((r->seen_free | r->absent) != 0)
        forget_taken_pages(p, *r, *shape_, base, end[-1], end[-static_cast<std::ptrdiff_t>(taken)]);
      relink(p, r, *shape_);
    }
    return got;
  }

  /// Returns: how many blocks of slabs get keys at once: that puts them in memory.
  [[nodiscard]] std::size_t keyed_batch() const noexcept {
    return std::max<std::size_t>(keyed_bytes_max / shape_->block_size, 1);
  }

  [[nodiscard]] block_use<pages> use() const noexcept {
    return block_use<pages>(*pages_, mark_shift_of(shape_->block_size));
  }

  /// Effects: the pages from block `lowest` to block `highest` are no longer free: take_blocks
  /// leaves none between them.
  void forget_taken_pages(part& p, run& slab, const slab_shape& shape, const char* base,
                          const void* lowest, const void* highest) noexcept {
    const auto page_of = [base](const void* block, std::size_t byte) {
      const auto offset = static_cast<std::size_t>(static_cast<const char*>(block) - base) + byte;
      return static_cast<unsigned>(offset >> page_shift);
    };
    const page_set taken =
        pages_between(page_of(lowest, 0), page_of(highest, shape.block_size - 1) + 1);
    subtract(p.absent_pages, pages_in(slab.absent & taken));
    slab.absent &= ~taken;
    slab.seen_free &= ~taken;
  }

  void report(const misused_block& bad, const char* call) const noexcept {
    if (bad.address != nullptr) [[unlikely]]
      ashlar_misuse({.kind = bad.kind,
                     .call = call,
                     .address = bad.address,
                     .block_size = shape_->block_size,
                     .pool = pages_->name()});
  }

  /// Effects: sorts the strays into the slabs of the other side. Then reports the first misuse: the
  /// program may not come back from that. Requires: no lock is held.
  void finish(unsigned side, sorting& how, const char* call) noexcept {
    if (how.strays != 0) [[unlikely]]
      put_strays(1 - side, how);
    report(how.bad, call);
  }
  ASHLAR_COLD void put_strays(unsigned side, sorting& how) noexcept {
    misused_block first = how.bad;
    const std::size_t strays = std::exchange(how.strays, strays_max);  // there is no third side
    for (std::size_t done = 0; done != strays;) {
      how.bad = {};
      work all = work::without_end();
      const std::lock_guard guard(sides_[side].mutex);
      done += put_into_slabs(side, how.stray + done, strays - done, how, all);
      if (first.address == nullptr) first = how.bad;
    }
    how.bad = first;
  }

  /// Effects: sorts back some of the `count` blocks of the side's stash below the one at `end`, up
  /// to the first misuse, which is dropped, or until `left` is spent. As many from the top take
  /// their place. Returns: how many left, not 0. Requires: the lock; 0 < count <= end.
  [[nodiscard]] std::size_t sort_back(unsigned side, std::size_t end, std::size_t count,
                                      sorting& how, work& left) noexcept {
    part& p = sides_[side];
    const std::size_t done = put_into_slabs(side, p.stash.at(end - count), count, how, left);
    subtract(p.given, done);  // those that were blocks are counted once more
    p.stash.drop(end, count, done);
    return done;
  }

  /// Effects: puts blocks into slabs. Stops behind the first misuse, which is dropped and is
  /// `how.bad`, when `left` is spent, or when how.stray is full. Returns: how many are dealt with,
  /// one at least, the dropped one included. Requires: the lock of `side`; count != 0.
  [[nodiscard]] std::size_t put_into_slabs(unsigned side, void* const* blocks, std::size_t count,
                                           sorting& how, work& left) noexcept {
    // Copies: the stores to bitmaps would make the compiler load the originals again and again.
    const slab_shape shape = *shape_;
    const bool keyed = pages_->keys().are_in_use();
    const block_use<pages> uses = use();
    part& p = sides_[side];
    work rest = left;
    std::size_t i = 0;
    std::size_t strays = 0;
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
        r = slab_of(blocks[i], side, base);
      if (r != nullptr && r->side != side && how.strays != strays_max) {
        take_signs();
        how.stray[how.strays++] = blocks[i++];
        signed_from = i;  // its own go where it is sorted
        ++strays;
        rest.spend<Space>(turn::stretch_sorted);
        rest.spend<Space>(turn::block_sorted);
        rest.spend<Space>(turn::slab_left);
        continue;
      }
      if (r == nullptr || r->side != side) [[unlikely]] {
        if (r == nullptr || i == 0) how.bad = {fault_kind::not_in_use, blocks[i]};
        break;
      }
      const std::size_t put = put_stretch(
          *r, shape, base, blocks + i,
          rest.turns_left(turn::block_sorted, std::min(count - i, stretch_blocks_max)), how.bad);
      if (put == 0) [[unlikely]]
        break;
      rest.spend<Space>(turn::stretch_sorted);
      rest.spend<Space>(turn::block_sorted, put);
      i += put;
      if (r->free_blocks == shape.blocks && r->fullness != purging &&
          !(how.keeps_slabs && may_rest())) [[unlikely]] {
        take_signs();
        rest.spend<Space>(turn::slab_left);
        remove_slab(p, r);
        r = nullptr;
      } else {
        relink(p, r, shape);
      }
    } while (i < count && rest.is_left());
    take_signs();
    left = rest;
    add(p.given, i - strays);
    return how.bad.address == nullptr ? i : i + 1;
  }

  /// Returns: the slab that page_heap::slab_of finds; null if it is of this side and of another
  /// class. A slab of the other side may go meanwhile, if `block` is no block in use.
  [[nodiscard]] run* slab_of(const void* block, unsigned side, char*& base) const noexcept {
    run* const r = pages_->slab_of(block, class_, base);
    return r != nullptr && r->side == side && r->size_class != class_ ? nullptr : r;
  }

  ASHLAR_MISS void remove_slab(part& p, run* r) noexcept {
    unlink(p, r);
    subtract(p.slabs, 1);
    subtract(p.absent_pages, pages_in(r->absent));
    pages_->delete_slab(r, *shape_);
  }
  /// Returns: false where no slab of the side is empty.
  bool remove_empty(part& p, work& left) noexcept {
    const std::lock_guard guard(p.mutex);
    run* const r = p.lists[empty_slab];
    if (const std::uint32_t lowest = p.empty_lowest.load(relaxed); lowest != 0)
      p.empty_lowest.store(lowest - 1, relaxed);
    if (r == nullptr) return false;
    left.spend<Space>(turn::stretch_sorted);  // the lock, and what else is not in the other price
    left.spend<Space>(turn::slab_left);
    remove_slab(p, r);
    return true;
  }

  /// Effects: the stash has its slots, unless memory is refused: then its blocks go to their slabs.
  /// Requires: the lock.
  ASHLAR_COLD void place_stash(part& p) noexcept {
    void** const slots = stash_capacity_ != 0 ? pages_->new_slots(stash_capacity_) : nullptr;
    if (slots != nullptr) p.stash.place(slots, stash_capacity_);
  }

  class_index class_ = 0;
  std::uint32_t stash_capacity_ = 0;
  pages* pages_ = nullptr;
  const slab_shape* shape_ = nullptr;
  std::size_t steady_slabs_ = SIZE_MAX;
  empty_slabs_at_rest* rest_ = nullptr;
  part sides_[sides];
};

}  // namespace ashlar::detail
