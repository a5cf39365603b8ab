// check/checked_blocks.hpp: full checks between a caller and a heap: who takes and gives back which
// block.
// Layer: check.
//
//   a block's way:  heap --take--> made --> the caller --> freed --> queue --give_back--> heap
//
// The same for the process heap and heap instances, which differ in how they take and give back.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <ashlar/check/full_check.hpp>
#include <ashlar/core/size_class.hpp>

namespace ashlar::detail {

/// A handle of a heap without full checks: take() returns null when it has nothing, and tells
/// whether a block is known to be zero.
template <class H>
concept unchecked_heap =
    requires(H heap, void* block, std::size_t n, const char* call, bool& zeroed) {
      { heap.take(n, n, zeroed) } -> std::same_as<void*>;
      { heap.usable_size(block, call) } -> std::same_as<std::size_t>;
      heap.give_back(block, call);
    };

/// Effects: gives the heap what has left the queue.
template <unchecked_heap Heap>
void give_back_left(full_check& checks, Heap heap, block_record* leaving,
                    const char* call) noexcept {
  for (block_record* r = leaving; r != nullptr; r = r->next_in_queue)
    heap.give_back(r->block, call);
  checks.forget(leaving);
}

/// Returns: as full_check::made, of a block of the heap's; null when it has none, or there is no
/// record for it.
template <unchecked_heap Heap>
[[nodiscard]] void* try_allocate_checked(full_check& checks, Heap heap, std::size_t bytes,
                                         std::size_t size, std::size_t alignment, bool zeroed,
                                         const char* call) noexcept {
  bool is_zero = zeroed;
  void* const block = heap.take(bytes, alignment, is_zero);
  if (block == nullptr) return nullptr;
  using first_bytes = full_check::first_bytes;
  const auto first = !zeroed   ? first_bytes::filled
                     : is_zero ? first_bytes::as_they_are
                               : first_bytes::zeros;
  void* const address =
      checks.made(block, heap.usable_size(block, call), size, alignment, first, call);
  if (address == nullptr) heap.give_back(block, call);
  return address;
}

/// Returns: as try_allocate_checked; null when it has none, though all that waited went back, with
/// its records.
template <unchecked_heap Heap>
[[nodiscard]] void* allocate_checked(full_check& checks, Heap heap, std::size_t size,
                                     std::size_t alignment, bool zeroed,
                                     const char* call) noexcept {
  alignment = std::max(alignment, block_granule);
  const std::size_t bytes = full_check::bytes_for(size, alignment);
  if (bytes == 0 || bytes > PTRDIFF_MAX) return nullptr;
  const auto once = [&] {
    return try_allocate_checked(checks, heap, bytes, size, alignment, zeroed, call);
  };
  if (void* const address = once(); address != nullptr) return address;
  block_record* const waited = checks.emptied_queue(call);
  if (waited == nullptr) return nullptr;
  give_back_left(checks, heap, waited, call);
  return once();
}

/// Effects: as full_check::freed. A fault, interior_pointer, when `address` is no block, but inside
/// one. Returns: false when nothing is known of it, so that it may be a block of the heap's own.
template <unchecked_heap Heap>
[[nodiscard]] bool deallocate_checked(full_check& checks, Heap heap, void* address,
                                      const char* call) noexcept {
  const full_check::freed_result found = checks.freed(address, call);
  give_back_left(checks, heap, found.leaving, call);
  return found.known || !checks.expect_outside(address, call);
}

}  // namespace ashlar::detail
