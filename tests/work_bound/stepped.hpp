// tests/work_bound/stepped.hpp: a heap whose calls are stepped through, instruction by instruction.
// x86-64 Linux. A system call is one instruction, and so is one that repeats itself.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include <ucontext.h>

#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/heap/work_bound.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/system_space.hpp>

namespace ashlar::stepped {

/// The system's, with a clock that the test sets, and the turns of the last call.
struct space : os::system_space {
  static inline std::uint64_t clock_ms = 1;
  static inline std::array<std::size_t, detail::turns_max> turns{};

  [[nodiscard]] static std::uint64_t now_ms() noexcept { return clock_ms; }
  static void note_turns(detail::turn t, std::size_t n) noexcept {
    turns[static_cast<std::size_t>(t)] += n;
  }
};
struct config {
  using space = stepped::space;
  using mutex = os::mutex;
};
using heap = basic_heap<config>;

inline volatile std::uint64_t steps;
inline volatile std::uintptr_t last_at;

inline void count_step(int, siginfo_t*, void* context) {
  const auto at = static_cast<std::uintptr_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  if (at != last_at) steps = steps + 1;
  last_at = at;
}
inline void be_ready() {
  struct sigaction action{};
  action.sa_sigaction = count_step;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGTRAP, &action, nullptr);
}

/// Returns: the instructions of `call`, and some ten.
template <class Call>
[[gnu::noinline]] std::uint64_t instructions_of(Call call) {
  space::turns = {};
  steps = 0;
  asm volatile(
      "lea -128(%%rsp), %%rsp\n pushfq\n orl $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
  call();
  asm volatile(
      "lea -128(%%rsp), %%rsp\n pushfq\n andl $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
  return steps;
}

}  // namespace ashlar::stepped
