// heap/central.hpp: what all threads share for one size class: its lock, its stash, its slabs.
// Layer: heap. Includes: core.
//
//   thread caches  <- batches ->  stash (a stack of addresses)  <- bits ->  slabs  <- runs ->  page
//   heap
//
// Blocks that come back wait in the stash and leave it as they came, whole batches by one memcpy:
// a producer and a consumer never touch a bitmap. Only what the stash cannot hold is sorted back
// into its slabs. Slabs with free blocks stand in lists by fullness, and the fullest serves first,
// so that the emptier ones get the chance to become empty and leave.
//
// Invariant (audit): blocks of all slabs == free bits + stashed + held (by caches and callers).
// Thread-safety: every function locks; none calls out while it does, but for the page heap.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include <ashlar/core/config.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/heap/page_heap.hpp>
#include <ashlar/heap/run.hpp>
#include <ashlar/heap/slab.hpp>

namespace ashlar::detail {

/// What one class of the heap has counted. Blocks.
struct class_counts {
  std::uint64_t taken = 0;      ///< ever handed to a cache
  std::uint64_t given = 0;      ///< ever come back from one
  std::uint64_t held_peak = 0;  ///< most that were out at once: max of taken - given
  std::uint64_t made = 0;       ///< in slabs that exist now
  std::uint64_t made_peak = 0;
  std::uint64_t slabs = 0;
};

template <address_space Space, class Mutex>
class central {
 public:
  using pages = page_heap<Space, Mutex>;

  constexpr central() noexcept = default;
  central(const central&) = delete;
  central& operator=(const central&) = delete;

  /// Requires: called once, before any other function; `stash` has room for `stash_capacity`.
  void place(class_index c, void** stash, std::size_t stash_capacity) noexcept {
    class_ = c;
    stash_ = stash;
    stash_capacity_ = stash_capacity;
  }

  /// Effects: takes up to `count` blocks and writes them to out[-1], out[-2], ... Returns: how
  /// many; 0 only when out of memory.
  [[nodiscard]] std::size_t take(pages& page_heap, void** out, std::size_t count) noexcept {
    const std::lock_guard guard(mutex_);
    std::size_t got = std::min(count, stashed_);
    if (got != 0) {
      stashed_ -= got;
      std::memcpy(out - got, stash_ + stashed_, got * sizeof(void*));
    } else {
      got = take_from_slabs(page_heap, out, count);
    }
    counts_.taken += got;
    counts_.held_peak = std::max(counts_.held_peak, counts_.taken - counts_.given);
    return got;
  }

  /// Effects: takes blocks back. Ends in a fault for an address that is no block in use of this
  /// class, at once if it has to be sorted into its slab, else when it is.
  void give(pages& page_heap, void* const* blocks, std::size_t count, const char* call) noexcept {
    const std::lock_guard guard(mutex_);
    counts_.given += count;
    const std::size_t fits = std::min(count, stash_capacity_ - stashed_);
    std::memcpy(stash_ + stashed_, blocks, fits * sizeof(void*));
    stashed_ += fits;
    if (fits != count) put_into_slabs(page_heap, blocks + fits, count - fits, call);
  }

  /// Effects: sorts the stash back into the slabs, so that empty ones leave.
  void settle(pages& page_heap) noexcept {
    const std::lock_guard guard(mutex_);
    const std::size_t count = stashed_;
    stashed_ = 0;
    put_into_slabs(page_heap, stash_, count, "free");
  }

  [[nodiscard]] class_counts counts() noexcept {
    const std::lock_guard guard(mutex_);
    return counts_;
  }

  [[nodiscard]] Mutex& mutex() noexcept { return mutex_; }

  /// Effects: checks the invariant of the slabs that have free blocks. Returns: free bits +
  /// stashed.
  [[nodiscard]] std::uint64_t audit(pages& page_heap) noexcept {
    const std::lock_guard guard(mutex_);
    std::uint64_t free = 0;
    for (std::uint8_t f = 0; f < fullness_lists; ++f) {
      for (const run* r = lists_[f]; r != nullptr; r = r->next) {
        std::uint32_t bits = 0;
        for (std::uint32_t w = 0; w < slab_shapes[class_].words; ++w)
          bits += static_cast<std::uint32_t>(std::popcount(r->free_bits[w]));
        if (bits != r->free_blocks || bits == 0 || r->fullness != f || fullness_of(*r) != f)
          ashlar_fault({.kind = fault_kind::corrupted,
                        .call = "audit",
                        .address = page_heap.address_of(*r),
                        .block_size = block_sizes[class_]});
        free += bits;
      }
    }
    return free + stashed_;
  }

 private:
  // Lists 0..3 by quarters of free blocks, fullest first; a slab without any is on none.
  static constexpr std::uint8_t fullness_lists = 4;
  static constexpr std::uint8_t full = fullness_lists;

  [[nodiscard]] std::uint8_t fullness_of(const run& r) const noexcept {
    if (r.free_blocks == 0) return full;
    return static_cast<std::uint8_t>((r.free_blocks * fullness_lists - 1) /
                                     slab_shapes[class_].blocks);
  }

  void link(run* r) noexcept {
    r->fullness = fullness_of(*r);
    if (r->fullness == full) return;
    run*& head = lists_[r->fullness];
    r->previous = nullptr;
    r->next = head;
    if (head != nullptr) head->previous = r;
    head = r;
  }
  void unlink(run* r) noexcept {
    if (r->fullness == full) return;
    if (r->previous != nullptr)
      r->previous->next = r->next;
    else
      lists_[r->fullness] = r->next;
    if (r->next != nullptr) r->next->previous = r->previous;
  }

  void relink(run* r) noexcept {
    if (fullness_of(*r) == r->fullness) return;
    unlink(r);
    link(r);
  }

  [[nodiscard]] run* fullest_slab() const noexcept {
    for (run* head : lists_)
      if (head != nullptr) return head;
    return nullptr;
  }

  [[nodiscard]] run* add_slab(pages& page_heap) noexcept {
    run* r = page_heap.new_slab(class_);
    if (r == nullptr) return nullptr;
    ++counts_.slabs;
    counts_.made += slab_shapes[class_].blocks;
    counts_.made_peak = std::max(counts_.made_peak, counts_.made);
    link(r);
    return r;
  }

  [[nodiscard]] std::size_t take_from_slabs(pages& page_heap, void** out,
                                            std::size_t count) noexcept {
    std::size_t got = 0;
    while (got != count) {
      run* r = fullest_slab();
      // A short batch is better than a new slab: memory grows only when nothing else is left.
      if (r == nullptr && (got != 0 || (r = add_slab(page_heap)) == nullptr)) break;
      got += take_blocks(*r, page_heap.address_of(*r), out - got, count - got);
      relink(r);
    }
    return got;
  }

  void put_into_slabs(pages& page_heap, void* const* blocks, std::size_t count,
                      const char* call) noexcept {
    for (std::size_t i = 0; i < count;) {
      run* r = page_heap.slab_of(blocks[i]);
      if (r == nullptr || r->size_class != class_) [[unlikely]]
        ashlar_fault({.kind = fault_kind::not_in_use, .call = call, .address = blocks[i]});
      {
        block_returner back(*r, page_heap.address_of(*r));
        do back.put(blocks[i], call);
        while (++i < count && back.covers(blocks[i]));
      }
      if (r->free_blocks == slab_shapes[class_].blocks) {
        unlink(r);
        --counts_.slabs;
        counts_.made -= slab_shapes[class_].blocks;
        page_heap.delete_slab(r);
      } else {
        relink(r);
      }
    }
  }

  Mutex mutex_;
  class_index class_ = 0;
  std::size_t stashed_ = 0;
  std::size_t stash_capacity_ = 0;
  void** stash_ = nullptr;
  run* lists_[fullness_lists] = {};
  class_counts counts_;
};

}  // namespace ashlar::detail
