// tools/image/interrupted_wait.hpp: a wait in the system that a stop has interrupted. Layer: image.
//
// To stop a thread (ptrace) interrupts its call of the system. When the thread goes on, most calls begin
// again by themselves, and the system knows what is left of their time. epoll_wait(2) and some others
// fail with EINTR instead, which a program without signal handlers never sees else. They begin again
// with what is left of their timeouts; that of a socket (SO_RCVTIMEO) begins anew.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>

#include <sys/types.h>
#include <sys/user.h>

namespace ashlar::image {

/// A wait of a thread whose timeout the system does not keep when it fails with EINTR.
struct timed_wait {
  std::uint64_t switches = 0;  ///< how often the thread had waited
  std::chrono::steady_clock::time_point end;
};

/// Returns: in which such a wait a thread is now, which runs; none: in no such one, or the system
/// does not say since when. It ends a little later than the true one, if not at the same time.
[[nodiscard]] std::optional<timed_wait> timed_wait_of(pid_t thread);
/// Returns: whether the thread, which was stopped since then, was still in that wait.
[[nodiscard]] bool is_still_in(const timed_wait& wait, pid_t thread);

/// Effects: the thread, which stands still, begins its wait again when it goes on, if that would fail
/// with EINTR else; with the time that is left, if it is known. Not if it has a signal that is not
/// blocked: its handler ends the wait. Nothing on processors other than x86-64.
void begin_wait_again(pid_t thread, const std::optional<timed_wait>& wait);

/// Returns: whether a thread may wait long in that call, and neither the allocator nor the loader waits
/// in it. Such a call may begin again.
[[nodiscard]] bool is_long_wait(long system_call, std::uint64_t second_argument);

#if defined(__x86_64__)

using general_registers = user_regs_struct;

/// Whether the thread was interrupted in a call of the system.
[[nodiscard]] inline bool is_in_system_call(const general_registers& r) {
  constexpr auto restart_first = static_cast<std::uint64_t>(-516);
  constexpr auto restart_last = static_cast<std::uint64_t>(-512);
  return static_cast<std::int64_t>(r.orig_rax) >= 0 &&
         ((r.rax >= restart_first && r.rax <= restart_last) ||
          r.rax == static_cast<std::uint64_t>(-EINTR));
}
[[nodiscard]] inline long system_call_of(const general_registers& r) {
  return static_cast<long>(r.orig_rax);
}
[[nodiscard]] inline std::uint64_t second_argument_of(const general_registers& r) { return r.rsi; }
/// Effects: the call of the system begins again. Most of them do by themselves; the others would
/// fail with EINTR. Returns: whether the registers are others now. Requires: is_in_system_call().
[[nodiscard]] inline bool begin_call_again(general_registers& r) {
  constexpr unsigned long long instruction_bytes = 2;
  if (r.rax != static_cast<std::uint64_t>(-EINTR)) return false;
  r.rax = r.orig_rax;
  r.orig_rax = static_cast<unsigned long long>(-1);
  r.rip -= instruction_bytes;
  return true;
}

#endif

}  // namespace ashlar::image
