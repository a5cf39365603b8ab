// runtime/created_blocks.hpp: what one face has created of the heap's blocks, and has in use.
// Layer: runtime.
//
// The classic allocators keep every block that they once created, so they know two figures of each
// block size: blocks created, and those of them in use. This file keeps the same two figures for
// xmalloc's family, although the heap underneath shares its blocks with other faces.
//
//   an allocation   uses a block that is free; if there is none, it creates one
//   a free          makes a block free
//
// A hit counts without an atomic operation: each thread counts the free blocks of a size in a byte
// of its own. A byte that is full gives some of its blocks to all threads, and one that is empty
// takes some from there. So a thread rests on 127 free blocks of a size at most, and only those are
// uncertain for others: they seem to be in use, and another thread may create blocks in their
// place.
//
// Invariant, for each class: created - in use == free of all threads + free of each thread.
// Thread-safety: any thread may call any function at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/runtime/process_thread.hpp>

namespace ashlar::runtime {

/// What one block size has come to.
struct created_count {
  std::uint64_t created = 0;  ///< the most that were ever in use at once, as far as is known
  std::uint64_t in_use = 0;
};

/// The figures of one face. An object of static storage; all zero bits before use.
class created_blocks {
 public:
  using cache = process_heap::cache;

  /// Effects: counts an allocation by a hit path, of `block` of class `c`. Returns: block, so that
  /// the miss is a tail call. Requires: the calling thread has a cache, as it has after a hit.
  [[nodiscard]] ASHLAR_HOT void* hit(void* block, class_index c) noexcept {
    std::int8_t& free = owner_part::of(cache::of(tops())).created_free[c];
    if (--free < 0) [[unlikely]]
      return take_slow(block, free, c);
    return block;
  }
  /// Effects: counts a free by a hit path. Requires: as hit.
  ASHLAR_HOT void freed_by_hit(class_index c) noexcept {
    std::int8_t& free = owner_part::of(cache::of(tops())).created_free[c];
    if (++free < 0) [[unlikely]]  // the byte was full
      return give_slow(free, c);
  }

  /// Effects: counts an allocation of class `c`, of a block without a class if that is 0.
  void allocated(class_index c) noexcept;
  /// Effects: counts a free.
  void freed(class_index c) noexcept;

  /// Effects: what the cache counted is everybody's. Requires: its thread counts nothing in it any
  /// more.
  void thread_ends(cache& own) noexcept;

  /// Effects: the figures are in memory: a sealed heap has no page fault for them.
  void populate() noexcept {
    for (auto& f : figures_) f.free.fetch_add(0, std::memory_order_relaxed);
  }

  /// Returns: the figures of class `c`, exact for the calling thread and for those that have ended.
  [[nodiscard]] created_count of(class_index c) const noexcept;

  /// The most free blocks of a size that a thread rests on.
  static constexpr std::int8_t free_max = 127;

 private:
  /// `free`: the thread's count, below 0 now. A handler may hit while self.own is null.
  ASHLAR_COLD void* take_slow(void* block, std::int8_t& free, class_index c) noexcept;
  ASHLAR_COLD void give_slow(std::int8_t& free, class_index c) noexcept;
  /// Returns: how many blocks, `most` at most, are free no longer.
  std::int8_t take_free(class_index c, std::int8_t most) noexcept;

  struct figures {
    std::atomic<std::uint64_t> created{0};
    std::atomic<std::uint64_t> free{0};
  };
  figures figures_[class_count];
};

/// What xmalloc's family has created.
extern constinit created_blocks xmalloc_blocks;

/// Returns: the class that a block of the heap counts as, the same from its allocation to its free:
/// 0 for a block without a class, and for an address that is nobody's. Never ends in a fault.
[[nodiscard]] class_index counted_class(const void* block) noexcept;

/// Returns: threads, other than the calling one, that may rest on free blocks.
[[nodiscard]] std::size_t other_threads() noexcept;

}  // namespace ashlar::runtime
