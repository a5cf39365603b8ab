// runtime/process_thread.cpp: the process heap's threads coming and going, forks, start and end.
// Layer: runtime.
#include <atomic>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/fault/response.hpp>
#include <ashlar/heap/interface_hits.hpp>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/pause.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/sanitizer.hpp>
#include <ashlar/runtime/background.hpp>
#include <ashlar/runtime/control.hpp>
#include <ashlar/runtime/created_blocks.hpp>
#include <ashlar/runtime/drop_in.hpp>
#include <ashlar/runtime/front.hpp>
#include <ashlar/runtime/last_thread.hpp>
#include <ashlar/runtime/memory_limit.hpp>
#include <ashlar/runtime/process_hardened.hpp>
#include <ashlar/runtime/process_watch.hpp>
#include <ashlar/runtime/sampling.hpp>
#include <ashlar/runtime/settings.hpp>
#include <ashlar/runtime/test_scopes.hpp>

namespace ashlar::runtime {

constinit const detail::cache_tops no_tops = detail::tops_without_room();
[[gnu::tls_model("initial-exec")]] constinit thread_local hit_state own_hits;
[[gnu::tls_model("initial-exec")]] constinit thread_local thread_state self;
#if defined(__ELF__)
/// `own_hits` by a name that no other copy of the library can have taken.
[[gnu::alias("_ZN6ashlar7runtime8own_hitsE"), gnu::visibility("hidden"),
  gnu::tls_model("initial-exec")]] extern constinit thread_local hit_state hits_of_this_copy;
#endif

constinit fork_gate gate;
constinit reserve_heap reserve;
constinit bool malloc_is_anothers = false;

namespace {
/// Effects: in the drop-in library, operators that are made of others hit from now on, if they may.
template <class HitState>
void let_made_forms_hit(HitState& state) noexcept {
  if constexpr (is_drop_in) {
    if (!serves_all_operators()) return;
    state.end_of_made_forms = state.tops->tables.end;
    state.sizes_of_made_forms = detail::size_end;
  }
}
/// Effects: those operators that hit do so for all blocks that the cache's tables tell of.
template <class HitState>
void let_made_forms_see(HitState& state) noexcept {
  if constexpr (is_drop_in)
    if (state.end_of_made_forms != 0) state.end_of_made_forms = state.tops->tables.end;
}
/// Effects: nothing hits from now on. The gap of samples stays.
template <class HitState>
void let_nothing_hit(HitState& state) noexcept {
  HitState none;
  if constexpr (is_drop_in) none.gap = state.gap;
  state = none;
}
}  // namespace

void leave_hit_paths() noexcept { let_nothing_hit(own_hits); }
void enter_hit_paths(process_heap::cache& own) noexcept {
  own_hits.tops = &own.tops;
  let_made_forms_hit(own_hits);
}

void see_growth() noexcept { let_made_forms_see(own_hits); }

namespace {
/// While it lives, the calling thread works without its cache: a signal handler may have
/// interrupted it in a hit, which changes that and cannot be told.
class without_cache {
 public:
  without_cache() noexcept
      : own_(std::exchange(self.own, nullptr)),
        before_(std::exchange(self.goes_without_cache, true)) {}
  ~without_cache() {
    self.own = own_;
    self.goes_without_cache = before_;
  }
  without_cache(const without_cache&) = delete;
  without_cache& operator=(const without_cache&) = delete;

 private:
  process_heap::cache* own_;
  bool before_;
};
}  // namespace

void settle_noted() noexcept {
  const fork_gate::calls_out to_free(self.pass);
  const without_cache alone;
  const scopes_paused others;  // another thread has freed these
  reserve.for_each_noted(
      [](void* block, const char* call) {
        if (!is_cleared_call(call)) return deallocate_slow(block, call);
        const visit here;
        plain_calls::give(block, call);
      },
      [](process_heap::cache* ended) {
        const visit here;
        the_heap.detach(ended);
      });
}
namespace {

using cache = process_heap::cache;

/// Effects: does what was noted, unless another thread forks. A thread that has noted something
/// calls it, since the fork may have been done with the list before; and a thread that has forked,
/// since the other may have found the gate still closed. One of them sees what the other did.
void settle_late() noexcept {
  if (reserve.is_in_use_here()) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (const visit here; here.is_inside()) settle_noted();
}

}  // namespace

void free_after_fork(void* block, const char* call) noexcept {
  if (gate.is_lost()) return;
  reserve.free_later(block, call);
  settle_late();
}

namespace {

// ---- threads ------------------------------------------------------------------------------------

void end_thread(void* own) noexcept {
  end_test_scopes();
  end_quarantine();
  leave_hit_paths();
  if constexpr (!is_drop_in) xmalloc_blocks.thread_ends(*static_cast<cache*>(own));
  self.own = nullptr;
  self.goes_without_cache = true;
  gate.quit(self.pass);  // its place is in the cache
  // If it is detached later, the next thread with this one's memory must not take it for a cache of
  // its own.
  owner_part::of(*static_cast<cache*>(own)).thread.store(nullptr, std::memory_order_relaxed);
  if (const visit here; here.is_inside()) {
    the_heap.detach(static_cast<cache*>(own));
  } else {
    reserve.detach_later(static_cast<cache*>(own));
    settle_late();
  }
  the_background.note_free();
  const bool was_seen = the_last_thread.is_seen(&self);
  if (was_seen) the_last_thread.see(nullptr);
  if (the_heap.cache_count() == 0) {
    // The process ends with its last thread, and that must be one of its own: it runs what is left
    // to do at exit.
    the_background.stop();
    the_control.stop();
    the_last_thread.stop();
  } else if (was_seen && (the_background.is_on() || the_control.is_on())) {
    the_last_thread.start_if_needed();
  }
}

constinit os::thread_end thread_exit;  // started with the first cache

// ---- faults -------------------------------------------------------------------------------------

/// While it lives, the calling thread is outside the heap: every call misses, and the reserve
/// serves. What it frees of the heap's waits for the next trim or fork.
class outside_heap {
 public:
  outside_heap() noexcept
      : before_(std::exchange(self.outside, true)),
        hits_(self.own != nullptr && own_hits.tops == &self.own->tops) {
    if (hits_) leave_hit_paths();
  }
  ~outside_heap() {
    if (hits_) enter_hit_paths(*self.own);
    self.outside = before_;
  }
  outside_heap(const outside_heap&) = delete;
  outside_heap& operator=(const outside_heap&) = delete;

 private:
  bool before_;
  bool hits_;
};

void run_outside(void (*run)(const void*), const void* with) noexcept {
  const outside_heap here;
  run(with);
}

// ---- fork ---------------------------------------------------------------------------------------

/// So long a fork waits for a thread that is inside. None stays for more than a few system calls,
/// but for one that reports a misuse. A fork in a signal handler may have interrupted a call that
/// holds a lock of the heap: then a thread that waits for that lock does not come out at all, and
/// the reserve can serve that child.
constexpr std::uint64_t fork_waits_ms = 2000;
constexpr std::uint64_t fork_in_handler_waits_ms = 10;

void before_fork() noexcept {
  const bool interrupted = self.pass.depth != 0 || reserve.is_in_use_here();
  const std::uint64_t until =
      os::system_space::now_ms() + (interrupted ? fork_in_handler_waits_ms : fork_waits_ms);
  const auto wait = [until](unsigned round) noexcept {
    // Most are out within a microsecond.
    if (round < 100)
      detail::cpu_relax();
    else
      os::pause_us(pause_beside_fork_us);
    return os::system_space::now_ms() < until;
  };
  gate.close(self.pass, wait, interrupted);
}
void after_fork_in_parent() noexcept {
  // While the gate is closed: where threads fork all the time, it is open too seldom. If a signal
  // handler has interrupted one of the heaps, which may have locks, the next fork or trim does it.
  if (self.pass.depth == 0 && !reserve.is_in_use_here() && !gate.is_lost()) settle_noted();
  gate.open(self.pass);
  settle_late();
}
void after_fork_in_child() noexcept {
  os::note_fork_child();
  the_background.forget_thread();
  the_control.forget_thread();
  the_last_thread.forget();
  the_last_thread.see(self.own != nullptr ? &self : nullptr);
  reserve.give_up_what_was_in_use();
  const bool interrupted = self.pass.depth != 0;
  const bool whole = gate.open_in_child(self.pass);
  hardened_looker.forget_others(&self);
  if (interrupted) return;  // a call of this very thread goes on, and may have locks
  // A thread that does not exist here may have looked at something, with a lock.
  the_heap.unlock_all();
  the_watch.guards->unlock();
  the_watch.checks.unlock();
  if constexpr (is_drop_in) sample_after_fork();
  if (!whole) return;
  settle_noted();
  the_heap.keep_only(self.own);
}

// ---- start --------------------------------------------------------------------------------------

/// Effects: makes fork safe, watches threads' ends and applies the environment's settings, each
/// once. Called with the first cache and by our constructor, whichever comes first: the system runs
/// the handlers that prepare a fork in the reverse order of their registration, and another
/// library's may allocate, so ours, which lock the heap, have to be registered before it.
/// Requires: no other thread yet, which holds until constructors have run. While nobody knows the
/// environment, a later call reads the settings.
void start_process() noexcept {
  static constinit bool started = false;
  static constinit bool configured = false;
  if (!started) {
    started = true;
    os::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
    thread_exit.start(end_thread);
    if (self.own != nullptr) the_last_thread.see(&self);
  }
  char** const environment = process_environment();
  if (configured || environment == nullptr) return;
  configured = true;
  const settings s = read_settings(environment);
  detail::respond_to_faults_as(s.faults);
  detail::call_back_by(run_outside);
  the_heap.set_purge_policy(s.purge);
  if (s.limit_bytes != 0) the_limit.set(s.limit_bytes);
  if (s.ends_at_limit) the_limit.end_at_refusals();
  choose_huge_pages(s.huge_pages);
  if (s.background) static_cast<void>(the_background.turn(true));
  if (s.control != nullptr) the_control.allow(s.control);
  start_watch(s);
}

}  // namespace

process_heap::cache* own_cache() noexcept {
  if (self.own != nullptr) [[likely]]
    return self.own;
  if (self.goes_without_cache) return nullptr;
  // A cache of this very thread, which has none: its owner had this thread's memory before it, and
  // nobody was told of its end. Then the first heap use of that thread was in the last round of its
  // keys' destructors.
  cache* own = the_heap.attach(
      [](cache& c) { return owner_part::of(c).thread.load(std::memory_order_relaxed) == &self; });
  if (own == nullptr) return nullptr;
  owner_part::of(*own).thread.store(&self, std::memory_order_relaxed);
  // First usable, then watched: the system's bookkeeping may itself allocate.
  self.own = own;
  if (the_front.load() == front::plain && !self.counts_calls)  // ordered: stop_hitting
    enter_hit_paths(*own);
  gate.join(self.pass, owner_part::of(*own).place);
  const fork_gate::calls_out to_others(self.pass);
  if (the_heap.cache_count() == 1) start_process();
  if (!thread_exit.watch(own)) end_thread(own);
  return self.own;
}

process_heap::cache* own_cache_to_free() noexcept {
  // A thread that ends frees what is left of one other thread, or of a few.
  constexpr std::uint8_t few = 64;
  if (self.own != nullptr) [[likely]]
    return self.own;
  if (self.early_frees == few) return own_cache();
  ++self.early_frees;
  return nullptr;
}

namespace {

/// Returns: whether a copy of the library that was loaded before has taken this one's place: a
/// plugin that links libashlar.a, whose names are visible, in a program with libashlar.so. All
/// calls go to that copy, so this one does nothing.
bool serves_nobody() noexcept {
#if defined(__ELF__)
  const void* called = &own_hits;
  asm("" : "+r"(called));  // the compiler believes that it knows
  return called != &hits_of_this_copy;
#else
  return false;
#endif
}

/// So that the heap starts while there is one thread. The drop-in library's comes before all
/// others' (-z initfirst), the C library's included, so `environ` may not be set yet: the loader
/// passes it.
[[gnu::constructor(101)]] void start_early(int, char**, char** environment) noexcept {
  note_environment(environment);
  if constexpr (is_drop_in) {
    malloc_is_anothers = !serves_this_process();
    if (malloc_is_anothers) return;
  }
  if (os::heap_is_the_sanitizers() || serves_nobody()) return;  // nobody will use this heap
  // If memory is refused now, the first allocation tries again and reports it.
  if (const visit here; here.is_inside()) static_cast<void>(own_cache());
  start_process();
}

/// What was spoilt and never freed is found at last. Late: other destructors still free.
[[gnu::destructor(101)]] void look_at_exit() noexcept {
  if (serves_nobody()) return;
  the_background.stop_for_good();
  the_control.end_with_process();
  // A signal handler that calls exit may have interrupted a call that has locks.
  if (self.pass.depth == 0) check_blocks("exit");
}

}  // namespace

}  // namespace ashlar::runtime
