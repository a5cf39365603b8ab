// support/coverage_at_abort.cpp: in a coverage build, a process that aborts writes its counts first, as one that exits
// does. What ends in ashlar_fault is tested in children that abort: without this, nothing of it would count.
#include <csignal>

extern "C" {
#include <gcov.h>
}

namespace {

// The handler returns: abort() then takes the default action, so the parent sees the signal that it expects.
[[gnu::constructor]] void write_counts_at_abort() {
  std::signal(SIGABRT, [](int) { __gcov_dump(); });
}

}  // namespace
