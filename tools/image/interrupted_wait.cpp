// tools/image/interrupted_wait.cpp. Layer: image.
#include "tools/image/interrupted_wait.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <elf.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "tools/files/process_status.hpp"

namespace ashlar::image {

bool is_long_wait(long system_call, std::uint64_t second_argument) {
  if (system_call == SYS_futex) {
    // Conditions, semaphores and joins. A plain FUTEX_WAIT may be for the allocator's lock.
    return static_cast<int>(second_argument & 0x7f) == FUTEX_WAIT_BITSET;  // without its flags
  }
  static constexpr std::array waits{
#if defined(SYS_poll)
      SYS_poll, SYS_select, SYS_pause, SYS_epoll_wait,
#endif
      SYS_ppoll, SYS_pselect6, SYS_epoll_pwait, SYS_read, SYS_readv, SYS_write, SYS_writev,
      SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg, SYS_accept, SYS_accept4,
      SYS_nanosleep, SYS_wait4, SYS_waitid, SYS_semop, SYS_semtimedop, SYS_msgrcv, SYS_msgsnd,
      SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_clock_nanosleep, SYS_io_getevents, SYS_flock,
      SYS_connect, SYS_sendmmsg, SYS_splice, SYS_tee, SYS_sendfile, SYS_mq_timedreceive,
      SYS_mq_timedsend, SYS_io_pgetevents, SYS_io_uring_enter, SYS_fcntl, SYS_epoll_pwait2,
      SYS_futex_waitv,
      // What poll, nanosleep and a timed futex are once a stop has interrupted them.
      SYS_restart_syscall};
  return std::find(waits.begin(), waits.end(), system_call) != waits.end();
}

#if defined(__x86_64__)

namespace {
/// Returns: a set of signals that the system tells of the thread.
std::uint64_t signals_of(pid_t thread, const char* name) {
  return std::strtoull(files::status_of(thread, name).c_str(), nullptr, 16);
}
}  // namespace

void begin_wait_again(pid_t thread) {
  general_registers registers{};
  iovec place{&registers, sizeof registers};
  if (::ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &place) != 0) return;
  const std::uint64_t sent = signals_of(thread, "SigPnd") | signals_of(thread, "ShdPnd");
  if ((sent & ~signals_of(thread, "SigBlk")) != 0) return;
  // Of a futex any wait may begin again.
  if (is_in_system_call(registers) && is_long_wait(system_call_of(registers), FUTEX_WAIT_BITSET) &&
      begin_call_again(registers))
    ::ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &place);
}

#else

void begin_wait_again(pid_t) {}

#endif

}  // namespace ashlar::image
