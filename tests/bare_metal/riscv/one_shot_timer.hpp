// An interrupt that comes once, by the machine timer of qemu's board under `qemu -icount shift=10`. One source of an
// image includes this.
#pragma once

#include <cstdint>

#include "board/semihosting.hpp"

/// Effects: what the image does in the interrupt. `next` is the address of the instruction that would have been next.
void timer_fired(std::uintptr_t next) noexcept;

namespace one_shot_timer {

// The timer counts 100 ns, and an instruction takes 1024: the words above the lowest stay 0 for minutes.
inline volatile std::uint32_t* const now = reinterpret_cast<std::uint32_t*>(0x0200BFF8);
inline volatile std::uint32_t* const due = reinterpret_cast<std::uint32_t*>(0x02004000);
inline constexpr std::uint32_t never = UINT32_MAX;
/// Less than half an instruction, so that a step may be rounded and none is left out.
inline constexpr std::uint32_t ticks_per_step = 5;

/// Effects: the interrupt is enabled, and does not come yet.
inline void prepare() noexcept {
  due[0] = never;
  due[1] = 0;
  asm volatile("csrs mie, %0\n\tcsrsi mstatus, 8" ::"r"(1u << 7) : "memory");
}

/// Effects: the interrupt comes after `steps` half instructions.
[[gnu::always_inline]] inline void start(std::uint32_t steps) noexcept {
  asm volatile("" ::: "memory");  // the handler reads what was written until now
  due[0] = now[0] + steps * ticks_per_step;
}
[[gnu::always_inline]] inline void stop() noexcept {
  asm volatile("" ::: "memory");
  due[0] = never;
}

}  // namespace one_shot_timer

extern "C" [[gnu::interrupt("machine"), gnu::aligned(4)]] void trap_handler() noexcept {
  constexpr std::uint32_t by_timer = 0x80000007;
  std::uint32_t cause;
  std::uintptr_t next;
  asm volatile("csrr %0, mcause\n\tcsrr %1, mepc" : "=&r"(cause), "=r"(next));
  if (cause != by_timer) {
    board::write("a trap that is not the timer's\n");
    board::exit(126);
  }
  one_shot_timer::stop();
  timer_fired(next);
}
