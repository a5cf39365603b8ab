// heap/thread_cache.hpp: a thread's own free blocks, one stack of addresses per size class.
// Layer: heap.
//
//   slots of class c:  | null | block | block | ... | stale | stale | null |
//                      bottom                 ^ top[c]              ^ limit (moves as it grows)
//
// Both ends are null, so popping and noticing "empty" are one load, and pushing looks for "full" in
// the slot that it is about to write: no hit reads a limit. What was popped stays in its slot,
// stale, so no slot between the ends is null. A stack that was never used is closed: it has no
// room, and shares two null slots with all others that have none.
//
// A stack gets its room when it opens or grows, behind the last room, and the slot behind a room is
// the next one's bottom. So a thread that uses every class a little touches few pages. A stack that
// outgrows its room moves, unless its room is the last; what it leaves is lost until the cache
// starts anew, which is less than what it moves to. A stack that closes keeps its room, and opens
// and grows in it again.
//
// While the owner is alone in the heap, the address of each block's mark (block_sign.hpp) stands
// `mark_distance` behind its slot. So a hit that pops the block need not look for it.
//
// Invariant: every address on stack c is a free block of class c that no other stack and no bitmap
// knows; it has no mark, or has its key; bottom + 1 <= top[c] <= limit == bottom + 1 + capacity <=
// bottom + 1 + room; a slot in [bottom, limit] is null iff it is an end, and so is the slot behind
// the room. capacity == 0 iff the stack is closed. opened_bytes + capacity_bytes is the sum of
// capacity * block size.
// Thread-safety: none; one owner at a time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/hit_path.hpp>
#include <ashlar/pages/heap_keys.hpp>

namespace ashlar::detail {

/// A stack is bounded by count and by bytes, whichever is less, but for two blocks at least; it
/// starts small and doubles when it proves too small, so a thread that allocates little holds
/// little.
inline constexpr std::uint16_t cached_blocks_max = 512;
inline constexpr std::size_t cached_bytes_max = 128 * 1024;
/// The same of blocks with a slab each, which a miss makes and removes.
inline constexpr std::size_t cached_lone_bytes_max = 512 * 1024;
inline constexpr std::size_t cached_bytes_first = 4 * 1024;
inline constexpr std::size_t cached_blocks_min = 2;
/// The same of a stack whose owner only allocates, and of one whose owner only frees.
inline constexpr std::size_t built_bytes_max = 16 * 1024;
inline constexpr std::size_t freed_bytes_max = 8 * 1024;

constexpr std::uint16_t cache_capacity(std::size_t block_size, std::size_t bytes) noexcept {
  return static_cast<std::uint16_t>(
      std::clamp<std::size_t>(bytes / block_size, cached_blocks_min, cached_blocks_max));
}

/// What a stack holds at most.
constexpr std::uint16_t most_capacity(std::size_t block_size) noexcept {
  return cache_capacity(
      block_size, block_size > shared_slab_block_max ? cached_lone_bytes_max : cached_bytes_max);
}

/// What a stack holds at first. Blocks with a slab each cost most: one.
constexpr std::uint16_t first_capacity(std::size_t block_size, std::size_t bytes) noexcept {
  if (block_size > shared_slab_block_max) return 1;
  return std::min(cache_capacity(block_size, bytes), most_capacity(block_size));
}

/// Slots for every stack of a standard class to double from its first room to its largest, each
/// time in a new room, and two for the stacks that are closed. With other classes stacks may run
/// out of slots, and stay as they are.
static_assert(slots_total >= [] {
  std::size_t slots = 2;
  for (std::size_t c = 1; c < class_count; ++c) {
    const std::size_t most = most_capacity(block_sizes[c]);
    for (std::size_t room = first_capacity(block_sizes[c], cached_bytes_first); room < most;
         room *= 2)
      slots += room + 1;
    slots += most + 1;
  }
  return slots;
}());
static_assert(slots_total <= UINT16_MAX + std::size_t{1});

/// Why a stack proved too small.
enum class miss : std::uint8_t { empty = 1, full = 2 };
inline constexpr std::uint8_t both_misses = 3;

/// The owner's data that other threads read. They are here because a thread's own memory can be
/// gone before anybody knows that the thread has ended.
struct owner_bytes {
  alignas(void*) std::byte bytes[192];
};

struct thread_cache {
  /// Effects: makes every stack empty and closed. Requires: zeroed memory, or that of a cache.
  void start(const block_tables& of_heap) noexcept {
    tops.tables = of_heap;
    tops.sign.use(0);
    for (std::size_t i = 0; i < class_count; ++i) {
      const auto c = static_cast<class_index>(i);
      bottom_slot[c] = closed_bottom;
      tops.top[c] = first(c);
      capacity[c] = opened_with[c] = room[c] = 0;
      misses[c] = 0;
    }
    of_owner = {};
    last_limit = closed_bottom + 1;
    looked_at = 0;
    handed_over = 0;
    sorting_round = 0;
    stacks_to_sort = 0;
    opened_bytes = capacity_bytes = 0;
    moved_blocks = 0;
  }

  /// Returns: the cache that has these tops.
  [[nodiscard]] ASHLAR_HOT static thread_cache& of(cache_tops& its) noexcept {
    static_assert(offsetof(thread_cache, tops) == 0);
    return reinterpret_cast<thread_cache&>(its);
  }

  [[nodiscard]] bool uses_keys() const noexcept { return tops.sign.secret() != 0; }
  /// Effects: from now on the owner's hits use keys, not marks. Any thread may call it.
  void use_keys(const heap_keys& keys) noexcept { tops.sign.use(keys.secret()); }

  [[nodiscard]] void** bottom(class_index c) noexcept { return slots + bottom_slot[c]; }
  [[nodiscard]] void** first(class_index c) noexcept { return bottom(c) + 1; }
  [[nodiscard]] void**& top(class_index c) noexcept { return tops.top[c]; }
  [[nodiscard]] void** limit(class_index c) noexcept { return first(c) + capacity[c]; }
  [[nodiscard]] std::size_t count(class_index c) noexcept {
    return static_cast<std::size_t>(top(c) - first(c));
  }

  /// Effects: `count` blocks and their marks move from one place to another, which may overlap.
  static void move_slots(void** to, void** from, std::size_t count) noexcept {
    if (to == from || count == 0) return;
    std::memmove(to, from, count * sizeof(void*));
    std::memmove(&mark_beside(to), &mark_beside(from), count * sizeof(void*));
  }

  /// Effects: the blocks of two slots and their marks change places.
  static void swap_slots(void** a, void** b) noexcept {
    std::swap(*a, *b);
    std::swap(mark_beside(a), mark_beside(b));
  }

  [[nodiscard]] bool is_open(class_index c) const noexcept { return capacity[c] != 0; }

  /// Returns: bytes of the blocks that all stacks together have room for.
  [[nodiscard]] std::size_t room_bytes() const noexcept { return opened_bytes + capacity_bytes; }

  /// Effects: gives a closed stack room for `blocks`, not 0, of `block_size` bytes. Returns: false,
  /// with nothing changed, when there are no slots. O(blocks).
  bool open(class_index c, std::size_t block_size, std::uint16_t blocks) noexcept {
    if (!set_capacity(c, blocks)) return false;
    opened_with[c] = blocks;
    opened_bytes += block_size * blocks;
    misses[c] = 0;
    return true;
  }

  /// Effects: the stack takes no block from now on, until it is opened again. Requires: it is
  /// empty.
  void close(class_index c, std::size_t block_size) noexcept {
    opened_bytes -= block_size * opened_with[c];
    capacity_bytes -= block_size * (capacity[c] - opened_with[c]);
    capacity[c] = opened_with[c] = 0;
    *first(c) = nullptr;
  }

  /// Effects: notes that stack `c`, of blocks of `block_size`, proved too small. Returns: how many
  /// blocks it should hold now: twice as many, up to its maximum. Beyond `built_bytes_max` or
  /// `freed_bytes_max` a stack grows only when it was both empty and full since it last grew: a
  /// thread that only frees what others allocate would fill any room it gets, and gain nothing.
  /// Requires: it is open.
  [[nodiscard]] std::uint16_t wanted(class_index c, std::size_t block_size, miss what) noexcept {
    misses[c] |= static_cast<std::uint8_t>(what);
    const std::uint16_t most = most_capacity(block_size);
    const auto twice = static_cast<std::uint16_t>(std::min<int>(most, capacity[c] * 2));
    const std::size_t one_way = what == miss::empty ? built_bytes_max : freed_bytes_max;
    return twice * block_size > one_way && misses[c] != both_misses ? capacity[c] : twice;
  }

  /// Returns: how many blocks come at once where stack `c` is empty, or leave where it is full:
  /// half of what it holds; all if since it last grew it was never the other: its owner builds
  /// something, or takes it down. Requires: it is open.
  [[nodiscard]] std::size_t batch(class_index c, miss what) const noexcept {
    const std::size_t all = capacity[c];
    return misses[c] == static_cast<std::uint8_t>(what) ? all : (all + 1) / 2;
  }

  /// Effects: the stack takes `blocks`, no fewer than now. Returns: false, with nothing changed,
  /// when there are no slots. Requires: it is open. O(blocks).
  bool grow(class_index c, std::size_t block_size, std::uint16_t blocks) noexcept {
    const std::size_t more = block_size * (blocks - capacity[c]);
    if (!set_capacity(c, blocks)) return false;
    misses[c] = 0;
    capacity_bytes += more;
    return true;
  }

  cache_tops tops;  ///< first: hits reach this part alone
  /// Blocks on stack c when its owner last left the hit path: what statistics may read from
  /// elsewhere.
  std::atomic<std::uint32_t> published[class_count];
  std::uint16_t capacity[class_count];
  std::uint16_t opened_with[class_count];  ///< the capacity before it grew
  std::uint16_t room[class_count];         ///< slots between the ends, used or not
  std::uint8_t misses[class_count];        ///< of either kind since the stack last grew
  std::uint16_t bottom_slot[class_count];
  std::uint16_t last_limit;      ///< the slot behind the last room
  class_index looked_at;         ///< the stack that the owner last looked at for room to take
  std::uint8_t side;             ///< of the centrals' stashes, that the owner uses first
  std::uint8_t handed_over;      ///< blocks that the owner left to their slabs
  std::uint32_t sorting_round;   ///< the last in which the owner sorted back (reclaimer.hpp)
  std::uint16_t stacks_to_sort;  ///< stacks still to check in that round
  std::size_t opened_bytes;      ///< that open stacks had room for before they grew
  std::size_t capacity_bytes;    ///< that `grow` has added to open stacks
  std::size_t moved_blocks;      ///< that came from the centrals and went there since the start
  thread_cache* next;            ///< in the heap's list of caches, or of spare ones
  thread_cache* previous;
  owner_bytes of_owner;                      ///< zero for a new owner; nothing here uses it
  void* slots[slots_total + mark_distance];  ///< and the marks of the blocks in them

 private:
  static constexpr std::uint16_t closed_bottom = 0;

  /// Effects: the stack takes `blocks`, no fewer than it holds, and holds the same ones.
  /// Returns: false, with nothing changed, when there are not so many slots any more. O(blocks).
  bool set_capacity(class_index c, std::uint16_t blocks) noexcept {
    if (blocks > room[c] && !move_to_room(c, blocks)) return false;
    capacity[c] = blocks;
    std::fill(top(c), limit(c), static_cast<void*>(this));
    *limit(c) = nullptr;
    return true;
  }

  bool move_to_room(class_index c, std::uint16_t blocks) noexcept {
    const bool is_last = room[c] != 0 && first(c) + room[c] == slots + last_limit;
    const std::size_t begin = is_last ? bottom_slot[c] : last_limit;
    if (begin + 1 + blocks >= slots_total) return false;
    const std::size_t held = count(c);
    void** const from = first(c);
    bottom_slot[c] = static_cast<std::uint16_t>(begin);
    last_limit = static_cast<std::uint16_t>(begin + 1 + blocks);
    room[c] = blocks;
    move_slots(first(c), from, held);
    top(c) = first(c) + held;
    return true;
  }
};
static_assert(std::is_standard_layout_v<thread_cache>, "else there is no offsetof");

}  // namespace ashlar::detail
