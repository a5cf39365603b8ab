// An interrupt that comes once, by SysTick under `qemu -icount shift=7`. One source of an image includes this.
#pragma once

#include <cstdint>

#include "instruction_counter.hpp"

/// Effects: what the image does in the interrupt. `next` is the address of the instruction that would have been next.
void timer_fired(std::uintptr_t next) noexcept;

namespace one_shot_timer {

inline void prepare() noexcept {}

/// Effects: the interrupt comes after `steps` instructions.
[[gnu::always_inline]] inline void start(std::uint32_t steps) noexcept {
  using namespace instruction_counter::detail;
  constexpr std::uint64_t ticks_per_million = clock_hz * picoseconds_per_instruction / 1'000'000;
  constexpr std::uint32_t enable_with_interrupt = 0b111;
  *reload = static_cast<std::uint32_t>((steps * ticks_per_million + 500'000) / 1'000'000);
  *current = 0;
  asm volatile("" ::: "memory");  // the handler reads what was written until now
  *control = enable_with_interrupt;
}
[[gnu::always_inline]] inline void stop() noexcept {
  asm volatile("" ::: "memory");
  *instruction_counter::detail::control = 0;
}

}  // namespace one_shot_timer

extern "C" {
void sys_tick_body(const std::uint32_t* frame) noexcept {
  one_shot_timer::stop();
  timer_fired(frame[6]);
}
[[gnu::naked]] void sys_tick_handler() noexcept {
  asm volatile(
      "mov r0, sp\n\tldr r1, =sys_tick_body\n\tbx r1\n\t.ltorg");  // with the stacked registers
}
}
