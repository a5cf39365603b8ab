// runtime/process_heap.hpp: the heap that all of a process shares, and each thread's cache of it.
// Layer: runtime. The library's mutable globals live in this layer; tests/globals/allowed.txt
// lists the few others.
//
// A thread's tops start empty and full at once: so the first allocation and the first free of a thread
// miss, and the miss path attaches a cache. There is no "initialised?" branch.
// The same trick counts exactly on request, and picks blocks to be guarded: then the tops stay empty,
// every call misses, and the miss path counts or picks.
#pragma once

#include <cstddef>
#include <type_traits>

#include <ashlar/check/watched_heap.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/runtime/process_engine.hpp>

namespace ashlar::runtime {

/// The heap. Usable before static constructors and after static destructors.
extern process_heap the_heap;

/// The drop-in library's part of what a thread's hit paths use: the classes again, for an operator that the
/// standard makes of another. Empty where the program has replaced an operator, which is to be called then.
struct operator_classes {
  detail::page_classes of_made_forms;
};
struct no_operators {};

/// What this thread's hit paths use: the tops of its cache's stacks, or empty ones.
struct hit_state : detail::cache_tops,
                   std::conditional_t<is_drop_in, operator_classes, no_operators> {};

/// Initial-exec, so a hit computes no address by a call; the library's 820 bytes of static TLS (on 64 bits) fit,
/// twice, what the C library keeps free for libraries that are loaded late.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local hit_state tops;

// Each function below may be called by any thread at any time. None throws. `call` is the name that
// a fault's message gives, and what full checks remember of an allocation. Requires for all alignments: a power of two.

/// Miss paths: what is left to do when `process_heap::try_allocate` and `try_deallocate` could not.
[[nodiscard]] ASHLAR_COLD void* allocate_slow(std::size_t size,
                                              const char* call = "allocate") noexcept;
ASHLAR_COLD void deallocate_slow(void* block, const char* call) noexcept;

/// Returns: a block, or null when out of memory. The hit is inlined, the miss is called. O(1)
/// amortised.
[[nodiscard]] ASHLAR_HOT void* allocate(std::size_t size, const char* call = "allocate") noexcept {
  void* const block = process_heap::try_allocate(tops, size);
  return block != nullptr ? block : allocate_slow(size, call);
}

/// Effects: gives a block back; null does nothing.
ASHLAR_HOT void deallocate(void* block, const char* call) noexcept {
  if (!process_heap::try_deallocate(tops, block)) [[unlikely]]
    deallocate_slow(block, call);
}

/// As `allocate_aligned`, where both are constants: so is the class then, and the hit is a pop.
ASHLAR_COLD [[nodiscard]] void* allocate_aligned_slow(std::size_t size, std::size_t alignment,
                                                      const char* call = "allocate") noexcept;
template <std::size_t Size, std::size_t Alignment>
[[nodiscard]] ASHLAR_HOT void* allocate_constant() noexcept {
  constexpr class_index c = process_heap::class_for(Size, Alignment);
  if constexpr (c != 0) {
    void* const block = process_heap::try_allocate(tops, process_heap::classes::block_size(c));
    if (block != nullptr) [[likely]]
      return block;
  }
  return allocate_aligned_slow(Size, Alignment);
}

/// What becomes of the size that a sized free is told: where nothing is missed, it may be believed.
enum class told_size : bool { compared, believed };

/// Effects: gives a block back that was allocated with `size` (or up to what its class holds beyond
/// that) and `alignment`; null does nothing. Ends in a fault, wrong_size, when the block is not what
/// such a request gets: always, and before anything is changed. Where the size is believed, requires: block not
/// null; it was allocated so.
ASHLAR_COLD void deallocate_sized_slow(void* block, std::size_t size, std::size_t alignment,
                                       const char* call) noexcept;
template <told_size Told>
[[nodiscard]] ASHLAR_HOT bool try_deallocate_sized(void* block, class_index c) noexcept {
  if constexpr (Told == told_size::believed)
    return process_heap::try_deallocate_believed(tops, block, c);
  else
    return process_heap::try_deallocate(tops, block, c);
}
template <told_size Told = told_size::compared>
ASHLAR_HOT void deallocate_sized(void* block, std::size_t size, const char* call) noexcept {
  const class_index c =
      size <= small_size_max ? process_heap::classes::of_size(size) : class_index{0};
  if (!try_deallocate_sized<Told>(block, c)) [[unlikely]]
    deallocate_sized_slow(block, size, 1, call);
}
template <std::size_t Size, std::size_t Alignment, told_size Told = told_size::compared>
ASHLAR_HOT void deallocate_constant(void* block, const char* call) noexcept {
  constexpr class_index c = process_heap::class_for(Size, Alignment);
  if (!try_deallocate_sized<Told>(block, c)) [[unlikely]]
    deallocate_sized_slow(block, Size, Alignment, call);
}

/// Returns: a zeroed block; above 32 KiB a run of pages, which costs nothing to zero when it is fresh.
[[nodiscard]] void* allocate_zeroed(std::size_t size, const char* call = "allocate") noexcept;

[[nodiscard]] void* allocate_aligned(std::size_t size, std::size_t alignment,
                                     const char* call = "allocate") noexcept;

/// Returns: a block with the first min(old, new) bytes of `block`, which is gone then; null when
/// out of memory, and `block` stays. Requires: block not null, size > 0.
[[nodiscard]] void* reallocate(void* block, std::size_t size, const char* call) noexcept;

/// Requires: block not null.
[[nodiscard]] std::size_t usable_size(const void* block, const char* call) noexcept;

/// Effects: gives this thread's cached blocks and all free pages back. Returns: bytes to the
/// system.
std::size_t trim() noexcept;

/// Effects: the next step of a look at what can be given back, with no lock held afterwards. Returns: false at the
/// look's end. For the background thread.
[[nodiscard]] bool look_step(look_progress& look) noexcept;

/// Effects: the calling thread never has a cache: its calls take the heap's locks. Requires: it has none yet.
void use_no_cache() noexcept;

/// Effects: allows or forbids the background thread (background.hpp). Returns: whether it was allowed.
bool set_background(bool on) noexcept;

/// As basic_heap::populate: a hint, for the memory of a block of the process heap.
void populate(void* p, std::size_t bytes) noexcept;

/// As basic_heap::prefault, for `threads` threads beside the calling one.
[[nodiscard]] bool prefault(std::size_t bytes, std::size_t threads) noexcept;

/// Effects: from now on every block is handed out filled with ~`byte`, unless it is to be zero, and
/// is filled with `byte` when it is freed: of a large block the first `small_size_max` bytes. Every
/// call misses then. 0: blocks are left as they are. Returns: false, and nothing changes, when other
/// threads have caches, whose hit paths cannot be reached, or when full checks or a memory tool look
/// at the bytes themselves. Requires: no other thread calls this.
[[nodiscard]] bool fill_blocks(unsigned char byte) noexcept;

/// What looks at the process heap's calls; off unless the environment says so.
extern constinit detail::heap_watch the_watch;

/// Returns: whether full checks know of each block who made it: ASHLAR_CHECK=full.
[[nodiscard]] inline bool has_full_checks() noexcept {
  return the_watch.checks.is_on();
}

/// While it lives, full checks remember this thread's calls that are named `call` as `instead`: for calls that the
/// standard makes of each other. Null, null: as what they are named.
class calls_told_as {
 public:
  calls_told_as(const char* call, const char* instead) noexcept;
  ~calls_told_as();
  calls_told_as(const calls_told_as&) = delete;
  calls_told_as& operator=(const calls_told_as&) = delete;

 private:
  const char* call_before_;
  const char* instead_before_;
};

/// Effects: ends in a fault naming `call`, wrong_size, if full checks know that `block` came from new and was not asked
/// for with `size`.
void expect_size(const void* block, std::size_t size, const char* call) noexcept;

/// Effects: looks at what full checks and guarded blocks can tell of all blocks; ends in a fault naming `call` at the
/// first that was written to. Returns: the live blocks that it looked at. O(their bytes).
std::size_t check_blocks(const char* call) noexcept;

/// Effects: calls visit(record) for each live block of which it is known who allocated it.
template <class Visit>
void for_each_known_block(Visit visit) noexcept {
  the_watch.checks.for_each_live(visit);
  the_watch.guards->for_each_live(visit);
}

/// Effects: fills every field of `out`.
void collect(ashlar_stats& out) noexcept;

}  // namespace ashlar::runtime
