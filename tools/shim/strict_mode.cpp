// tools/shim/strict_mode.cpp: a thread that goes where nothing can be recorded. Layer: shim.
//
// In SECCOMP_MODE_STRICT the system ends a thread that reads the clock of the processor, and one that makes any system
// call but read, write, exit and sigreturn. So the thread is not recorded any more.
#include <cstdarg>

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/shim/log.hpp"

namespace {

void leave_recording() {
  using namespace ashlar::shim;
  if (the_spool == nullptr || !is_on() || own_log.inside) return;
  static constexpr char text[] =
      "ashlar record: what a thread does in SECCOMP_MODE_STRICT is not recorded\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
  put_other(ashlar::trace::event_kind::mark, 0, "SECCOMP_MODE_STRICT", 19);
  own_log.inside = true;  // for ever
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int prctl(int option, ...) noexcept {
  std::va_list more;
  va_start(more, option);
  unsigned long value[4];
  for (unsigned long& each : value) each = va_arg(more, unsigned long);
  va_end(more);
  if (option == PR_SET_SECCOMP && value[0] == SECCOMP_MODE_STRICT) leave_recording();
  return static_cast<int>(::syscall(SYS_prctl, option, value[0], value[1], value[2], value[3]));
}
