// runtime/heap_body.hpp: the body of every heap instance, whatever its source; a thread's caches of them.
// Layer: runtime. Includes: core, heap, os.
//
//   thread --one pointer--> table:  slot n:  { id of a heap, this thread's cache of it }
//                                            id of heap h is in slot h % slots, or nowhere
//
// Law: ids are never used again, so a slot whose heap is gone matches no heap: a heap ends without
// visiting threads. A cache is given back by its owner alone (thread end, slot needed for another heap),
// and only while its heap is pinned alive; what ~heap finds is nobody's any more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/check/full_check.hpp>
#include <ashlar/core/config.hpp>
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

class heap_body {
 public:
  heap_body(const heap_body&) = delete;
  heap_body& operator=(const heap_body&) = delete;

  /// Returns: a heap, or null when the system refuses the memory for its own data.
  [[nodiscard]] static heap_body* create(const any_source& source, std::size_t budget_bytes,
                                         const char* name) noexcept;
  /// Effects: gives everything back. Requires: nobody uses the heap or a block of it any more.
  static void destroy(heap_body* body) noexcept;

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
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
  [[nodiscard]] bool owns(const void* address) noexcept { return engine_.owns(address); }
  std::size_t trim() noexcept;
  [[nodiscard]] bool prefault(std::size_t bytes, std::size_t threads) noexcept;
  void seal(bool on) noexcept { engine_.seal(on); }
  void collect(ashlar_stats& out) noexcept;
  /// Requires: no other thread is inside the heap.
  void audit() noexcept { engine_.audit(); }

  // For checks that stand between the heap and its callers.

  /// Effects: makes the heap count and check every call. Returns: false when memory for that was refused. Requires:
  /// called before anything else.
  [[nodiscard]] bool count_exactly() noexcept { return engine_.count_exactly(nullptr); }
  [[nodiscard]] heap_engine& engine() noexcept { return engine_; }
  /// Effects: forks copy a whole `checks`, too. Requires: it outlives the heap.
  void fork_with(detail::full_check& checks) noexcept;
  /// Effects: ends in a fault naming `call` when `block` does not lie where the heap's blocks do.
  void require_ours(const void* block, const char* call) noexcept {
    if (!engine_.owns(block)) [[unlikely]]
      not_ours(block, call);
  }

 private:
  friend struct heap_registry;
  class visit;

  heap_body() noexcept = default;

  [[nodiscard]] void* allocate_once(std::size_t size, std::size_t alignment) noexcept;
  [[noreturn]] ASHLAR_COLD void not_ours(const void* block, const char* call) const noexcept;

  heap_engine engine_;
  std::uint64_t id_ = 0;
  std::size_t budget_bytes_ = SIZE_MAX;
  std::atomic<std::uint32_t> pressure_{0};  ///< how often the heap was exhausted

  // The registry's, under its lock: living heaps, newest first, and who keeps this one from ending.
  heap_body* next_ = nullptr;
  heap_body* previous_ = nullptr;
  std::size_t pins_ = 0;
  os::told_mutex unpinned_;               ///< held, by nobody in particular, while there are pins
  detail::full_check* checks_ = nullptr;  ///< what is locked around a fork as well
};

}  // namespace ashlar::runtime
