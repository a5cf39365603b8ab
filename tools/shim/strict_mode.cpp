// tools/shim/strict_mode.cpp: a thread that goes where nothing can be recorded. Layer: shim.
//
// In SECCOMP_MODE_STRICT the system ends a thread that reads the clock of the processor, and one that makes any system
// call but read, write, exit and sigreturn. So the thread is not recorded any more.
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>

#include "tools/shim/log.hpp"

void ashlar::os::before_call_filter(bool is_strict) noexcept {
  using namespace ashlar::shim;
  if (!is_strict || the_spool == nullptr || !is_on() || own_log.inside) return;
  static constexpr char text[] =
      "ashlar record: what a thread does in SECCOMP_MODE_STRICT is not recorded\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
  put_other(ashlar::trace::event_kind::mark, 0, "SECCOMP_MODE_STRICT", 19);
  own_log.inside = true;  // for ever
}
void ashlar::os::after_call_filter() noexcept {}
