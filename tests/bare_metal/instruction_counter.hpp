// Counts the instructions of a call, by SysTick under `qemu -icount shift=7`: each instruction takes 128 ns there, so
// ticks and instructions are proportional. Instructions are what is counted: the emulator knows no pipeline and no
// wait state.
#pragma once

#include <cstdint>

namespace instruction_counter {

/// A function as it is measured: arguments in registers, and what it returns, if anything, in one.
template <class Result>
using function = Result (*)(void*, void*, void*);

struct measured {
  void* result;
  std::uint32_t instructions;  ///< of the function, its return included
};

namespace detail {

inline volatile std::uint32_t* const control = reinterpret_cast<std::uint32_t*>(0xE000E010);
inline volatile std::uint32_t* const reload = reinterpret_cast<std::uint32_t*>(0xE000E014);
inline volatile std::uint32_t* const current = reinterpret_cast<std::uint32_t*>(0xE000E018);
inline constexpr std::uint32_t longest = 0xFFFFFF;
inline constexpr std::uint32_t enable_by_processor_clock = 0b101;

inline constexpr std::uint64_t picoseconds_per_instruction = 128'000;
inline constexpr std::uint64_t clock_hz = BOARD_CLOCK_HZ;

/// Rounded to the nearest: the counter's own rounding is below one tick, and there are more than two to an instruction.
[[nodiscard]] inline std::uint32_t instructions_of(std::uint32_t ticks) noexcept {
  constexpr std::uint64_t ticks_per_million = clock_hz * picoseconds_per_instruction / 1'000'000;
  static_assert(ticks_per_million > 2'000'000);
  return static_cast<std::uint32_t>((ticks * std::uint64_t{1'000'000} + ticks_per_million / 2) /
                                    ticks_per_million);
}

}  // namespace detail

inline void start() noexcept {
  *detail::reload = detail::longest;
  *detail::current = 0;
  *detail::control = detail::enable_by_processor_clock;
}

/// Returns: what f(a, b, c) returns, and its instructions.
template <class Result>
[[nodiscard, gnu::noinline]] measured count(function<Result> f, void* a, void* b,
                                            void* c) noexcept {
  register void* r0 asm("r0") = a;
  register void* r1 asm("r1") = b;
  register void* r2 asm("r2") = c;
  register std::uint32_t before asm("r4");
  register volatile std::uint32_t* counter asm("r5") = detail::current;
  register function<Result> called asm("r6") = f;
  std::uint32_t after;
  // The two reads are the first load and the second: between them are the call, and the second load's own time.
  asm volatile(
      "ldr %[before], [%[counter]]\n\t"
      "blx %[called]\n\t"
      "ldr %[after], [%[counter]]"
      : [before] "=&l"(before), [after] "=&l"(after), "+r"(r0), "+r"(r1), "+r"(r2)
      : [counter] "l"(counter), [called] "r"(called)
      : "r3", "r12", "lr", "cc", "memory");
  constexpr std::uint32_t call_and_read = 2;
  const std::uint32_t ticks = (before - after) & detail::longest;
  return {r0, detail::instructions_of(ticks) - call_and_read};
}

namespace detail {

/// Returns: the instructions that two reads with nothing between them are apart, less the second read's own.
[[nodiscard, gnu::noinline]] inline std::uint32_t count_empty() noexcept {
  std::uint32_t before, after;
  asm volatile("ldr %0, [%2]\n\tldr %1, [%2]"
               : "=&l"(before), "=&l"(after)
               : "l"(current)
               : "memory");
  return instructions_of((before - after) & longest) - 1;
}

template <unsigned N>
[[gnu::naked]] void* nops(void*, void*, void*) {
  asm volatile(".rept %c0\n\tnop\n\t.endr\n\tbx lr" ::"i"(N));
}

template <unsigned N>
[[nodiscard]] bool counts_exactly() noexcept {
  for (int round = 0; round < 100; ++round) {
    if (count(nops<N>, nullptr, nullptr, nullptr).instructions != N + 1) return false;
  }
  return true;
}

}  // namespace detail

/// Returns: whether an empty pair reads 0 and N instructions read N, each time: else no figure is to be believed.
[[nodiscard]] inline bool is_calibrated() noexcept {
  for (int round = 0; round < 100; ++round) {
    if (detail::count_empty() != 0) return false;
  }
  return detail::counts_exactly<0>() && detail::counts_exactly<1>() &&
         detail::counts_exactly<7>() && detail::counts_exactly<64>() &&
         detail::counts_exactly<501>() && detail::counts_exactly<4000>();
}

}  // namespace instruction_counter
