// runtime/reserve_heap.hpp: serves the threads that need the process heap while another thread
// forks, and signal handlers that interrupted a call of their own thread inside.
// Layer: runtime.
//
//   allocate  -->  a heap of its own, made at the first need; no fork takes its locks
//   free      -->  of its own blocks at any time; what belongs to the process heap goes on a list,
//                  which the forking thread empties after the fork
//
// A child of fork has none of the threads that were inside the reserve. If there were any, the
// child gives that heap up: its blocks stay as they are, a free of one does nothing, and the next
// need makes a new heap.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/core/lock_order.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/runtime/process_heap.hpp>

namespace ashlar::runtime {

// Each function may be called by any thread at any time, but for those that say otherwise. None
// throws.
class reserve_heap {
 public:
  constexpr reserve_heap() noexcept = default;
  reserve_heap(const reserve_heap&) = delete;
  reserve_heap& operator=(const reserve_heap&) = delete;

  /// Returns: a block, zero if it is to be `zeroed`; null when out of memory. Requires: alignment
  /// is a power of two.
  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment,
                               bool zeroed = false) noexcept;

  /// Returns: whether there has been a need.
  [[nodiscard]] bool has_served() const noexcept {
    return newest_.load(std::memory_order_acquire) != nullptr;
  }
  /// Returns: whether `block` is one of these.
  [[nodiscard]] bool contains(const void* block) noexcept { return find(block) != nullptr; }
  /// Requires: contains(block). Ends in a fault naming `call` when it is no block in use.
  void free(void* block, const char* call) noexcept;
  [[nodiscard]] std::size_t usable_size(const void* block, const char* call) noexcept;
  [[nodiscard]] bool is_live(const void* block) noexcept;

  /// Effects: notes a block that is not of the reserve, or a cache whose thread has ended. Without
  /// memory for a note it is lost.
  void free_later(void* block, const char* call) noexcept { note(block, call); }
  void detach_later(process_heap::cache* own) noexcept { note(own, nullptr); }
  /// Effects: calls free(block, call) and detach(cache) for all that was noted.
  template <class Free, class Detach>
  void for_each_noted(Free free, Detach detach) noexcept {
    for (later* n = noted_.exchange(nullptr, std::memory_order_acquire); n != nullptr;) {
      later* const done = std::exchange(n, n->next);
      if (done->call != nullptr)
        free(done->what, done->call);
      else
        detach(static_cast<process_heap::cache*>(done->what));
      this->free(done, "free");
    }
  }

  /// Returns: whether the calling thread is inside, which a signal handler has interrupted.
  [[nodiscard]] static bool is_in_use_here() noexcept;
  /// Effects: for the child of a fork: a heap that another thread was inside of serves no more.
  /// Requires: one thread.
  void give_up_what_was_in_use() noexcept;

  /// Effects: gives free pages back. Returns: bytes.
  std::size_t trim() noexcept;
  /// Effects: adds the figures of all that serves or has served.
  void add_to(ashlar_stats& stats) noexcept;

 private:
  friend struct process_layout;  // tells where the members are
  struct generation {
    process_heap heap;
    std::atomic<unsigned> visitors{0};
    bool given_up = false;
    generation* older = nullptr;
    detail::ranked<os::mutex, detail::lock_rank::reserve_figures>::type figures_mutex;
    ashlar_stats figures;  ///< written and read at once: it is too large for a thread's small stack
  };
  struct later {
    later* next;
    void* what;
    const char* call;  ///< null: `what` is a cache
  };
  class visit;

  [[nodiscard]] generation* find(const void* block) noexcept;
  [[nodiscard]] generation* serving() noexcept;
  void note(void* what, const char* call) noexcept;

  std::atomic<generation*> newest_{nullptr};
  std::atomic<later*> noted_{nullptr};
};

}  // namespace ashlar::runtime
