// How an image begins and ends, and what it has of a C library, under Linux on x86-64.
#pragma once

#include <cstddef>

extern "C" int image_main();

namespace platform {

[[noreturn]] inline void leave(int status) noexcept {
  asm volatile("syscall" : : "a"(231L), "D"(static_cast<long>(status)) : "rcx", "r11", "memory");
  __builtin_unreachable();
}

}  // namespace platform

extern "C" {

// A freestanding compiler may ask for these two of any program.
[[gnu::used]] inline void* memcpy(void* to, const void* from, std::size_t n) {
  auto* const t = static_cast<volatile unsigned char*>(to);
  const auto* const f = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < n; ++i) t[i] = f[i];
  return to;
}
[[gnu::used]] inline void* memset(void* to, int value, std::size_t n) {
  auto* const t = static_cast<volatile unsigned char*>(to);
  for (std::size_t i = 0; i < n; ++i) t[i] = static_cast<unsigned char>(value);
  return to;
}

[[noreturn, gnu::used, gnu::force_align_arg_pointer]] inline void _start() {
  platform::leave(image_main());
}
}
