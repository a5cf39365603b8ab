// pages/page_heap.hpp: slabs and large blocks: runs of pages in use, shared by all classes.
// Layer: pages.
//
//   this file     slabs; which slab or large block an address is in
//   large_blocks  large blocks that grow, shrink and move
//   page_supply   which pages a request gets, the most there may be, what goes back and when
//   run_store     the runs themselves: free ones by length, cutting, merging, headroom
//
// Each has the next as a member.
//
// A closed page, which no access is possible to, ends what runs past the last block of a slab: in a
// hardened process behind each new slab, up to a limit; else behind the first slabs that are one
// block long. It is the last page of the slab's run, and of no class.
//
//   | slab of 64-byte blocks | closed page | slab of 1 KiB blocks | closed page | ...
//
// Invariant (audit): slab + large + purging + lost pages == the pages that the supply counts as
// used + the closed pages behind slabs.
// Thread-safety: any caller at any time, by the lock of the supply.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include <ashlar/core/bits.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/pages/address_space.hpp>
#include <ashlar/pages/block_sign.hpp>
#include <ashlar/pages/block_tables.hpp>
#include <ashlar/pages/grown_table.hpp>
#include <ashlar/pages/heap_keys.hpp>
#include <ashlar/pages/large_blocks.hpp>
#include <ashlar/pages/page_range.hpp>
#include <ashlar/pages/page_supply.hpp>
#include <ashlar/pages/run.hpp>
#include <ashlar/pages/run_store.hpp>
#include <ashlar/pages/sealable.hpp>
#include <ashlar/pages/slab.hpp>

namespace ashlar::detail {

struct page_heap_stats : large_block_stats, page_counts {
  std::uint64_t reserved_bytes = 0;
  std::uint64_t table_bytes = 0;     ///< in memory
  std::uint64_t closes_refused = 0;  ///< pages behind slabs that the system did not close
};

template <address_space Space, class Mutex>
class page_heap {
 public:
  using large_type = large_blocks<Space, Mutex>;
  using supply_type = typename large_type::supply_type;

  explicit constexpr page_heap(sealable<Space>& space) noexcept : large_(space) {}
  page_heap(const page_heap&) = delete;
  page_heap& operator=(const page_heap&) = delete;

  [[nodiscard]] constexpr supply_type& supply() noexcept { return large_.supply(); }
  [[nodiscard]] const supply_type& supply() const noexcept { return large_.supply(); }
  [[nodiscard]] large_type& large() noexcept { return large_; }

  /// Effects: faults call the heap by this name from now on; null: by none. It is not copied.
  void set_name(const char* name) noexcept { name_ = name; }
  [[nodiscard]] const char* name() const noexcept { return name_; }

  /// Effects: reserves the first range; in every range there is room for so many words of bitmaps a
  /// page. Reserves so many slots for stashes. Returns: false when the system refuses. Requires:
  /// called until it succeeds, before any other function but set_policy and set_name.
  [[nodiscard]] bool start(std::size_t bit_words_per_page, std::size_t slots = 0) noexcept {
    const std::lock_guard guard(supply().mutex());
    if (!ranges().start(bit_words_per_page, slot_bytes(slots))) return false;
    if (slots != 0 && slots_max_ == 0) {
      void* const in_gap = ranges().extra();
      void* const addresses = in_gap != nullptr ? in_gap : space().reserve_zeros(slot_bytes(slots));
      if (addresses == nullptr) return false;
      slots_.place(addresses, in_gap != nullptr ? ground::gap : ground::reserved);
      slots_max_ = slots;
    }
    keys_.place(draw_secret());
    return true;
  }

  /// Effects: gives everything back to the space. Requires: nobody uses the heap any more, nor ever
  /// will.
  void release_all() noexcept {
    const std::size_t slots =
        ranges().extra() != nullptr ? slots_.committed_bytes() : slot_bytes(slots_max_);
    if (slots != 0) space().release(slots_.entries(), slots);
    ranges().release_all();
  }

  /// Returns: `count` slots for a stash, of those that were reserved; null when memory was refused.
  /// They become memory now, since a system may limit what it promises, or what a process may write
  /// to: few programs use all stashes.
  [[nodiscard]] void** new_slots(std::size_t count) noexcept {
    const std::lock_guard guard(supply().mutex());
    if (!slots_.ensure(space(), slots_used_ + count, slots_max_)) return nullptr;
    return slots_.entries() + std::exchange(slots_used_, slots_used_ + count);
  }
  /// Effects: the first `count` of a stash's slots are in memory. Returns: false when memory was
  /// refused.
  [[nodiscard]] bool populate_slots(void** slots, std::size_t count) noexcept {
    const std::uintptr_t begin = align_down(number_of(slots), page_size);
    const std::uintptr_t end = align_up(number_of(slots + count), page_size);
    return space().populate(reinterpret_cast<void*>(begin), end - begin);
  }

  /// Returns: what a cache needs to find a block's class and mark by itself. Requires: started.
  [[nodiscard]] block_tables first_tables() const noexcept { return ranges().first_tables(); }
  /// Returns: the keys of blocks that rest. Requires: started.
  [[nodiscard]] heap_keys& keys() noexcept { return keys_; }

  /// Returns: whether the first tables tell of every range. No lock: a caller who has a block of
  /// another range knows of that range.
  [[nodiscard]] bool first_tables_tell_all() const noexcept {
    return ranges().first_tables_tell_all();
  }

  // ---- lookup: address -> class, slab or large block --------------------------------------------

  /// Returns: the mark for `address`, which is in a slab whose windows have this length.
  [[nodiscard]] block_mark* mark_at(const void* address, unsigned shift) noexcept {
    const page_range* range = ranges().first_if_holds(number_of(address));
    if (range == nullptr) [[unlikely]]
      range = range_of(address);
    return range->tables.mark_at(address, shift);
  }

  /// Returns: the class of the slab that holds `address`, if the first range does; 0 says only "ask
  /// `class_of`". Any value may be passed; no lock.
  [[nodiscard]] ASHLAR_HOT class_index class_in_first(const void* address) const noexcept {
    return ranges().first_tables().class_of(address);
  }

  /// Returns: the class of the slab that holds `address`, in any range; 0 if none does.
  [[nodiscard]] class_index class_of(const void* address) noexcept {
    if (const class_index c = class_in_first(address); c != 0) [[likely]]
      return c;
    const page_range* range = range_of(address);
    return range == nullptr ? class_index{0} : class_in(*range, address);
  }

  /// Returns: the slab of class `c` that holds `address`, and where it begins; null if none does.
  /// Exact for a block that somebody holds (its slab cannot change then), a guess for others.
  [[nodiscard]] run* slab_of(const void* address, class_index c, char*& begin) noexcept {
    const page_range* range = ranges().first_if_holds(number_of(address));
    if (range == nullptr) [[unlikely]]
      range = range_of(address);
    if (range == nullptr || class_in(*range, address) != c) [[unlikely]]
      return nullptr;
    run* r = range->runs.entries() + range->run_of.entries()[range->page_of(number_of(address))];
    begin = reinterpret_cast<char*>(range->address_of(r->first));
    return r;
  }

  /// Returns: whether `address` lies where a range has memory, in use or not. No lock for a block
  /// in a slab of the first range.
  [[nodiscard]] bool owns(const void* address) noexcept { return owner_of(address) != nullptr; }

  [[nodiscard]] char* address_of(const run& r) const noexcept {
    return supply().runs().address_of(r);
  }

  // ---- runs -----------------------------------------------------------------------------------

  /// Effects: from now on each new slab gets a closed page behind it, while fewer than `most` slabs
  /// have one and the heap is not sealed. Each costs up to two of the mappings that a process may
  /// have.
  void close_behind_slabs(std::size_t most) noexcept {
    const std::lock_guard guard(supply().mutex());
    closed_max_ = most;
  }

  /// Returns: a run for a slab of class `c` and of `side`, cut to `shape`, with its bitmap all
  /// ones; null when out of memory, or when it would take growth and that is refused.
  [[nodiscard]] run* new_slab(class_index c, const slab_shape& shape, growth g,
                              std::uint8_t side = 0) noexcept {
    const std::lock_guard guard(supply().mutex());
    run* r = take_with_tables(shape, g);
    if (r == nullptr && g == growth::allowed) {
      // Free pages that go back may leave room for the tables.
      {
        const unlock_guard open(supply().mutex());
        supply().purge_all();
      }
      r = take_with_tables(shape, g);
      if (r == nullptr && supply().make_room()) r = take_with_tables(shape, g);
    }
    if (r == nullptr) return nullptr;
    std::fill_n(r->free_bits, shape.words, ~std::uint64_t{0});
    if (const std::uint32_t rest = shape.blocks % 64; rest != 0)
      r->free_bits[shape.words - 1] = (std::uint64_t{1} << rest) - 1;
    r->free_blocks = shape.blocks;
    r->seen_free = 0;
    r->absent = r->zero && may_be_hollow(shape) ? pages_between(0, shape.pages) : 0;
    r->size_class = c;
    r->side = side;
    r->kind = run_kind::slab;
    runs().range_of(*r).note_slab(*r, shape.pages, mark_shift_of(shape.block_size));
    return r;
  }

  /// Requires: every block of the slab, which is cut to `shape`, is free.
  void delete_slab(run* r, const slab_shape& shape) noexcept {
    const std::lock_guard guard(supply().mutex());
    page_range& range = runs().range_of(*r);
    range.forget_slab(*r);
    range.delete_bits(r->free_bits, shape.words);
    r->size_class = 0;
    if (r->pages == shape.pages) return supply().give(r);
    --closed_;
    supply().use(1);
    if (space().reopen(closed_page_of(*r), page_size)) return supply().give(r);
    // The system does not open the page: it becomes a closed run of its own. Without a record for
    // that, a fresh mapping replaces the whole run.
    run* const closed = runs().may_close(*r) ? runs().split(r, shape.pages) : nullptr;
    if (closed == nullptr) return supply().heal(r);
    supply().unuse(1);
    runs().make_closed(closed);
    supply().give(r);
  }

  /// As run_store::next_slab.
  [[nodiscard]] slab_place next_slab(slab_place from, step_budget& left) noexcept {
    const std::lock_guard guard(supply().mutex());
    return runs().next_slab(from, left);
  }
  [[nodiscard]] slab_place next_slab(slab_place from) noexcept {
    step_budget all = step_budget::without_end();
    return next_slab(from, all);
  }
  /// Returns: the slab of class `c` and of `side` that begins at `place`, null if there is none.
  /// Requires: the lock of that side is held. The result is valid while that lock is held.
  [[nodiscard]] run* slab_at(slab_place place, class_index c, std::uint8_t side = 0) noexcept {
    const std::lock_guard guard(supply().mutex());
    return runs().slab_at(place, c, side);
  }

  // ---- exact counting -------------------------------------------------------------------------

  /// Effects: from now on every block has a slack entry. Returns: false when memory was refused.
  [[nodiscard]] bool keep_slack() noexcept {
    const std::lock_guard guard(supply().mutex());
    return ranges().keep_slack();
  }

  /// Effects: calls visit(run, where it begins) for each slab and each large block, with the lock
  /// held, until it returns false. O(runs).
  template <class Visit>
  void for_each_in_use(Visit visit) noexcept {
    const std::lock_guard guard(supply().mutex());
    for (std::uint32_t i = 0; i < ranges().count(); ++i) {
      const page_range& range = ranges()[i];
      for (std::size_t page = 0; page < range.top;) {
        const run* r = range.run_at(page);
        if (r == nullptr) break;
        const bool in_use = r->kind == run_kind::slab || r->kind == run_kind::large;
        if (in_use && !visit(*r, address_of(*r))) return;
        page += r->pages;
      }
    }
  }

  /// Effects: stores `entry` in the slack table for every block that is in no slab's bitmap, and
  /// for every large one; a class's number is its place in `shapes`. Requires: keep_slack
  /// succeeded; no other thread is inside the heap. O(blocks).
  void mark_held(const slab_shape* shapes, std::uint16_t entry) noexcept {
    for_each_in_use([&](const run& r, const char* begin) {
      const page_range& range = runs().range_of(r);
      const std::uintptr_t at = number_of(begin);
      if (r.kind == run_kind::large) {
        range.slack_at(at) = entry;
        return true;
      }
      const slab_shape& shape = shapes[r.size_class];
      for (std::uint32_t b = 0; b < shape.blocks; ++b)
        if (!is_free(r, b)) range.slack_at(at + std::size_t{b} * shape.block_size) = entry;
      return true;
    });
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

  /// Effects: puts a free run of `pages` into memory, and keeps it there, with the tables for any
  /// blocks that are cut from it. The lock is open meanwhile. Returns: false when memory was
  /// refused.
  [[nodiscard]] bool prefault(std::size_t pages) noexcept {
    const std::lock_guard guard(supply().mutex());
    runs().populate();
    run* r = supply().take(pages, 1, growth::allowed);
    if (r == nullptr) return false;
    runs().set_kind(r, run_kind::purging);  // nobody's meanwhile, and not free
    const bool tables = runs().range_of(*r).prepare_tables(space(), pages);
    bool done = false;
    {
      const unlock_guard open(supply().mutex());
      done = tables && space().populate(address_of(*r), pages << page_shift);
    }
    supply().give(r);
    if (done) supply().keep_at_least(pages << page_shift);
    return done;
  }

  /// As page_supply::close_some, for a caller without the lock.
  [[nodiscard]] bool close_free(std::size_t pages) noexcept {
    const std::lock_guard guard(supply().mutex());
    return supply().close_some(pages);
  }

  /// Effects: [p, p + bytes), whole pages of a slab, is in memory if the system has it. Others may
  /// use it meanwhile.
  void populate(void* p, std::size_t bytes) noexcept {
    static_cast<void>(space().populate(p, bytes));
  }

  // ---- figures --------------------------------------------------------------------------------

  [[nodiscard]] page_heap_stats stats() noexcept {
    const std::lock_guard guard(supply().mutex());
    page_heap_stats s{large_.stats(), supply().counts()};
    s.closes_refused = closes_refused_;
    s.reserved_bytes = ranges().reserved_bytes();
    s.table_bytes = space().resident(slots_.entries(), slots_.committed_bytes());
    for (std::uint32_t i = 0; i < ranges().count(); ++i)
      s.table_bytes += ranges()[i].resident_table_bytes(space());
    return s;
  }

  /// Effects: checks the invariant of the whole structure; ends in a fault if it does not hold.
  /// O(pages). For tests and debugging.
  void audit() noexcept {
    const std::lock_guard guard(supply().mutex());
    if (runs().audit(name_) != supply().counts().used_pages + closed_)
      ashlar_fault({.kind = fault_kind::corrupted, .call = "audit", .pool = name_});
  }

 private:
  friend struct heap_layout;  // tells where the members are
  [[nodiscard]] run_store<Space>& runs() noexcept { return supply().runs(); }
  [[nodiscard]] auto& ranges() noexcept { return supply().runs().ranges(); }
  [[nodiscard]] const auto& ranges() const noexcept { return supply().runs().ranges(); }
  [[nodiscard]] sealable<Space>& space() noexcept { return supply().space(); }

  /// Returns: a run for a slab, with its bitmap and its marks; null when memory for one of them was
  /// refused. Requires: the lock is held.
  [[nodiscard]] run* take_with_tables(const slab_shape& shape, growth g) noexcept {
    const bool is_among_first = shape.blocks == 1 && large_.may_fence();
    const bool closes = is_among_first || (closed_ < closed_max_ && !space().is_sealed());
    run* const r = supply().take(shape.pages + std::size_t{closes}, 1, g);
    if (r == nullptr) return nullptr;
    page_range& range = runs().range_of(*r);
    const std::size_t end = std::size_t{r->first} + r->pages;
    const bool marked = range.have_marks(space(), mark_shift_of(shape.block_size), end);
    r->free_bits = marked ? range.new_bits(space(), shape.words) : nullptr;
    if (r->free_bits == nullptr) {
      supply().give(r);
      return nullptr;
    }
    if (closes) {
      ++closed_;
      supply().unuse(1);  // a closed page is in no memory
      if (is_among_first) large_.count_fence();
      // Where the system refuses, the page is just not used.
      if (!space().guard(closed_page_of(*r), page_size)) ++closes_refused_;
    }
    return r;
  }
  /// Returns: the last page of `r`, a slab's run that is longer than the slab.
  [[nodiscard]] void* closed_page_of(const run& r) const noexcept {
    return address_of(r) + (std::size_t{r.pages - 1} << page_shift);
  }

  [[nodiscard]] static std::uintptr_t number_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }

  [[nodiscard]] static class_index class_in(const page_range& range, const void* address) noexcept {
    return range.class_of.entries()[range.page_of(number_of(address))].size_class;
  }

  /// Returns: the range whose class table tells of `address`, or null; the address may lie where
  /// the range has no memory yet. Later ranges come and go, so looking for one takes the lock; what
  /// was found stays as long as a block in it is held. O(ranges).
  [[nodiscard]] const page_range* range_of(const void* address) noexcept {
    if (const page_range* first = ranges().first_if_holds(number_of(address)); first != nullptr)
      return first;
    const std::lock_guard guard(supply().mutex());
    return ranges().find(number_of(address));
  }

  /// Returns: the range that has memory at `address`, or null. Otherwise as range_of.
  [[nodiscard]] const page_range* owner_of(const void* address) noexcept {
    if (class_in_first(address) != 0) return ranges().first_if_holds(number_of(address));
    const std::lock_guard guard(supply().mutex());
    return ranges().find(number_of(address));
  }

  /// Returns: a number that nobody outside knows: the space's; where it has none, what its choice
  /// of addresses gives.
  [[nodiscard]] std::uint64_t draw_secret() noexcept {
    if constexpr (requires { space().secret(); }) {
      if (const std::uint64_t drawn = space().secret(); drawn != 0) return drawn;
    }
    const block_tables& tables = ranges().first_tables();
    return ((tables.origin ^ (std::uint64_t{tables.marks} << 20)) * 0x9e37'79b9'7f4a'7c15u) | 1u;
  }

  [[nodiscard]] static constexpr std::size_t slot_bytes(std::size_t slots) noexcept {
    return align_up(slots * sizeof(void*), page_size);
  }

  large_type large_;
  heap_keys keys_;
  grown_table<void*> slots_;  ///< of stashes, in the order of their first uses
  std::size_t slots_used_ = 0, slots_max_ = 0;
  std::size_t closed_ = 0;      ///< slabs with a closed page behind them
  std::size_t closed_max_ = 0;  ///< the most of them
  std::uint64_t closes_refused_ = 0;
  const char* name_ = nullptr;
};

}  // namespace ashlar::detail
