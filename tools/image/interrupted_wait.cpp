// tools/image/interrupted_wait.cpp. Layer: image.
#include "tools/image/interrupted_wait.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include <elf.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
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
  return std::ranges::find(waits, system_call) != waits.end();
}

#if defined(__x86_64__)

namespace {

using clock = std::chrono::steady_clock;

/// Returns: a set of signals, or a number, that the system tells of the thread.
std::uint64_t number_of(pid_t thread, const char* name, int base) {
  return std::strtoull(files::status_of(thread, name).c_str(), nullptr, base);
}

constexpr std::size_t none = SIZE_MAX;
constexpr bool is_in_ms(long call) { return call == SYS_epoll_wait || call == SYS_epoll_pwait; }
/// Returns: which argument of the call is a timeout that it does not write back.
constexpr std::size_t timeout_argument(long call) {
  if (is_in_ms(call) || call == SYS_epoll_pwait2 || call == SYS_semtimedop) return 3;
  if (call == SYS_rt_sigtimedwait) return 2;
  return call == SYS_io_getevents ? 4 : none;
}

/// Returns: milliseconds on the clock of the thread's processor when it ran last; negative: unknown.
double last_run_ms(const std::string& thread) {
  std::ifstream file("/proc/" + thread + "/sched");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("se.exec_start")) return std::atof(line.c_str() + line.find(':') + 1);
  return -1;
}

/// Returns: the processor on which the thread ran last; negative: unknown.
int processor_of(pid_t thread) {
  const std::vector<std::string> fields = files::fields_of_stat(thread);
  constexpr std::size_t processor = 39 - 3;  // as proc(5) counts
  return fields.size() > processor ? std::atoi(fields[processor].c_str()) : -1;
}

/// Returns: for how long the thread has not run; none: unknown. The clocks of processors differ, so
/// this thread asks on that of the other one.
std::optional<std::chrono::nanoseconds> rest_of(pid_t thread) {
  const int processor = processor_of(thread);
  cpu_set_t before;
  cpu_set_t there;
  if (processor < 0 || processor >= CPU_SETSIZE ||
      ::sched_getaffinity(0, sizeof before, &before) != 0)
    return {};
  CPU_ZERO(&there);
  CPU_SET(processor, &there);
  if (::sched_setaffinity(0, sizeof there, &there) != 0) return {};
  ::sched_yield();  // the system notes the time
  const double now = last_run_ms("thread-self");
  const double then = last_run_ms(std::to_string(thread));
  ::sched_setaffinity(0, sizeof before, &before);
  if (now < 0 || then < 0 || now < then) return {};
  return std::chrono::nanoseconds(static_cast<std::int64_t>((now - then) * 1e6));
}

/// Effects: the call, which begins again, has the timeout that is left.
void shorten(pid_t thread, general_registers& r, long call, clock::time_point end) {
  const auto left =
      std::max<std::chrono::nanoseconds>(end - clock::now(), std::chrono::nanoseconds(0));
  if (is_in_ms(call)) {
    r.r10 = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
    return;
  }
  // Below what the thread uses of its stack: the call reads it at its begin.
  constexpr std::uint64_t beside_red_zone = 256;
  constexpr std::int64_t second = 1'000'000'000;
  const std::uint64_t at = r.rsp / 16 * 16 - beside_red_zone;
  if (::ptrace(PTRACE_POKEDATA, thread, at, left.count() / second) != 0 ||
      ::ptrace(PTRACE_POKEDATA, thread, at + 8, left.count() % second) != 0)
    return;
  const std::array<unsigned long long*, 5> arguments{&r.rdi, &r.rsi, &r.rdx, &r.r10, &r.r8};
  *arguments[timeout_argument(call)] = at;
}

}  // namespace

std::optional<timed_wait> timed_wait_of(pid_t thread) {
  timed_wait wait;
  wait.switches = number_of(thread, "voluntary_ctxt_switches", 10);
  std::ifstream file(fmt::format("/proc/{}/syscall", thread));
  long call = 0;
  std::array<std::string, 6> arguments;
  if (!(file >> call)) return {};
  for (std::string& each : arguments) file >> each;
  const std::size_t which = timeout_argument(call);
  if (!file || which == none) return {};
  const std::uint64_t told = std::strtoull(arguments[which].c_str(), nullptr, 16);
  std::chrono::nanoseconds timeout = std::chrono::milliseconds(static_cast<std::int32_t>(told));
  if (!is_in_ms(call)) {
    std::array<std::int64_t, 2> seconds{};
    const iovec here{seconds.data(), sizeof seconds};
    const iovec there{reinterpret_cast<void*>(told), sizeof seconds};
    if (told == 0 || ::process_vm_readv(thread, &here, 1, &there, 1, 0) != sizeof seconds)
      return {};
    constexpr std::int64_t longest = 1'000'000'000;  // as good as endless
    if (seconds[0] < 0 || seconds[0] > longest) return {};
    timeout = std::chrono::seconds(seconds[0]) + std::chrono::nanoseconds(seconds[1]);
  }
  const auto rest = rest_of(thread);
  if (!rest || timeout < std::chrono::nanoseconds(0)) return {};
  wait.end = clock::now() + timeout - *rest;
  return wait;
}

bool is_still_in(const timed_wait& wait, pid_t thread) {
  return number_of(thread, "voluntary_ctxt_switches", 10) == wait.switches + 1;  // the stop is one
}

void begin_wait_again(pid_t thread, const std::optional<timed_wait>& wait) {
  general_registers registers{};
  iovec place{&registers, sizeof registers};
  if (::ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &place) != 0) return;
  const std::uint64_t sent = number_of(thread, "SigPnd", 16) | number_of(thread, "ShdPnd", 16);
  if ((sent & ~number_of(thread, "SigBlk", 16)) != 0) return;
  const long call = system_call_of(registers);
  // Of a futex any wait may begin again.
  if (!is_in_system_call(registers) || !is_long_wait(call, FUTEX_WAIT_BITSET) ||
      !begin_call_again(registers))
    return;
  if (wait && timeout_argument(call) != none) shorten(thread, registers, call, wait->end);
  ::ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &place);
}

#else

std::optional<timed_wait> timed_wait_of(pid_t) { return {}; }
bool is_still_in(const timed_wait&, pid_t) { return false; }
void begin_wait_again(pid_t, const std::optional<timed_wait>&) {}

#endif

}  // namespace ashlar::image
