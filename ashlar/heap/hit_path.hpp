// heap/hit_path.hpp: a request that a cache serves by itself: what it reads, and all that it does.
// Layer: heap.
//
//   allocate(n):   size -> class (table) -> pop the stack of that class
//   deallocate(p): address -> page -> class (table) -> push on the stack of that class
//
// Law: a hit reads `cache_tops`, the tables and its stack, writes one slot, one top and one sign of
// the block's use (block_sign.hpp), and calls nothing. All else is a miss (basic_heap.hpp), also a
// free where no block in use starts, and an allocation of a block that was written to meanwhile.
// Invariant: both ends of a stack are null; thread_cache.hpp has the rest.
#pragma once

#include <cstddef>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/pages/block_sign.hpp>
#include <ashlar/pages/block_tables.hpp>
#include <ashlar/pages/run.hpp>

namespace ashlar::detail {

/// All that a hit reads or writes, but for the stacks, the marks and the keys. What each hit reads
/// shares one cache line with the tops of the smallest classes.
struct alignas(64) cache_tops {
  block_tables tables;  ///< of the first range
  block_sign sign;
  void** top[class_count];
};

inline constexpr std::size_t slots_total = 32 * 1024;  ///< of a cache (thread_cache.hpp)

/// So many slots behind a slot stands the address of its block's mark. A processor compares the low
/// 12 bits of a load's address with those of the stores that are under way, and lets the load wait
/// where they agree. A hit stores to a slot and loads the address of a mark, and hits in a row use
/// slots that are near each other. So the two are half of 4 KiB apart in these bits. One cache line
/// more keeps the slots of one stack and the marks of another, whose rooms are powers of two, out
/// of the same lines.
inline constexpr std::size_t mark_distance = slots_total + (2048 + 64) / sizeof(void*);
static_assert(mark_distance * sizeof(void*) % 4096 >= 1024 &&
                  mark_distance * sizeof(void*) % 4096 <= 3072,
              "a slot and the address of its mark are aliases, or nearly");

/// Returns: the top of stack `c`. Its address is in a register before it is used: a processor may
/// guess that a load finds what a store has just written before it knows both addresses. Intel's do
/// where neither names an index. A free's is known last, behind the class of the block that the
/// malloc before has popped. Each empty asm hides a value, so that no compiler names an index.
[[nodiscard]] ASHLAR_HOT void**& top_of(cache_tops& tops, class_index c) noexcept {
  std::size_t number = c;
  __asm__("" : "+r"(number));
  void*** at = tops.top + number;
  __asm__("" : "+r"(at));
  return *at;
}

/// Returns: where the address of the mark of a slot's block stands.
[[nodiscard]] ASHLAR_HOT void*& mark_beside(void** slot) noexcept { return slot[mark_distance]; }

/// Effects: `top`, which the caller has read and compared, is `next`. The store is a plain one: an
/// addition in memory, which compilers prefer, reads the top again, and each hit would wait for the
/// store of the hit before it twice. The empty asm hides where `next` comes from.
ASHLAR_HOT void step_to(void**& top, void** next) noexcept {
  __asm__("" : "+r"(next));
  top = next;
}

/// The hits of a heap whose classes are `Classes` (class_table.hpp). Every function that takes
/// `tops` must be called by the one owner of the cache that they belong to.
template <class Classes>
class hit_path {
 public:
  /// Returns: a block of at least `size` bytes, aligned to 16; null if that is for a miss path to
  /// do: the stack is empty, or the size has no class. Never calls anything.
  [[nodiscard]] ASHLAR_HOT static void* try_allocate(cache_tops& tops, std::size_t size) noexcept {
    if (size >= Classes::hit_end()) [[unlikely]]
      return nullptr;
    return pop(tops, Classes::of_size(size));
  }
  /// Effects: puts `block` on its stack. Returns: false if that is for `deallocate_slow` to do: the
  /// stack is full, the block is large or null, or not in use. Never calls anything.
  [[nodiscard]] ASHLAR_HOT static bool try_deallocate(cache_tops& tops, void* block) noexcept {
    return push(tops, tops.tables.page_of(block), block);
  }
  /// As above for a caller that knows the block's class. It is compared, not believed: a wrong size
  /// can put no block on a wrong stack. Returns: false also when `c` is 0 or not the block's class.
  [[nodiscard]] ASHLAR_HOT static bool try_deallocate(cache_tops& tops, void* block,
                                                      class_index c) noexcept {
    if (c == 0 || tops.tables.class_of(block) != c) [[unlikely]]
      return false;
    return push(tops, {c, Classes::mark_shift(c)}, block);
  }

  /// As above for a caller who is trusted: no misuse is seen. The class is looked up all the same:
  /// a block of a later range has its mark in other tables. Requires: `block` is in use, and `c` is
  /// its class, or 0. Returns: false if the stack is full, it is of a later range, or `c` is 0.
  [[nodiscard]] ASHLAR_HOT static bool try_deallocate_trusted(cache_tops& tops, void* block,
                                                              class_index c) noexcept {
    if (tops.tables.class_of(block) != c) [[unlikely]]
      return false;
    return push<false>(tops, {c, Classes::mark_shift(c)}, block);  // class 0's is full always
  }

 protected:
  /// Returns: the block on top of stack `c`, which it leaves; null if the stack is empty, or among
  /// others if that block has not its key.
  [[nodiscard]] ASHLAR_HOT static void* pop(cache_tops& tops, class_index c) noexcept {
    void**& top = top_of(tops, c);
    void** const slot = top - 1;
    void* const block = *slot;
    const auto leave = [&]() ASHLAR_HOT_LAMBDA { step_to(top, slot); };
    if (block == nullptr || !tops.sign.wake(mark_beside(slot), block, leave)) [[unlikely]]
      return nullptr;
    return block;
  }
  /// Effects: puts `block`, which `page` holds, on its stack; nothing if the stack is full, or
  /// `Looks` and no block of the class that is in use starts there. Returns: whether it did.
  template <bool Looks = true>
  [[nodiscard]] ASHLAR_HOT static bool push(cache_tops& tops, page_class page,
                                            void* block) noexcept {
    void**& top = top_of(tops, page.size_class);
    void** const slot = top;
    if (*slot == nullptr) [[unlikely]]
      return false;
    block_mark* const mark = tops.tables.mark_at(block, page.mark_shift);
    if (!tops.sign.put_to_rest<Looks>(mark, mark_beside(slot), block)) [[unlikely]]
      return false;
    *slot = block;
    step_to(top, slot + 1);
    return true;
  }
};

}  // namespace ashlar::detail
