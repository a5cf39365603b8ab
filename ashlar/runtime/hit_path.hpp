// runtime/hit_path.hpp: the process heap's hits, inlined into every face, and its misses by name.
// Layer: runtime.
//
// This is all that a program sees of the process heap. The heap itself is compiled into the
// library: process_heap.hpp is for the library's own sources.
//
//   thread --one pointer--> tops of its cache     or constant ones that are empty and full at once
//
// So the first allocation of a thread misses, and the miss path attaches a cache. There is no
// "initialised?" branch. The same trick counts exactly on request, and picks blocks to be guarded:
// then the tops stay the constant ones, every call misses, and the miss path counts or picks.
// Nothing points from outside into what is here: a thread may be gone before anybody knows.
#pragma once

#include <cstddef>

#include <ashlar/core/config.hpp>
#include <ashlar/core/size_class.hpp>
#include <ashlar/heap/hit_path.hpp>
#include <ashlar/runtime/process_classes.hpp>
#ifdef ASHLAR_LOADABLE_CLASSES
#include <ashlar/check/sample_gap.hpp>
#endif

namespace ashlar::runtime {

/// The hits: the process heap's own, since a heap is derived from those of its classes.
using process_hits = detail::hit_path<process_classes>;

#ifdef ASHLAR_LOADABLE_CLASSES
/// The drop-in library's part of what a thread's hit paths use: the bounds again, for an operator
/// that the standard makes of another. 0 where the program has replaced an operator, which is to be
/// called then.
struct operator_classes {
  std::size_t end_of_made_forms = 0;    ///< as `block_tables::end`
  std::size_t sizes_of_made_forms = 0;  ///< they hit for sizes below this one
  detail::sample_gap gap;               ///< of the thread's samples (sampling.hpp)
};
#else
struct operator_classes {};
#endif

/// A stack without room: the slot below its top is null, and so is the one at it. No hit writes to
/// it.
extern const detail::cache_tops no_tops;

/// What this thread's hit paths use: the tops of its cache's stacks, or `no_tops`.
struct hit_state : operator_classes {
  detail::cache_tops* tops = const_cast<detail::cache_tops*>(&no_tops);
};

/// Initial-exec, so a hit computes no address by a call.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local hit_state own_hits;

[[nodiscard]] ASHLAR_HOT detail::cache_tops& tops() noexcept { return *own_hits.tops; }

// Each function below may be called by any thread at any time. None throws. `call` is the name that
// a fault's message gives, and what full checks remember of an allocation. Requires for all
// alignments: a power of two.

/// Miss paths: what is left to do when `process_hits::try_allocate` and `try_deallocate` could not.
[[nodiscard]] ASHLAR_COLD void* allocate_slow(std::size_t size,
                                              const char* call = "allocate") noexcept;
ASHLAR_COLD void deallocate_slow(void* block, const char* call) noexcept;

/// Returns: a block, or null when out of memory. The hit is inlined, the miss is called. O(1)
/// amortised.
[[nodiscard]] ASHLAR_HOT void* allocate(std::size_t size, const char* call = "allocate") noexcept {
  void* const block = process_hits::try_allocate(tops(), size);
  return block != nullptr ? block : allocate_slow(size, call);
}

/// Effects: gives a block back; null does nothing.
ASHLAR_HOT void deallocate(void* block, const char* call) noexcept {
  if (!process_hits::try_deallocate(tops(), block)) [[unlikely]]
    deallocate_slow(block, call);
}

ASHLAR_COLD [[nodiscard]] void* allocate_aligned_slow(std::size_t size, std::size_t alignment,
                                                      const char* call = "allocate") noexcept;
/// As `allocate_aligned`, where both are constants: so is the class then, and the hit is a pop.
template <std::size_t Size, std::size_t Alignment>
[[nodiscard]] ASHLAR_HOT void* allocate_constant() noexcept {
  constexpr class_index c = process_classes::class_for(Size, Alignment);
  if constexpr (c != 0) {
    void* const block = process_hits::try_allocate(tops(), process_classes::block_size(c));
    if (block != nullptr) [[likely]]
      return block;
  }
  return allocate_aligned_slow(Size, Alignment);
}

/// What becomes of the size that a sized free is told: where nothing is missed, it may be trusted.
enum class size_hint : bool { compared, trusted };

/// Effects: gives a block back that was allocated with `size` (or up to what its class holds beyond
/// that) and `alignment`; null does nothing. Ends in a fault, wrong_size, when the block is not
/// what such a request gets: always, and before anything is changed. Where the size is trusted,
/// requires: block not null; it was allocated so.
ASHLAR_COLD void deallocate_sized_slow(void* block, std::size_t size, std::size_t alignment,
                                       const char* call) noexcept;
template <size_hint Hint>
[[nodiscard]] ASHLAR_HOT bool try_deallocate_sized(void* block, class_index c) noexcept {
  if constexpr (Hint == size_hint::trusted)
    return process_hits::try_deallocate_trusted(tops(), block, c);
  else
    return process_hits::try_deallocate(tops(), block, c);
}
template <size_hint Hint = size_hint::compared>
ASHLAR_HOT void deallocate_sized(void* block, std::size_t size, const char* call) noexcept {
  const class_index c = size <= small_size_max ? process_classes::of_size(size) : class_index{0};
  if (!try_deallocate_sized<Hint>(block, c)) [[unlikely]]
    deallocate_sized_slow(block, size, 1, call);
}
template <std::size_t Size, std::size_t Alignment, size_hint Hint = size_hint::compared>
ASHLAR_HOT void deallocate_constant(void* block, const char* call) noexcept {
  constexpr class_index c = process_classes::class_for(Size, Alignment);
  if (!try_deallocate_sized<Hint>(block, c)) [[unlikely]]
    deallocate_sized_slow(block, Size, Alignment, call);
}

/// Returns: a zeroed block; above 32 KiB a run of pages, which costs nothing to zero when it is
/// fresh.
[[nodiscard]] void* allocate_zeroed(std::size_t size, const char* call = "allocate") noexcept;

[[nodiscard]] void* allocate_aligned(std::size_t size, std::size_t alignment,
                                     const char* call = "allocate") noexcept;

/// Returns: a block with the first min(old, new) bytes of `block`, which is gone then; null when
/// out of memory, and `block` stays; detail::no_block() after a fault that the process goes on
/// from.
/// Requires: block not null, size > 0.
[[nodiscard]] void* reallocate(void* block, std::size_t size, const char* call) noexcept;

/// Returns: as reallocate and allocate_zeroed, where hits would serve if no allocation was sampled,
/// and this one is not; else null, and nothing has changed. In the drop-in library (sampling.hpp).
[[nodiscard]] ASHLAR_MISS void* reallocate_in_gap(void* block, std::size_t size) noexcept;
[[nodiscard]] ASHLAR_MISS void* allocate_zeroed_in_gap(std::size_t size) noexcept;

/// Returns: the bytes that a caller may use of the block; 0 after a fault. Requires: block not
/// null.
[[nodiscard]] std::size_t usable_size(const void* block, const char* call) noexcept;

/// Effects: the whole pages of [p, p + bytes), which are in a block of the process heap, are in
/// memory if the system has them. A hint. Nothing while the process heap is sealed.
void populate(void* p, std::size_t bytes) noexcept;

}  // namespace ashlar::runtime
