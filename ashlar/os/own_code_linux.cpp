// os/own_code_linux.cpp: os/own_code.hpp by the names that the linker gives to a file's bounds.
// Layer: os.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <sys/auxv.h>

#include <ashlar/os/own_code.hpp>

// Where the linker has put the library or program that this file is part of.
extern "C" const char __ehdr_start [[gnu::visibility("hidden")]];
extern "C" const char _end [[gnu::visibility("hidden")]];

namespace ashlar::os {

namespace {
/// How long the library is; 0: it is part of the program. `unknown`: nobody has asked yet.
constexpr std::uintptr_t unknown = UINTPTR_MAX;
constinit std::atomic<std::uintptr_t> own_bytes{unknown};
}  // namespace

bool is_own_code(const void* address) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  std::uintptr_t size = own_bytes.load(std::memory_order_relaxed);
  if (size == unknown) {
    size = reinterpret_cast<std::uintptr_t>(&_end) - begin;
    if (::getauxval(AT_ENTRY) - begin < size) size = 0;
    own_bytes.store(size, std::memory_order_relaxed);
  }
  return reinterpret_cast<std::uintptr_t>(address) - begin < size;
}

}  // namespace ashlar::os
