// The mask of interrupts: of a Cortex-M, and of RISC-V in machine mode.
#pragma once

#include <cstdint>

#include <ashlar/core/lock_policy.hpp>

namespace board {

#if defined(__riscv)

using interrupt_port = ashlar::riscv_mstatus;

[[nodiscard]] inline bool interrupts_are_masked() noexcept {
  std::uintptr_t state;
  asm volatile("csrr %0, mstatus" : "=r"(state));
  return (state & interrupt_port::enabled) == 0;
}
inline void mask_interrupts() noexcept { asm volatile("csrci mstatus, 8" ::: "memory"); }
inline void unmask_interrupts() noexcept { asm volatile("csrsi mstatus, 8" ::: "memory"); }

#else

using interrupt_port = ashlar::cortex_m_primask;

[[nodiscard]] inline bool interrupts_are_masked() noexcept {
  std::uint32_t state;
  asm volatile("mrs %0, primask" : "=r"(state));
  return state != 0;
}
inline void mask_interrupts() noexcept { asm volatile("cpsid i" ::: "memory"); }
inline void unmask_interrupts() noexcept { asm volatile("cpsie i" ::: "memory"); }

#endif

}  // namespace board
