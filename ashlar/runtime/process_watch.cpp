// runtime/process_watch.cpp: what looks at the process heap's calls is turned on, and looks at all blocks.
// Layer: runtime.
#include <cstring>
#include <utility>

#include <ashlar/core/memory_tools.hpp>
#include <ashlar/os/access_fault.hpp>
#include <ashlar/runtime/process_watch.hpp>

namespace ashlar::runtime {

namespace {
constinit detail::guarded_blocks guards;
}  // namespace

constinit detail::heap_watch the_watch{guards};
constinit std::atomic<bool> every_call_misses{false};

void start_watch(settings s) noexcept {
  s.exact = s.exact || detail::a_tool_wants_every_call();
  // First, so that no call in between takes itself for a plain one.
  every_call_misses.store(s.exact || s.guards.one_of != 0, std::memory_order_relaxed);
  if (s.exact && the_heap.count_exactly(self.own)) {
    the_watch.counts.store(true, std::memory_order_relaxed);
    if (s.full) the_watch.checks.start(s.checks);
  }
  // Without the handler a guarded access still ends the process, though nothing tells of it.
  if (guards.start(s.guards))
    static_cast<void>(
        os::watch_access_faults([](const os::access_fault& f) noexcept { guards.report(f); }));
  const bool looked_at = the_watch.counts_exactly() || guards.is_on();
  every_call_misses.store(looked_at, std::memory_order_relaxed);
  if (looked_at && self.own != nullptr) leave_hit_paths(*self.own);
}

namespace {
/// Effects: every call of every thread misses from now on. Returns: false, and nothing changes,
/// when another thread has a cache: its hit paths cannot be reached.
bool stop_hitting() noexcept {
  if (every_call_misses.load()) return true;
  // A thread that gets a cache is counted first and looks at this flag then. So it sees the flag, or
  // it is seen here.
  every_call_misses.store(true);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (the_heap.cache_count() > (self.own != nullptr ? 1 : 0)) {
    every_call_misses.store(false);
    return false;
  }
  if (self.own != nullptr) leave_hit_paths(*self.own);
  return true;
}
}  // namespace

bool fill_blocks(unsigned char byte) noexcept {
  if (byte != 0 && (the_watch.checks.is_on() || the_watch.tells_memcheck() || !stop_hitting()))
    return false;
  the_watch.fill.store(byte, std::memory_order_relaxed);
  return true;
}

const char* told_as(const char* call) noexcept {
  return self.call != nullptr && std::strcmp(call, self.call) == 0 ? self.instead : call;
}

calls_told_as::calls_told_as(const char* call, const char* instead) noexcept
    : call_before_(std::exchange(self.call, call)),
      instead_before_(std::exchange(self.instead, instead)) {}
calls_told_as::~calls_told_as() {
  self.call = call_before_;
  self.instead = instead_before_;
}

void expect_size(const void* block, std::size_t size, const char* call) noexcept {
  if (guards.contains(block))
    guards.expect_size(block, size, call);
  else if (the_watch.checks.is_on())
    the_watch.checks.expect_size(block, size, call);
}

std::size_t check_blocks(const char* call) noexcept {
  const look at;
  const std::size_t guarded = guards.is_on() ? guards.look(call) : 0;
  return guarded + (the_watch.checks.is_on() ? the_watch.checks.look(call) : 0);
}

}  // namespace ashlar::runtime
