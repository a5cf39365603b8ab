// Output and exit code of an image, by Arm's semihosting: what runs the image, an emulator or a debugger, does it.
// RISC-V has the same calls by other instructions.
#pragma once

#include <cstdint>

namespace board {

namespace semihosting {

#if defined(__riscv)
// The two shifts, which change nothing, mark the call. All three instructions are in one page.
[[gnu::naked, gnu::noinline, gnu::aligned(16)]] inline std::uint32_t call(std::uint32_t,
                                                                          const void*) noexcept {
  asm volatile(
      ".option push\n\t.option norvc\n\t"
      "slli zero, zero, 0x1f\n\tebreak\n\tsrai zero, zero, 7\n\t.option pop\n\tret");
}
#else
inline std::uint32_t call(std::uint32_t operation, const void* argument) noexcept {
  register std::uint32_t r0 asm("r0") = operation;
  register const void* r1 asm("r1") = argument;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
#endif

inline constexpr std::uint32_t write_text = 0x04;
inline constexpr std::uint32_t exit_extended = 0x20;
inline constexpr std::uint32_t application_exit = 0x20026;

}  // namespace semihosting

/// `text` ends with a zero.
inline void write(const char* text) noexcept { semihosting::call(semihosting::write_text, text); }

inline void write(std::uint32_t number) noexcept {
  char text[11];
  char* at = text + 10;
  *at = 0;
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  write(at);
}

/// write_all("blocks: ", 3u, "\n")
template <class... Parts>
void write_all(Parts... parts) noexcept {
  (write(parts), ...);
}

[[noreturn]] inline void exit(int status) noexcept {
  const std::uint32_t block[2] = {semihosting::application_exit,
                                  static_cast<std::uint32_t>(status)};
  for (;;) semihosting::call(semihosting::exit_extended, block);
}

}  // namespace board
