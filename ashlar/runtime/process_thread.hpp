// runtime/process_thread.hpp: what the process heap knows of the calling thread, and how a thread
// goes in.
// Layer: runtime. For the process heap's own source files.
#pragma once

#include <atomic>
#include <cstdint>

#include <ashlar/runtime/fork_gate.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/reserve_heap.hpp>

namespace ashlar::detail {
class freed_blocks;
class test_scopes;
}  // namespace ashlar::detail

namespace ashlar::runtime {

/// What a thread knows of itself beyond its hit path.
struct thread_state {
  process_heap::cache* own = nullptr;
  fork_gate::pass pass;
  /// It has no cache, and gets none: it ends, and other libraries' handlers may still allocate and
  /// free.
  bool goes_without_cache = false;
  std::uint8_t early_frees = 0;  ///< of a thread that never had a cache
  /// The program's function of faults runs: it may have interrupted a call in the heap, so the
  /// reserve serves it, as it does beside a fork.
  bool outside = false;
  bool counts_calls = false;     ///< it has test scopes: every call misses
  bool at_limit = false;         ///< the program makes room, or the last try goes on
  bool in_source = false;        ///< a heap instance asks its source, with locks of its own
  bool source_refused = false;   ///< there the process heap had nothing, at its limit
  bool answers = false;          ///< at the control socket: beyond the limit the reserve serves it
  std::uint16_t in_reserve = 0;  ///< how often the thread is inside one of the reserve's heaps
  detail::guard_turn turn;
  const call_alias* alias = nullptr;      ///< full checks remember some calls by another name
  detail::test_scopes* scopes = nullptr;  ///< that count its calls; null: none, or they are paused
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local thread_state self;

/// What a thread keeps in its cache's memory, because that outlives a thread whose end nobody
/// tells.
struct owner_part {
  /// The address of its owner's `self`, never read through. Others compare it with theirs.
  std::atomic<const void*> thread;
  fork_gate::place place;
  detail::freed_blocks* quarantine;       ///< null: it has none (process_hardened.cpp)
  std::int8_t created_free[class_count];  ///< created_blocks.hpp's
  [[nodiscard]] ASHLAR_HOT static owner_part& of(process_heap::cache& own) noexcept {
    return process_heap::part_of(own);
  }
};

/// What stands between a thread and the heap while another thread forks, and what serves meanwhile.
extern fork_gate gate;
extern reserve_heap reserve;
inline constexpr unsigned pause_beside_fork_us = 50;

/// The calling thread inside the process heap. It is not while another thread forks, or in a signal
/// handler that interrupted it inside: then the reserve serves.
class visit {
 public:
  visit() noexcept : inside_(gate.enter(self.pass)) {}
  ~visit() {
    if (inside_) gate.leave(self.pass);
  }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;
  [[nodiscard]] bool is_inside() const noexcept { return inside_ && !self.outside; }

 private:
  bool inside_;
};

/// The calling thread looks at what the process heap knows of blocks in use. It may also while
/// another one forks, but is not inside then.
class look {
 public:
  look() noexcept : inside_(gate.begin_look(self.pass)) {}
  ~look() { gate.end_look(self.pass, inside_); }
  look(const look&) = delete;
  look& operator=(const look&) = delete;
  [[nodiscard]] bool is_inside() const noexcept { return inside_ && !self.outside; }

 private:
  bool inside_;
};

/// Returns: whether `block`, an address, is the reserve's. One load until it has served, and of a
/// block with a class in the heap's first range few more.
[[nodiscard]] ASHLAR_HOT bool is_of_reserve(const void* block) noexcept {
  return reserve.has_served() &&
         (self.own == nullptr || self.own->tops.tables.class_of(block) == 0) &&
         reserve.contains(block);
}
/// Effects: a block of the heap is freed after what keeps the thread out: a fork, or the handler
/// that it is in; then at the next fork or trim. In a child whose heap is lost there is no later.
void free_after_fork(void* block, const char* call) noexcept;

/// Returns: this thread's cache, attached now if it has none; null when it has to do without.
/// Requires: the thread is inside.
[[nodiscard]] process_heap::cache* own_cache() noexcept;
/// The same for a free. Null also for a thread that has freed little and allocated nothing: it may
/// be one that ends. The C library frees what belonged to other threads then, after the last moment
/// at which a thread's end is told.
[[nodiscard]] process_heap::cache* own_cache_to_free() noexcept;

/// Effects: from now on the thread's calls hit.
void enter_hit_paths(process_heap::cache& own) noexcept;

/// Effects: what of this thread's hit paths is a copy of its cache's tables is so again.
void see_growth() noexcept;

/// Effects: from now on every call of this thread misses.
void leave_hit_paths() noexcept;

/// Effects: does what other threads could not do while one forked, without the calling thread's
/// cache. Requires: this thread is inside, and was in no miss of the heap or the reserve before.
void settle_noted() noexcept;

}  // namespace ashlar::runtime
