// The board: the timer, and text through the emulator or a debugger (Arm's semihosting).
#pragma once

#include <cstdint>

namespace board {

inline void ask_host(std::uint32_t operation, const void* argument) {
  register std::uint32_t r0 asm("r0") = operation;
  register const void* r1 asm("r1") = argument;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

inline void print_one(const char* text) { ask_host(0x04, text); }
inline void print_one(std::uint32_t number) {
  char text[11];
  char* at = text + 10;
  *at = 0;
  do *--at = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  print_one(at);
}
template <class... Parts>
void print(const Parts&... parts) {
  (print_one(parts), ...);
}

[[noreturn]] inline void exit(int status) {
  const std::uint32_t block[2] = {0x20026, static_cast<std::uint32_t>(status)};
  for (;;) ask_host(0x20, block);
}

inline void wait_for_interrupt() { asm volatile("wfi"); }

inline void start_timer() {  // every 168,000 cycles: a millisecond
  auto* const systick = reinterpret_cast<volatile std::uint32_t*>(0xE000E010);
  systick[1] = 168'000 - 1;
  systick[2] = 0;
  systick[0] = 7;
}

}  // namespace board
