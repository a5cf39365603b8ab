// runtime/background.cpp: when the library's own thread starts, sleeps, scans and ends.
// Layer: runtime.
#include <algorithm>

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/memory_pressure.hpp>
#include <ashlar/os/pause.hpp>
#include <ashlar/os/system_space.hpp>
#include <ashlar/runtime/background.hpp>
#include <ashlar/runtime/last_thread.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace ashlar::runtime {

constinit background the_background;

namespace {

/// A heap below this has little to give back; most processes of a shell script stay below it.
constexpr std::size_t heap_bytes_min = std::size_t{2} << 20;
/// So much more free memory is worth waking up for.
constexpr std::size_t worth_waking_bytes = std::size_t{1} << 20;

/// The thread sleeps when so many scans in turn, and all slabs twice, gave nothing back. A block
/// that the stash held goes through four: twice until it is sorted back, then the delay, which is
/// two more.
constexpr unsigned scans_before_sleep = 6;
constexpr unsigned passes_before_sleep = 2;

/// Between two scans the thread naps, at most so long, so that it sees that memory became short.
constexpr std::int64_t nap_ms_max = 1'000;
/// And at least so long, whatever the delay says: the thread must not take a processor for itself.
constexpr std::int64_t nap_ms_min = 10;

/// What ends the process waits no longer than this. A thread that left a lock of the heap closed
/// for ever (exit called by a signal's handler that interrupted it) must not make the end hang.
constexpr unsigned end_ms_max = 5'000;

/// Effects: a whole scan, in steps, each of which takes and leaves the heap's locks.
reclaim_progress whole_scan(bool at_once, const std::atomic<bool>& must_end) noexcept {
  reclaim_progress progress;
  progress.at_once = at_once;
  while (!must_end.load(std::memory_order_relaxed) && reclaim_step(progress)) {
  }
  return progress;
}

}  // namespace

// ---- called by the process's threads ------------------------------------------------------------

bool background::change(state from, state to) noexcept {
  return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

bool background::turn(bool on) noexcept {
  if (!on) {
    const bool was_on = state_.load(std::memory_order_relaxed) != state::off;
    end(state::off);
    return was_on;
  }
  os::note_call_filters();
  return !change(state::off, state::resting);
}

void background::start_if_worth() noexcept {
  if (the_heap.supply().committed_bytes() < heap_bytes_min || the_heap.reclaim_interval_ms() < 0 ||
      the_heap.is_sealed() || !change(state::resting, state::changing))
    return;
  // The system may allocate and free for the thread. Meanwhile the state makes that a plain miss.
  idle_when_asleep_.store(0, std::memory_order_relaxed);
  const bool started = thread_.start(run);
  state_.store(started ? state::asleep : state::off, std::memory_order_release);
  the_last_thread.start_if_needed();
  if (started) wake_if_worth();
}

bool background::has_more_to_do() noexcept {
  const std::size_t idle = the_heap.idle_bytes();
  const std::size_t before = idle_when_asleep_.load(std::memory_order_relaxed);
  // What was idle and is used again can become idle again.
  if (idle < before) idle_when_asleep_.store(idle, std::memory_order_relaxed);
  return idle >= before + worth_waking_bytes && the_heap.reclaim_interval_ms() >= 0 &&
         !the_heap.is_sealed();
}

void background::wake_if_worth() noexcept {
  if (has_more_to_do() && change(state::asleep, state::awake)) bell_.ring();
}

void background::end(state last) noexcept {
  for (unsigned waited_ms = 0;; ++waited_ms) {
    const state now = state_.load(std::memory_order_relaxed);
    if (now == last || now == state::off || (now == state::resting && change(now, last))) return;
    if ((now == state::asleep || now == state::awake) && change(now, state::changing)) break;
    if (waited_ms == end_ms_max) return;
    os::pause_us(1000);  // another thread starts or stops it
  }
  must_end_.store(true, std::memory_order_release);
  bell_.ring();
  if (!thread_.join_within(end_ms_max)) return;  // for ever in between: nobody starts another
  must_end_.store(false, std::memory_order_relaxed);
  bell_.reset();
  the_heap.let_misses_reclaim(true);
  state_.store(last, std::memory_order_release);
}

void background::forget_thread() noexcept {
  if (state_.load(std::memory_order_relaxed) == state::off) return;
  must_end_.store(false, std::memory_order_relaxed);
  bell_.reset();
  the_heap.let_misses_reclaim(true);
  state_.store(state::resting, std::memory_order_relaxed);
}

// ---- the thread itself --------------------------------------------------------------------------

void background::run() noexcept {
  use_no_cache();
  the_background.sleep_and_work();
}

void background::sleep_and_work() noexcept {
  while (!must_end_.load(std::memory_order_acquire)) {
    bell_.wait(os::bell::for_ever);
    if (state_.load(std::memory_order_acquire) == state::awake) work();
  }
}

void background::work() noexcept {
  the_heap.let_misses_reclaim(false);
  const os::memory_group group;
  os::pressure_watch watch;
  std::uint64_t looked_ms = os::system_space::now_ms();
  unsigned scans = 0, passes = 0;
  for (;;) {
    const std::int64_t interval_ms = the_heap.reclaim_interval_ms();
    bell_.wait(std::clamp(interval_ms, nap_ms_min, nap_ms_max));
    if (must_end_.load(std::memory_order_relaxed)) break;
    const std::uint64_t now_ms = os::system_space::now_ms();
    os::memory_pressure figures;
    const bool is_short = group.read(figures) && watch.is_short(figures, now_ms);
    if (interval_ms >= 0) {
      if (!is_short && now_ms - looked_ms < static_cast<std::uint64_t>(interval_ms)) continue;
      looked_ms = now_ms;
      const reclaim_progress seen = whole_scan(is_short, must_end_);
      scans = seen.bytes != 0 ? 0 : scans + 1;
      passes = seen.bytes != 0 ? 0 : passes + (seen.saw_last_slab ? 1u : 0u);
      if (scans < scans_before_sleep || passes < passes_before_sleep) continue;
    }
    if (fall_asleep()) break;
  }
  the_heap.let_misses_reclaim(true);
}

/// Returns: whether the thread is to leave its work: it is asleep, or is being stopped.
bool background::fall_asleep() noexcept {
  idle_when_asleep_.store(the_heap.idle_bytes(), std::memory_order_relaxed);
  if (!change(state::awake, state::asleep)) return true;
  // What was freed in between rang no bell.
  return !has_more_to_do() || !change(state::asleep, state::awake);
}

}  // namespace ashlar::runtime
