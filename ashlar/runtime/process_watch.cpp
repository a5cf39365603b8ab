// runtime/process_watch.cpp: what looks at the process heap's calls is turned on, and looks at all
// blocks.
// Layer: runtime.
#include <cstring>
#include <utility>

#include <ashlar/core/fault.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/os/access_fault.hpp>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/runtime/front.hpp>
#include <ashlar/runtime/process_hardened.hpp>
#include <ashlar/runtime/process_watch.hpp>
#include <ashlar/runtime/sampling.hpp>

namespace ashlar::runtime {

namespace {
constinit detail::guarded_blocks guards;
}  // namespace

constinit detail::heap_watch the_watch{guards};

void start_watch(settings s) noexcept {
  s.exact = s.exact || detail::a_tool_wants_every_call();
  // What counts every call looks at its block, too.
  decide_hardening(s.harden && !s.exact, s.shuffle);
  if (s.exact && the_heap.count_exactly(self.own)) {
    the_watch.counts.store(true, std::memory_order_relaxed);
    if (s.full) the_watch.checks.start(s.checks);
  }
  // Without the handler a guarded access still ends the process, though nothing tells of it.
  if (guards.start(s.guards))
    static_cast<void>(os::watch_access_faults([](const os::access_fault& f) noexcept {
      guards.report(f);
      if (is_of_no_bytes(f.address))
        ashlar_fault(
            {.kind = fault_kind::access_behind, .call = os::name_of(f.kind), .address = f.address});
    }));
  const bool captures = the_watch.checks.is_on() || guards.is_on();
  if (captures || is_hardened()) os::note_call_filters();
  if (captures) os::prepare_to_capture();
  const bool guards_look = guards.is_on() && s.sampling.guard_one_of == 0;
  if (!the_watch.counts_exactly() && !guards_look && !is_hardened()) {
    the_front.store(front::plain, std::memory_order_relaxed);
    if (self.own != nullptr) enter_hit_paths(*self.own);
  }
  if constexpr (is_drop_in) start_sampling(s.sampling);
}

namespace {
/// Effects: every call of every thread misses from now on. Returns: false, and nothing changes,
/// when another thread has a cache: its hit paths cannot be reached.
bool stop_hitting() noexcept {
  if (!is_plain()) return true;
  // A thread that gets a cache is counted first and looks at this flag then. So it sees the flag,
  // or it is seen here.
  the_front.store(front::watched);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (the_heap.cache_count() > (self.own != nullptr ? 1 : 0)) {
    the_front.store(front::plain);
    return false;
  }
  if (self.own != nullptr) leave_hit_paths();
  return true;
}
}  // namespace

bool fill_blocks(unsigned char byte) noexcept {
  if (byte != 0 &&
      (is_hardened() || the_watch.checks.is_on() || the_watch.tells_memcheck() || !stop_hitting()))
    return false;
  the_watch.fill.store(byte, std::memory_order_relaxed);
  return true;
}

bool tells_forms_apart() noexcept {
  return is_hardened() || has_full_checks() || self.counts_calls;
}

const char* alias_of(const char* call) noexcept {
  const call_alias* const alias = self.alias;
  if (alias == nullptr || alias->call_ == nullptr) return call;
  return std::strcmp(call, alias->call_) == 0 ? alias->instead_ : call;
}

call_alias::call_alias(const char* call, const char* instead) noexcept
    : call_(call), instead_(instead), before_(std::exchange(self.alias, this)) {}
call_alias::~call_alias() { self.alias = before_; }

bool expect_size_slow(const void* block, std::size_t size, const char* call) noexcept {
  const front by = next_front(front::sampled, block);
  if (by == front::hardened) hardened_expect_size(block, size, call);
  if (by == front::hardened || by == front::reserved) return true;
  if (guards.contains(block)) return guards.expect_size(block, size, call);
  return !the_watch.checks.is_on() || the_watch.checks.expect_size(block, size, call);
}

std::size_t check_blocks(const char* call) noexcept {
  const look at;
  const std::size_t guarded = guards.is_on() ? guards.look(call) : 0;
  const std::size_t hardened_blocks = is_hardened() && at.is_inside() ? hardened_look(call) : 0;
  return guarded + hardened_blocks + (the_watch.checks.is_on() ? the_watch.checks.look(call) : 0);
}

}  // namespace ashlar::runtime
