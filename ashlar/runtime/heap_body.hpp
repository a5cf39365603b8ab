// runtime/heap_body.hpp: the body of every heap instance, whatever its source and checks; a thread's caches of them.
// Layer: runtime.
//
//   thread --one pointer--> table:  slot n:  { id of a heap, this thread's cache of it }
//                                            id of heap h is in slot h % slots, or nowhere
//
// Law: ids are never used again, so a slot whose heap is gone matches no heap: a heap ends without
// visiting threads. A cache is given back by its owner alone (thread end, slot needed for another heap),
// and only while its heap is pinned alive; what ~heap finds is nobody's any more.
// A heap with checks is known to its callers by an id that no slot has: so all of their calls miss.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/check/heap_leaks.hpp>
#include <ashlar/check/watched_heap.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/runtime/heap_space.hpp>

namespace ashlar::runtime {

struct heap_config {
  using space = heap_space;
  using mutex = os::told_mutex;
};
using heap_engine = basic_heap<heap_config>;

struct heap_slot {
  std::uint64_t id = 0;  ///< 0: nobody's; heaps count from 1
  heap_engine::cache* cache = nullptr;
};
inline constexpr std::size_t heap_slots = 64;

/// What a thread knows of heap instances. Slots first: they are what hit paths read.
struct heap_table {
  heap_slot slots[heap_slots];
  std::uint32_t pressure_seen[heap_slots];
  bool busy[heap_slots];  ///< the thread is inside this heap now, so the slot must stay
};

/// This thread's table, or a constant one in which no heap is found. Initial-exec, as `tops` is.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local heap_table* own_heaps;

/// What a heap instance looks at in every call.
struct heap_checks {
  bool cheap = false;            ///< calls are counted and checked at once
  bool full = false;             ///< and there are full checks. Requires: cheap
  std::size_t queue_blocks = 0;  ///< freed blocks that wait, as far as full_check's bytes go
  unsigned stack_depth = 0;      ///< frames of each call that are kept
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

  /// Returns: the id by which `allocate` and `deallocate` look for the heap's hit paths.
  [[nodiscard]] std::uint64_t hit_id() const noexcept { return is_watched() ? never_hit_id : id_; }
  [[nodiscard]] const char* name() const noexcept { return engine_.name(); }

  // Each function below may be called by any thread; none throws. `call` is the name that a fault's
  // message gives.

  [[nodiscard]] ASHLAR_HOT void* allocate(std::uint64_t id, std::size_t size) noexcept {
    const heap_slot& slot = own_heaps->slots[id % heap_slots];
    if (slot.id == id) [[likely]] {
      void* const block = heap_engine::try_allocate(slot.cache->own_tops, size);
      if (block != nullptr) [[likely]]
        return block;
    }
    return allocate_slow(size, 1);
  }
  ASHLAR_HOT void deallocate(std::uint64_t id, void* block, const char* call) noexcept {
    const heap_slot& slot = own_heaps->slots[id % heap_slots];
    if (slot.id == id && heap_engine::try_deallocate(slot.cache->own_tops, block)) [[likely]]
      return;
    deallocate_slow(block, call);
  }

  /// Returns: a block; null when the budget, or what the source has, is used up. Before that, what
  /// this thread's cache, the stashes and free pages hold is used, and the other threads are told to
  /// give back their caches' blocks when they miss next.
  [[nodiscard]] ASHLAR_COLD void* allocate_slow(std::size_t size, std::size_t alignment) noexcept;
  ASHLAR_COLD void deallocate_slow(void* block, const char* call) noexcept;
  [[nodiscard]] void* reallocate(void* block, std::size_t size, const char* call) noexcept;
  [[nodiscard]] std::size_t usable_size(const void* block, const char* call) noexcept;
  /// Effects: ends in a fault naming `call` when `block`, not null, is not in use or was not asked
  /// for with `size`. Requires: the heap has checks.
  void expect_size(const void* block, std::size_t size, const char* call) noexcept;
  [[nodiscard]] bool owns(const void* address) noexcept { return engine_.owns(address); }
  std::size_t trim() noexcept;
  [[nodiscard]] bool prefault(std::size_t bytes, std::size_t threads) noexcept;
  void seal(bool on) noexcept { engine_.seal(on); }
  void collect(ashlar_stats& out) noexcept;
  /// Requires: no other thread is inside the heap.
  void audit() noexcept;

 private:
  friend struct heap_registry;
  class visit;

  /// The calls at which nothing looks.
  struct plain_calls {
    static constexpr bool is_of_process = false;
    heap_body* body;
    [[nodiscard]] heap_engine& engine() const noexcept { return body->engine_; }
    [[nodiscard]] void* take(std::size_t size, std::size_t alignment, bool& zeroed) const noexcept {
      zeroed = false;
      return body->take(size, alignment);
    }
    void give(void* block, const char* call) const noexcept { body->give(block, call); }
  };

  static constexpr std::uint64_t never_hit_id = UINT64_MAX;

  heap_body() noexcept = default;

  [[nodiscard]] bool start_checks(const heap_checks& checks) noexcept;
  [[nodiscard]] bool is_watched() const noexcept { return watch_.counts_exactly(); }
  [[nodiscard]] detail::watched_heap<plain_calls> watched_calls() noexcept {
    return {watch_, plain_calls{this}};
  }
  [[nodiscard]] void* take(std::size_t size, std::size_t alignment) noexcept;
  [[nodiscard]] void* take_once(std::size_t size, std::size_t alignment) noexcept;
  void give(void* block, const char* call) noexcept;

  heap_engine engine_;
  detail::heap_watch watch_;
  std::uint64_t id_ = 0;
  std::size_t budget_bytes_ = SIZE_MAX;
  std::atomic<std::uint32_t> pressure_{0};  ///< how often the heap was exhausted

  // The registry's, under its lock: living heaps, newest first, and who keeps this one from ending.
  heap_body* next_ = nullptr;
  heap_body* previous_ = nullptr;
  std::size_t pins_ = 0;
  /// Held while there are pins. It has no rank, because another thread may unlock it than locked
  /// it. A thread waits for it with no lock held.
  os::told_mutex unpinned_;
};

}  // namespace ashlar::runtime
