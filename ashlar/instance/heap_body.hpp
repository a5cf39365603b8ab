// instance/heap_body.hpp: what a program sees of a heap instance: the hits, and the misses by name.
// Layer: instance.
//
//   thread --one pointer--> slots:  slot n: { id of a heap, tops of this thread's cache of it }
//                                           id of heap h is in slot h % slots, or nowhere
//
// Law: ids are never used again, so a slot whose heap is gone matches no heap: a heap ends without
// visiting threads.
// A heap with checks is known to its callers by an id that no slot has: so all of their calls miss.
// The body's data and its engine are compiled into the library (heap_instance.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/config.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/heap/class_table.hpp>
#include <ashlar/heap/hit_path.hpp>

namespace ashlar::runtime {

/// The hits: a heap instance's own, since a heap is derived from those of its classes.
using instance_hits = detail::hit_path<detail::standard>;

struct heap_slot {
  std::uint64_t id = 0;  ///< 0: nobody's; heaps count from 1
  detail::cache_tops* tops = nullptr;
};
inline constexpr std::size_t heap_slots = 64;

/// What hit paths read of a thread's heap instances.
struct heap_hits {
  heap_slot slots[heap_slots];
};

/// This thread's slots, or constant ones in which no heap is found. Initial-exec, as `tops` is.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local heap_hits* own_heaps;

/// A page source without its type. No allocate: the system.
struct any_source {
  void* self = nullptr;
  void* (*allocate)(void* self, std::size_t bytes, std::size_t alignment) noexcept = nullptr;
  void (*deallocate)(void* self, void* p, std::size_t bytes,
                     std::size_t alignment) noexcept = nullptr;
};

/// What a heap instance looks at in every call.
struct heap_checks {
  bool cheap = false;            ///< calls are counted and checked at once
  bool full = false;             ///< and there are full checks. Requires: cheap
  std::size_t queue_blocks = 0;  ///< freed blocks that wait, as far as full_check's bytes go
  unsigned stack_depth = 0;      ///< frames of each call that are kept
};

/// What the program does where a heap comes to its budget.
struct budget_answer {
  /// Called as the function of ashlar_on_limit is (adapt/c_api.h). Null: nothing is.
  void (*call)(std::size_t bytes_to_drop, void* argument) = nullptr;
  void* argument = nullptr;
  unsigned percent = 80;  ///< of the budget, 100 at most; 0: 80. From there on it is called
};

class heap_body {
 public:
  heap_body(const heap_body&) = delete;
  heap_body& operator=(const heap_body&) = delete;

  /// Returns: a heap, or null when the system refuses the memory for its own data, or the source
  /// what checks need.
  [[nodiscard]] static heap_body* create(const any_source& source, std::size_t budget_bytes,
                                         const char* name, const heap_checks& checks) noexcept;
  /// Effects: with full checks, looks at all blocks. Tells of blocks in use as `leaks` says, and
  /// gives everything back. Requires: nobody uses the heap or a block of it any more; `leaks` is
  /// ignored without checks.
  static void destroy(heap_body* body, detail::heap_leaks leaks) noexcept;

  /// Effects: from now on the program is asked to make room. Requires: nothing was allocated yet.
  void call_at_budget(const budget_answer& answer) noexcept;

  /// Returns: the id by which `allocate` and `deallocate` look for the heap's hit paths.
  [[nodiscard]] std::uint64_t hit_id() const noexcept { return hit_id_; }

  // Each function below may be called by any thread; none throws. `call` is the name that a fault's
  // message gives.

  [[nodiscard]] ASHLAR_HOT void* allocate(std::uint64_t id, std::size_t size) noexcept {
    const heap_slot& slot = own_heaps->slots[id % heap_slots];
    if (slot.id == id) [[likely]] {
      void* const block = instance_hits::try_allocate(*slot.tops, size);
      if (block != nullptr) [[likely]]
        return block;
    }
    return allocate_slow(size, 1);
  }
  ASHLAR_HOT void deallocate(std::uint64_t id, void* block, const char* call) noexcept {
    const heap_slot& slot = own_heaps->slots[id % heap_slots];
    if (slot.id == id && instance_hits::try_deallocate(*slot.tops, block)) [[likely]]
      return;
    deallocate_slow(block, call);
  }

  /// Returns: a block; null when the budget, or what the source has, is used up. Before that, what
  /// this thread's cache, the stashes and free pages hold is used, and the other threads are told
  /// to give back their caches' blocks when they miss next.
  [[nodiscard]] ASHLAR_COLD void* allocate_slow(std::size_t size, std::size_t alignment) noexcept;
  ASHLAR_COLD void deallocate_slow(void* block, const char* call) noexcept;
  [[nodiscard]] void* reallocate(void* block, std::size_t size, const char* call) noexcept;
  [[nodiscard]] std::size_t usable_size(const void* block, const char* call) noexcept;
  /// Effects: a fault naming `call` when `block`, not null, is not in use or was not asked for with
  /// `size`. Returns: false after a fault. Requires: the heap has checks.
  [[nodiscard]] bool expect_size(const void* block, std::size_t size, const char* call) noexcept;
  [[nodiscard]] bool owns(const void* address) noexcept;
  std::size_t trim() noexcept;
  [[nodiscard]] bool prefault(std::size_t bytes, std::size_t threads) noexcept;
  void seal(bool on) noexcept;
  /// Effects: ends in a fault, exhausted, that names what holds the heap's memory.
  [[noreturn]] ASHLAR_COLD void end_exhausted(std::size_t size) noexcept;
  void collect(ashlar_stats& out) noexcept;
  /// Requires: no other thread is inside the heap.
  void audit() noexcept;

 protected:
  heap_body() noexcept = default;
  ~heap_body() = default;

  std::uint64_t hit_id_ = 0;
};

}  // namespace ashlar::runtime
