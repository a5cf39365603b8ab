// runtime/front.hpp: which functions serve the calls that no hit path could. They are chosen when
// the settings are read, and when a setting changes.
// Layer: runtime. For the process heap's own source files.
//
//   front      allocate, free, resize and size go
//   counted    to the thread's test scopes (test_scopes.hpp), and from there to the next front
//   sampled    to sampling.hpp: a call that takes a sample or ends one, and on to the next front
//   plain      to the heap, inside the gate. While another thread forks, the reserve serves
//   watched    the same way, past what looks at them (check/watched_heap.hpp)
//   hardened   to process_hardened.hpp, and from there to the heap
//   sanitizer  to a sanitizer's malloc (os/sanitizer.hpp)
//   reserved   to the reserve: the calls for its own blocks (reserve_heap.hpp)
//
// Law: `front_behind` alone asks which front serves. What a front calls does not ask again.
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

/// plain, watched or hardened: hardened until the environment is known, so every block has a word,
/// should it stay so. Threads hit while it is plain. An index and no pointers to functions: whoever
/// writes here chooses among few.
extern constinit std::atomic<front> the_front;

[[nodiscard]] inline bool is_hardened() noexcept {
  return the_front.load(std::memory_order_relaxed) == front::hardened;
}
[[nodiscard]] inline bool is_plain() noexcept {
  return the_front.load(std::memory_order_relaxed) == front::plain;
}

/// Returns: the front that serves a call next which comes from `last`. `block` is what it is about;
/// null: it allocates. A guarded block is watched: it can be a sampled one of a plain process.
[[nodiscard]] ASHLAR_HOT front front_behind(front last, const void* block = nullptr) noexcept {
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

// What the front `by` does, which front_behind returned. `call` is the name that a fault's message
// gives.

/// Returns: a block, zero if it is to be `zeroed`; null when out of memory.
[[nodiscard]] void* take(std::size_t size, std::size_t alignment, bool zeroed, const char* call,
                         front by) noexcept;
/// As deallocate and reallocate, of a block that is not null.
void give(void* block, const char* call, front by) noexcept;
[[nodiscard]] void* resize(void* block, std::size_t size, const char* call, front by) noexcept;

/// Effects: the library's own threads start, if they may. Called by allocations that missed, before
/// a lock is taken.
void note_allocation() noexcept;

}  // namespace ashlar::runtime
