// os/own_code_linux.cpp: os/own_code.hpp by the names that the linker gives to a file's bounds.
// Layer: os.
#include <cstddef>
#include <cstdint>

#include <sys/auxv.h>

#include <ashlar/os/own_code.hpp>

// Where the linker has put the library or program that this file is part of.
extern "C" const char __ehdr_start [[gnu::visibility("hidden")]];
extern "C" const char _end [[gnu::visibility("hidden")]];

namespace ashlar::os {

bool is_own_code(const void* address) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  const std::uintptr_t size = reinterpret_cast<std::uintptr_t>(&_end) - begin;
  if (::getauxval(AT_ENTRY) - begin < size) return false;
  return reinterpret_cast<std::uintptr_t>(address) - begin < size;
}

}  // namespace ashlar::os
