// heap/central_side.hpp: one side of a class: its lock, its stash and its slabs.
// Layer: heap.
//
//   take   blocks leave: from the stash as they came, whole batches by one memcpy; else from slabs
//   give   blocks come back: into the stash; what it cannot hold is sorted back into its slabs
//
// Blocks of the other side's slabs that are to be sorted back here are strays: whoever sorts takes
// them there when it has opened this side's lock (central.hpp).
//
// Invariant: a slab whose `side` is this one's number is in `slabs`.
// Thread-safety: anyone may call take, give and has_free; for all else who calls has the lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/heap/block_stash.hpp>
#include <ashlar/heap/block_use.hpp>
#include <ashlar/heap/slab_lists.hpp>
#include <ashlar/pages/page_heap.hpp>
#include <ashlar/pages/run.hpp>
#include <ashlar/pages/slab.hpp>
#include <ashlar/pages/step_budget.hpp>

namespace ashlar::detail {

/// What both sides of a class share.
template <class Pages>
struct central_kind : slab_kind {
  Pages* pages = nullptr;
  std::size_t steady_slabs = SIZE_MAX;  ///< further slabs are put into memory whole
  std::uint32_t stash_capacity = 0;

  [[nodiscard]] block_use<Pages> use() const noexcept {
    return block_use<Pages>(*pages, mark_shift_of(shape->block_size));
  }
};

/// Where blocks of a cache go: to the stash, or past it to their slabs. The second is for a caller
/// about to sort stashes back, who would only fault in the stash's pages for nothing.
enum class resting_place : bool { stash, slabs };

/// What may serve a batch: this one, and before it those above.
enum class batch_source : std::uint8_t {
  stash,
  used_slabs,  ///< those whose pages are all in memory
  slabs,
  free_pages,  ///< as a new slab
  growth
};

/// A batch that is taken: up to `count` blocks go to out[-1], out[-2], ...
struct taken_batch {
  void** out;
  std::size_t count;
  batch_start start;
  char* steady = nullptr;  ///< a slab that is to be put into memory
  bool keyed = false;      ///< the blocks are to get keys
};

/// Blocks that are sorted back while the lock is held, of a stash.
inline constexpr std::size_t sorted_at_once = 128;

/// Blocks that one side sorts back, and what it found.
struct sorted_blocks {
  explicit sorted_blocks(bool keeps) noexcept : keeps_slabs(keeps) {}
  static constexpr std::size_t strays_max = sorted_at_once;

  bool keeps_slabs;  ///< empty slabs may rest
  misused_block bad;
  std::size_t strays = 0;   ///< so many blocks are of the other side's slabs,
  void* stray[strays_max];  ///< these
};

/// On cache lines of its own, two: where sides shared a line, lists of two threads took an eighth
/// longer.
template <address_space Space, class Mutex>
class alignas(64) central_side {
 public:
  using pages_type = page_heap<Space, Mutex>;
  using kind = central_kind<pages_type>;

  /// Returns: whether there is a block to give, at some recent moment.
  [[nodiscard]] bool has_free() const noexcept { return stash.count() + slabs.listed() != 0; }

  /// Effects: takes up to `to.count` blocks, from one source, `last` at the latest. From slabs it
  /// takes until `left` is spent. Returns: how many.
  [[nodiscard]] ASHLAR_MISS std::size_t take(const kind& of, const central_side& other,
                                             taken_batch& to, batch_source last,
                                             step_budget& left) noexcept {
    const std::lock_guard guard(mutex);
    std::size_t got = stash.take(to.out, to.count);
    to.keyed = false;
    if (got == 0 && last != batch_source::stash) {
      to.keyed = of.pages->keys().are_in_use();  // not before it has the lock
      got = take_from_slabs(of, other, to, last, left);
    }
    if (got == 0) return 0;
    taken += got;
    // Of the other side at some recent moment; strays that it has set aside count as held.
    const std::size_t all_taken = taken.get() + other.taken.get();
    const std::size_t all_given = given.get() + other.given.get();
    if (all_taken > all_given) held_peak = std::max(held_peak, all_taken - all_given);
    return got;
  }

  /// Effects: blocks come back: what fits into the stash, unless they are for the slabs, then
  /// others until `left` is spent, one at least. Returns: how many are dealt with, the first ones.
  [[nodiscard]] std::size_t give(const kind& of, void* const* blocks, std::size_t count,
                                 resting_place to, sorted_blocks& how, step_budget& left) noexcept {
    const std::lock_guard guard(mutex);
    if (to == resting_place::slabs) return put_into_slabs(of, blocks, count, how, left);
    if (!stash.is_placed()) [[unlikely]]
      place_stash(of);
    std::size_t done = stash.give(blocks, count);
    given += done;
    if (done != count && (done == 0 || left.is_left()))
      done += put_into_slabs(of, blocks + done, count - done, how, left);
    return done;
  }

  /// Effects: sorts back some of the `count` blocks of the stash below the one at `end`, up to the
  /// first misuse, which is dropped, or until `left` is spent. As many from the top take their
  /// place. Returns: how many left, not 0. Requires: 0 < count <= end.
  [[nodiscard]] std::size_t sort_back(const kind& of, std::size_t end, std::size_t count,
                                      sorted_blocks& how, step_budget& left) noexcept {
    const std::size_t done = put_into_slabs(of, stash.at(end - count), count, how, left);
    given -= done;  // those that were blocks are counted once more
    stash.drop(end, count, done);
    return done;
  }

  /// Effects: puts blocks into slabs. Stops behind the first misuse, which is dropped and is
  /// `how.bad`, when `left` is spent, or when how.stray is full. Returns: how many are dealt with,
  /// one at least, the dropped one included. Requires: count != 0.
  [[nodiscard]] std::size_t put_into_slabs(const kind& of, void* const* blocks, std::size_t count,
                                           sorted_blocks& how, step_budget& left) noexcept {
    // Copies: the stores to bitmaps would make the compiler load the originals again and again.
    const slab_shape shape = *of.shape;
    const bool keyed = of.pages->keys().are_in_use();
    const block_use<pages_type> uses = of.use();
    step_budget rest = left;
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
        r = slab_of(of, blocks[i], base);
      if (r != nullptr && r->side != number && how.strays != sorted_blocks::strays_max) {
        take_signs();
        how.stray[how.strays++] = blocks[i++];
        signed_from = i;  // its own go where it is sorted
        ++strays;
        rest.spend<Space>(step::stretch_sorted);
        rest.spend<Space>(step::block_sorted);
        rest.spend<Space>(step::slab_left);
        continue;
      }
      if (r == nullptr || r->side != number) [[unlikely]] {
        if (r == nullptr || i == 0) how.bad = {fault_kind::not_in_use, blocks[i]};
        break;
      }
      const std::size_t put = put_stretch(
          *r, shape, base, blocks + i,
          rest.steps_left(step::block_sorted, std::min(count - i, stretch_blocks_max)), how.bad);
      if (put == 0) [[unlikely]]
        break;
      rest.spend<Space>(step::stretch_sorted);
      rest.spend<Space>(step::block_sorted, put);
      i += put;
      if (r->free_blocks == shape.blocks && !slab_lists::is_in_purge(*r) &&
          !(how.keeps_slabs && of.may_keep_one_more())) [[unlikely]] {
        take_signs();
        rest.spend<Space>(step::slab_left);
        remove_slab(of, r);
        r = nullptr;
      } else {
        slabs.relink(*r, of);
      }
    } while (i < count && rest.is_left());
    take_signs();
    left = rest;
    given += i - strays;
    return how.bad.address == nullptr ? i : i + 1;
  }

  /// Effects: `r`, whose blocks are all free, goes back to the pages.
  ASHLAR_MISS void remove_slab(const kind& of, run* r) noexcept {
    slabs.remove(*r, of);
    of.pages->delete_slab(r, *of.shape);
  }

  /// Effects: the stash has its slots, unless memory is refused: then its blocks go to their slabs.
  ASHLAR_COLD void place_stash(const kind& of) noexcept {
    const std::size_t capacity = of.stash_capacity;
    void** const slots = capacity != 0 ? of.pages->new_slots(capacity) : nullptr;
    if (slots != nullptr) stash.place(slots, capacity);
  }

  typename ranked<Mutex, lock_rank::central>::type mutex;
  std::uint8_t number = 0;
  block_stash stash;
  locked_count<std::size_t> taken, given;  ///< blocks that ever went to caches, and came back
  std::size_t held_peak = 0;               ///< of both sides, as this one saw them
  slab_lists slabs;

 private:
  static constexpr std::size_t keyed_bytes_max = 16 * 1024;

  [[nodiscard]] std::size_t take_from_slabs(const kind& of, const central_side& other,
                                            taken_batch& to, batch_source last,
                                            step_budget& left) noexcept {
    const slab_shape& shape = *of.shape;
    // Keys put blocks in memory.
    const std::size_t count =
        to.keyed ? std::min(to.count, std::max<std::size_t>(keyed_bytes_max / shape.block_size, 1))
                 : to.count;
    std::size_t got = 0;
    while (got != count && (got == 0 || left.is_left())) {
      run* r = slabs.fullest();
      // A short batch is better than a new slab: memory grows only when nothing else is left.
      if (r == nullptr && got == 0 && last >= batch_source::free_pages)
        r = add_slab(of, other, last == batch_source::growth ? growth::allowed : growth::refused,
                     to.steady);
      if (r == nullptr || (r->absent != 0 && last == batch_source::used_slabs)) break;
      char* const base = of.pages->address_of(*r);
      void** const end = to.out - got;
      const std::uint32_t from = begin_word(*r, shape.words, to.start);
      const std::size_t some = take_blocks(*r, shape, base, end, count - got, from);
      got += some;
      left.spend<Space>(step::slab_taken_from);
      left.spend<Space>(step::word_passed, shape.words);
      if ((r->seen_free | r->absent) != 0)
        slabs.take_pages(
            *r, pages_from_to(shape, base, end[-1], end[-static_cast<std::ptrdiff_t>(some)]));
      slabs.relink(*r, of);
    }
    return got;
  }

  /// Effects: `steady` is where the slab begins if it is to be put into memory.
  [[nodiscard]] run* add_slab(const kind& of, const central_side& other, growth g,
                              char*& steady) noexcept {
    run* r = of.pages->new_slab(of.size_class, *of.shape, g, number);
    if (r == nullptr) return nullptr;
    note_steps<Space>(step::slab_made, 1);
    if (slabs.count() + other.slabs.count() >= of.steady_slabs && r->absent != 0) {
      steady = of.pages->address_of(*r);
      r->absent = 0;
    }
    slabs.add(*r, of, other.slabs.count());
    return r;
  }

  /// Returns: the pages of a slab from block `lowest` to block `highest`: take_blocks leaves none
  /// between them.
  [[nodiscard]] static page_set pages_from_to(const slab_shape& shape, const char* base,
                                              const void* lowest, const void* highest) noexcept {
    const auto page_of = [base](const void* block, std::size_t byte) {
      const auto offset = static_cast<std::size_t>(static_cast<const char*>(block) - base) + byte;
      return static_cast<unsigned>(offset >> page_shift);
    };
    return pages_between(page_of(lowest, 0), page_of(highest, shape.block_size - 1) + 1);
  }

  /// Returns: the slab that page_heap::slab_of finds; null if it is of this side and of another
  /// class. A slab of the other side may go meanwhile, if `block` is no block in use.
  [[nodiscard]] run* slab_of(const kind& of, const void* block, char*& base) const noexcept {
    run* const r = of.pages->slab_of(block, of.size_class, base);
    return r != nullptr && r->side == number && r->size_class != of.size_class ? nullptr : r;
  }
};

}  // namespace ashlar::detail
