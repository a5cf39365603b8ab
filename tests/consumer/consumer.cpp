// A C++20 program that uses the installed library.
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <thread>

#include <ashlar/ashlar.h>

template <std::integral T>
bool aligned(const void* block, T alignment) {
  return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

int main() {
  void* block = xaligned_alloc(4096, 5000);
  if (block == nullptr || !aligned(block, 4096u)) return 1;
  std::thread([block] { xfree(block); }).join();
  ashlar_trim();
  std::puts("consumer: c++");
  return 0;
}
