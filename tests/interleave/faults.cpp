#include <tests/interleave/model_std.hpp>
// first of all
#include <cstdio>
#include <cstdlib>
#include <tests/interleave/faults.hpp>

#include <ashlar/core/fault.hpp>

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
extern "C" void ashlar_misuse(const ashlar::fault& what) noexcept {
  ashlar_fault(what);
}
extern "C" void ashlar_report(const ashlar::fault&) noexcept {}
