// tools/attach/registers.hpp: a thread's registers, and a call in them. Layer: attach.
//
// All that depends on the processor is here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <elf.h>

#include "tools/image/interrupted_wait.hpp"

namespace ashlar::attach {

#if defined(__x86_64__)

inline constexpr std::uint16_t own_machine = EM_X86_64;
inline constexpr bool can_call = true;
using image::general_registers;
inline constexpr int floating_registers = NT_X86_XSTATE;

/// What a function may use below the stack pointer without a call.
inline constexpr std::uint64_t red_zone_bytes = 128;
inline constexpr std::size_t arguments_max = 6;
/// A call returns to this address, where nothing is mapped: there the thread stops.
inline constexpr std::uint64_t return_address = 0;

[[nodiscard]] inline std::uint64_t place_of(const general_registers& r) { return r.rip; }
[[nodiscard]] inline std::uint64_t stack_pointer_of(const general_registers& r) { return r.rsp; }
[[nodiscard]] inline std::uint64_t result_of(const general_registers& r) { return r.rax; }

/// Effects: makes the registers those of a function's begin. The return address is on the stack, at
/// the stack pointer that it returns.
inline std::uint64_t enter(general_registers& r, std::uint64_t function, std::uint64_t stack_end,
                           std::span<const std::uint64_t> arguments) {
  constexpr unsigned long long direction = 0x400;
  constexpr unsigned long long single_step = 0x100;
  const std::array into{&r.rdi, &r.rsi, &r.rdx, &r.rcx, &r.r8, &r.r9};
  for (std::size_t i = 0; i < arguments.size() && i < arguments_max; ++i) *into[i] = arguments[i];
  r.rax = 0;                                         // no argument is a floating one
  r.orig_rax = static_cast<unsigned long long>(-1);  // nothing is to be restarted
  r.eflags &= ~(direction | single_step);
  r.rip = function;
  r.rsp = stack_end / 16 * 16 - sizeof(std::uint64_t);
  return r.rsp;
}

/// The code that a signal's handler returns to: mov $rt_sigreturn, %rax; syscall.
inline constexpr std::array<unsigned char, 9> signal_return_code{0x48, 0xc7, 0xc0, 0x0f, 0x00,
                                                                 0x00, 0x00, 0x0f, 0x05};
/// Where the interrupted place is, behind the address of that code on the stack.
inline constexpr std::size_t interrupted_at = 8 + 40 + 16 * 8;

#else

inline constexpr std::uint16_t own_machine = EM_NONE;
inline constexpr bool can_call = false;

#endif

}  // namespace ashlar::attach
