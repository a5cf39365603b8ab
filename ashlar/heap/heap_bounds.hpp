// heap/heap_bounds.hpp: how much a heap may take, and how much of that may rest where it is not
// shared.
// Layer: heap.
//
// The defaults are a heap's that has the machine to itself. A heap with a budget holds back less in
// proportion, so that nearly all of its budget can be had by any thread and any class:
//
//   resting place          bound, the lesser of     with a budget B
//   all caches together    T = 5 MiB a processor    T = the same, or B / 8
//   a stash (two a class)  16 MiB                   B / 32
//   all empty slabs        16 MiB                   B / 32
//   what a cache keeps     every class              classes up to B / 1024,
//                                                   above 32 KiB to B / 8192
//
// n caches share T evenly: each may hold S = T / n, blocks up to S / 8, and a stack of it S / 32 or
// 4 KiB at first. Stacks grow, all together, to half of what callers and caches hold, large blocks
// included; each cache by 512 KiB in any case (cache_bytes_min).
//
// A cache comes back to its share at its misses. The cache of a thread that is idle cannot be
// reached, and holds what its share was at its last miss. In the order in which they began, the
// k-th of N caches that exist has shared with the k - 1 before it at least, so all together never
// hold more than
//
//   T * (1 + 1/2 + ... + 1/N)  <=  T * (1 + ln N)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/thread_cache.hpp>
#include <ashlar/pages/step_budget.hpp>

namespace ashlar {

struct heap_bounds {
  /// Pages of slabs (whole ones) and large blocks in use, and free pages that keep their memory.
  /// Not the heap's own tables.
  std::size_t budget_bytes = SIZE_MAX;
  /// What all caches together may hold for each processor, shared out evenly.
  std::size_t caches_bytes = 5 * 1024 * 1024;
  /// What each cache may grow by within its share, however little the heap has handed out.
  std::size_t cache_bytes_min = 512 * 1024;
  /// What a stack of a new cache holds.
  std::size_t stack_bytes_first = detail::cached_bytes_first;
  /// The largest block that a cache keeps at all.
  std::size_t cached_block_max = small_size_max;
  /// What a stash holds.
  std::size_t stash_bytes = 16 * 1024 * 1024;
  /// What all stashes must hold to be sorted back before the heap grows.
  std::size_t settle_bytes_min = 512 * 1024;
  /// A class with so many slabs grows steadily. Each further one is put into memory when it is
  /// made: one system call instead of a page fault for each page. Blocks above a page may stay
  /// empty, so not theirs.
  std::size_t steady_slabs = 32;
  /// A block that was freed last stays out of its slab, so that a second free of it is told as one:
  /// no cache drains, and none leaves blocks of other threads to their slabs.
  bool freed_blocks_rest = false;
  /// Slabs whose pages one scan looks at: half a GiB of them. The next scan goes on there.
  std::size_t slabs_a_scan = 8192;

  /// Blocks that a stack holds. A batch is half of it.
  std::uint16_t stack_blocks_max = detail::cached_blocks_max;
  /// What a miss may spend on sorting, looking and giving back (step_budget.hpp). Instructions.
  std::size_t instructions_a_call = 11'000;

  /// Returns: instructions that a malloc or a free takes at most beside system calls, waiting for
  /// locks and, in a realloc or calloc, copying and clearing. x86-64, gcc. docs/latency.md says
  /// what it covers.
  [[nodiscard]] constexpr std::size_t most_instructions() const noexcept {
    // A miss, in a heap with one range; a slab that it makes; stacks that move; stashes and stacks
    // that are summed up before growth; what the call may spend; the last step of that.
    return 1'750 + detail::cost_of(detail::step::slab_made) + 2 * std::size_t{stack_blocks_max} +
           (sums_before_growth() ? class_count * std::size_t{20} : 0) + instructions_a_call +
           detail::dearest_step;
  }
  [[nodiscard]] constexpr bool sums_before_growth() const noexcept {
    return settle_bytes_min != SIZE_MAX;
  }

  static constexpr std::size_t stash_bytes_min = 4096;

  /// Returns: what all caches together may hold on a machine with so many processors.
  [[nodiscard]] constexpr std::size_t caches_total(std::size_t processors) const noexcept {
    return std::min(caches_bytes * processors, budget_bytes / 8);
  }
  /// Returns: the largest block that a cache with this share keeps. A stack holds two at least.
  [[nodiscard]] static constexpr std::size_t block_max_of_share(std::size_t share) noexcept {
    return share / 8;
  }
  /// Returns: what a stack holds at first, or less, in a cache with this share.
  [[nodiscard]] static constexpr std::size_t stack_bytes_of_share(std::size_t share) noexcept {
    return share / 32;
  }

  /// Returns: bounds for calls that do little each: small batches, little work, stashes that wait
  /// for a scan, and no slab put into memory at once. The heap takes more memory and more misses.
  [[nodiscard]] static constexpr heap_bounds low_latency() noexcept {
    heap_bounds b;
    b.stack_blocks_max = 32;
    b.settle_bytes_min = SIZE_MAX;
    b.steady_slabs = SIZE_MAX;
    b.instructions_a_call = 800;
    return b;
  }

  [[nodiscard]] static constexpr heap_bounds of_budget(std::size_t bytes) noexcept {
    heap_bounds b;
    b.budget_bytes = bytes;
    b.cache_bytes_min = std::min(b.cache_bytes_min, bytes / 64);
    b.stack_bytes_first = std::min(b.stack_bytes_first, bytes / 1024);
    // Blocks with a slab each cost a cache most: they need a budget that is large beside them.
    b.cached_block_max =
        std::min(b.cached_block_max,
                 std::max(std::min(bytes / 1024, detail::shared_slab_block_max), bytes / 8192));
    b.stash_bytes = std::clamp(bytes / 32, stash_bytes_min, b.stash_bytes);
    b.settle_bytes_min = std::min(b.settle_bytes_min, bytes / 16);
    return b;
  }
};

}  // namespace ashlar
