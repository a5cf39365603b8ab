// tools/shim/own_code.hpp: the recorder's own frames, of which no program wants to know. Layer: shim.
#pragma once

#include <cstdint>

#include <link.h>

// Where the linker has put this library.
extern "C" const ElfW(Ehdr) __ehdr_start [[gnu::visibility("hidden")]];
extern "C" const char _end [[gnu::visibility("hidden")]];

namespace ashlar::shim {

inline bool is_own_code(std::uintptr_t address) {
  return address >= reinterpret_cast<std::uintptr_t>(&__ehdr_start) &&
         address < reinterpret_cast<std::uintptr_t>(&_end);
}

}  // namespace ashlar::shim
