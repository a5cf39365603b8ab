// support/emulated.hpp: whether the tests run under an emulator of another processor.
#pragma once

namespace support {

/// qemu's own mappings, signals and messages are among the program's.
#ifdef ASHLAR_EMULATOR
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif

}  // namespace support
