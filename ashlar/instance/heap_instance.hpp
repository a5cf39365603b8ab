// instance/heap_instance.hpp: the whole of a heap instance, and a thread's table of instances.
// Layer: instance. For heap_body.cpp; callers see heap_body.hpp.
//
// Law: a thread's cache is given back by its owner alone (thread end, slot needed for another
// heap), and only while its heap is pinned alive; what ~heap finds is nobody's any more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/check/watched_heap.hpp>
#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/instance/heap_body.hpp>
#include <ashlar/instance/heap_space.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/runtime/memory_limit.hpp>

namespace ashlar::runtime {

struct heap_config {
  using space = heap_space;
  using mutex = os::told_mutex;
};
using heap_engine = basic_heap<heap_config>;
static_assert(std::is_base_of_v<instance_hits, heap_engine>,
              "the hits of heap_body.hpp must be the engine's own");

/// What a thread knows of heap instances.
struct heap_table : heap_hits {
  std::uint32_t pressure_seen[heap_slots];
  bool busy[heap_slots];  ///< the thread is inside this heap now, so the slot must stay
};

/// Each function of `heap_body` is called of one of these.
class heap_instance final : public heap_body {
 public:
  [[nodiscard]] const char* name() const noexcept { return engine_.name(); }

  // The registry's, under its lock: living heaps, newest first.
  heap_instance* next = nullptr;
  heap_instance* previous = nullptr;

 private:
  friend class heap_body;
  friend struct heap_registry;
  friend struct instances_layout;
  class visit;

  /// The calls at which nothing looks.
  struct plain_calls {
    static constexpr bool is_of_process = false;
    heap_instance* body;
    [[nodiscard]] heap_engine& engine() const noexcept { return body->engine_; }
    [[nodiscard]] detail::new_block take(std::size_t size, std::size_t alignment,
                                         bool) const noexcept {
      return {body->take(size, alignment)};
    }
    void give(void* block, const char* call) const noexcept { body->give(block, call); }
  };

  static constexpr std::uint64_t never_hit_id = UINT64_MAX;
  static constexpr unsigned no_soft_limit = 100;

  [[nodiscard]] bool start_checks(const heap_checks& checks) noexcept;
  /// Effects: the heap holds no more than `bytes` from now on, 0: as much as there is. What it has
  /// already it keeps.
  void set_budget(std::uint64_t bytes) noexcept;
  ASHLAR_COLD void cross() noexcept;
  /// Effects: the program's function makes room. Returns: whether there is one, and it may run.
  ASHLAR_COLD bool make_room(std::size_t bytes_to_drop) noexcept;
  [[nodiscard]] bool is_watched() const noexcept { return watch_.counts_exactly(); }
  [[nodiscard]] detail::watched_heap<plain_calls> watched_calls() noexcept {
    return {watch_, plain_calls{this}};
  }
  [[nodiscard]] void* take(std::size_t size, std::size_t alignment) noexcept;
  [[nodiscard]] void* take_once(std::size_t size, std::size_t alignment) noexcept;
  void give(void* block, const char* call) noexcept;

  heap_engine engine_;
  detail::heap_watch watch_;
  limit_answer answer_;
  std::atomic<unsigned> soft_percent_{no_soft_limit};
  std::uint64_t id_ = 0;  ///< `hit_id_` is the same, but for a heap with checks
  std::atomic<std::size_t> budget_bytes_{SIZE_MAX};
  std::atomic<std::uint32_t> pressure_{0};  ///< how often the heap was exhausted

  // The registry's, under its lock: which threads keep this heap from ending.
  std::size_t pins_ = 0;
  /// Held while there are pins. It has no rank, because another thread may unlock it than locked
  /// it. A thread waits for it with no lock held.
  os::told_mutex unpinned_;
};

}  // namespace ashlar::runtime
