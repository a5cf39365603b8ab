// tests/support/single_step.hpp: counts the instructions of a call by stepping through it. x86-64 Linux.
#pragma once

#if defined(__x86_64__) && defined(__linux__)
#define ASHLAR_TEST_STEPS 1

#include <csignal>
#include <cstdint>

#include <ucontext.h>

namespace ashlar::test {

inline volatile std::uint64_t steps;
inline volatile std::uintptr_t last_at;

inline void count_step(int, siginfo_t*, void* context) {
  const auto at = static_cast<std::uintptr_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  if (at != last_at) steps = steps + 1;
  last_at = at;
}
/// Effects: the process can step. Requires: called before instructions_of.
inline void be_ready_to_step() {
  struct sigaction action{};
  action.sa_sigaction = count_step;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGTRAP, &action, nullptr);
}

/// Returns: the instructions of `call`, and some ten. A system call is one, and so is an instruction that
/// repeats itself.
template <class Call>
[[gnu::noinline]] std::uint64_t instructions_of(Call call) {
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

}  // namespace ashlar::test

#else
#define ASHLAR_TEST_STEPS 0
#endif
