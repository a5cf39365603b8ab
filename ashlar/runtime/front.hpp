// runtime/front.hpp: which functions serve a call that no hit path could. Settings choose among
// plain, watched and hardened, when they are read and when one changes; the rest is chosen for each
// call.
// Layer: runtime. For the process heap's own source files.
//
//   front      allocate, free, resize and size go
//   counted    to the thread's test scopes (test_scopes.hpp), and from there to the next front
//   sampled    to sampling.hpp: a call that takes a sample or ends one, and on to the next front
//   plain      to the heap, inside the gate. While another thread forks, the reserve serves
//   watched    the same way, through the checks (check/watched_heap.hpp)
//   hardened   to process_hardened.hpp, and from there to the heap
//   sanitizer  to a sanitizer's malloc (os/sanitizer.hpp)
//   reserved   to the reserve: the calls for its own blocks (reserve_heap.hpp)
//
// `plain` is process_heap.cpp's, with the miss of the heap behind it (heap/basic_heap.hpp). Law:
// `next_front` alone decides which front serves; a front that passes a call on names itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/os/sanitizer.hpp>
#include <ashlar/runtime/process_thread.hpp>
#include <ashlar/runtime/sampling.hpp>

namespace ashlar::runtime {

enum class front : std::uint8_t {
  plain,
  watched,
  hardened,
  sanitizer,
  reserved,
  sampled,
  counted,
  program  ///< none: a call of the program's
};

/// plain, watched or hardened. It starts as hardened: should that stay, the first blocks have their
/// words, too. Hits work only while it is plain. An index, not pointers: who overwrites it can
/// choose a known front only.
extern constinit std::atomic<front> the_front;

[[nodiscard]] inline bool is_hardened() noexcept {
  return the_front.load(std::memory_order_relaxed) == front::hardened;
}
[[nodiscard]] inline bool is_plain() noexcept {
  return the_front.load(std::memory_order_relaxed) == front::plain;
}

/// Returns: the front that serves a call after `last` did. It is about `block`; null: it allocates.
/// A guarded block is watched, in a plain process, too: it can be a sampled one.
[[nodiscard]] ASHLAR_HOT front next_front(front last, const void* block = nullptr) noexcept {
  if (last == front::program && self.scopes != nullptr) [[unlikely]]
    return front::counted;
  if constexpr (is_drop_in)
    if (last != front::sampled && may_be_sampled(block)) return front::sampled;
  if (os::heap_is_the_sanitizers()) return front::sanitizer;
  if (block != nullptr && is_of_reserve(block)) [[unlikely]]
    return front::reserved;
  const front now = the_front.load(std::memory_order_relaxed);
  const bool is_guarded = now == front::plain && block != nullptr && the_watch.is_guarded(block);
  return is_guarded ? front::watched : now;
}

// What the front `by` does, which next_front returned. `call` is the name that a fault's message
// gives.

/// Returns: a block, zero if it is to be `zeroed`; null when out of memory.
[[nodiscard]] void* take(std::size_t size, std::size_t alignment, bool zeroed, const char* call,
                         front by) noexcept;
/// As deallocate and reallocate, of a block that is not null.
void give(void* block, const char* call, front by) noexcept;
[[nodiscard]] void* resize(void* block, std::size_t size, const char* call, front by) noexcept;
/// As reallocate of a block of `have` bytes, by allocating and freeing anew.
[[nodiscard]] void* moved_by_calls(void* block, std::size_t have, std::size_t size,
                                   const char* call) noexcept;

/// Effects: the library's own threads start, if they may, and the callback of the memory limit runs
/// if that was crossed. Called by allocations that missed, before a lock is taken.
void note_allocation() noexcept;

}  // namespace ashlar::runtime
