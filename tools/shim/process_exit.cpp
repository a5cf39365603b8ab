// tools/shim/process_exit.cpp. Layer: shim.
//
// Only its parent learns from the system how a process ended, and the recorder is the parent of one process. So each
// process tells it itself. What a signal kills tells nothing.
#include "tools/shim/process_exit.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>

#include "tools/shim/log.hpp"
#include "tools/shim/memory_at_end.hpp"

namespace ashlar::shim {

static void note_exit(int status) {
  if (the_process == nullptr || the_process->generation == 0) return;
  trace::spool_process& own = the_spool->processes[the_process->index];
  // A child by vfork() has its parent's memory.
  if (!os::has_new_call_filter() && own.pid != static_cast<std::uint32_t>(::getpid())) return;
  // A signal handler's _exit() in the middle of an event leaves no room for another one.
  if (!own_log.inside) {
    put_untouched_of_living();
    // Not where the recorder searches the process's memory then: it looks by itself.
    if (is_on() && the_spool->looks_at_ends == 0 && !os::has_new_call_filter()) put_memory_at_end();
  }
  own.exit_status.store(status & 0xff, std::memory_order_relaxed);
  own.exit_ticks.store(now(), std::memory_order_release);
}

void watch_exit() {
  if (the_spool != nullptr) ::on_exit([](int status, void*) { note_exit(status); }, nullptr);
}

}  // namespace ashlar::shim

namespace {

[[noreturn]] void end_now(int status) {
  ashlar::shim::note_exit(status);
  for (;;) ::syscall(SYS_exit_group, status);
}

}  // namespace

extern "C" {

// The C library's own does the same, but for telling. A child by vfork() calls it, so it changes nothing of the process.
[[gnu::visibility("default")]] void _exit(int status) {
  end_now(status);
}
[[gnu::visibility("default")]] void _Exit(int status) noexcept {
  end_now(status);
}

}  // extern "C"
