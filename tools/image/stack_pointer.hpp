// tools/image/stack_pointer.hpp: where a thread's registers have its stack pointer. Layer: image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ashlar::image {

/// Returns: the stack pointer among the registers as the system writes them (struct
/// user_regs_struct); 0 on a machine whose order this does not know: then all of each stack counts
/// as in use.
[[nodiscard]] inline std::uint64_t stack_pointer_in(std::span<const std::uint64_t> registers) {
#if defined(__x86_64__)
  constexpr std::size_t at = 19;
#elif defined(__aarch64__)
  constexpr std::size_t at = 31;
#elif defined(__riscv)
  constexpr std::size_t at = 2;
#else
  constexpr std::size_t at = SIZE_MAX;
#endif
  return at < registers.size() ? registers[at] : 0;
}

}  // namespace ashlar::image
