// What an execution of the model has beside its threads: faults, and the locks that each holds.
#include <tests/interleave/model_std.hpp>
// first of all
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <tests/interleave/faults.hpp>

#include <ashlar/core/fault.hpp>
#include <ashlar/core/lock_order.hpp>

namespace interleave {
int faults = 0;
}

extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  ++interleave::faults;
  if (interleave::in_thread()) {
    // No program's misuse, but an invariant of ours: the order of locks, for one.
    if (what.kind == ashlar::fault_kind::corrupted) interleave::fail(what.call);
    interleave::end_thread();
  }
  std::fprintf(stderr, "%s: %s\n", what.call, ashlar::describe(what.kind));
  std::abort();
}
extern "C" void ashlar_misuse(const ashlar::fault& what) noexcept { ashlar_fault(what); }
extern "C" void ashlar_report(const ashlar::fault&) noexcept {}

namespace ashlar::detail {

// For the check of the order of locks (core/lock_order.hpp).
held_locks& own_held_locks() noexcept {
  static held_locks of[interleave::most_threads + 1];  // the last outside of the threads
  static ::std::uint64_t execution = 0;
  if (execution != interleave::execution()) {  // the last one may have ended in the middle
    execution = interleave::execution();
    for (held_locks& held : of) held = {};
  }
  return of[interleave::in_thread() ? interleave::self() : interleave::most_threads];
}

}  // namespace ashlar::detail
