// os/own_code.hpp: which addresses are this library's own code.
// Layer: os. For call_stack_posix.cpp, frame_walk_linux.cpp and the recorder. One file per system
// implements it.
#pragma once

namespace ashlar::os {

/// Returns: whether `address` is in the library that this file is part of; never where this file is
/// part of the program itself, of which all frames are of interest.
[[nodiscard]] bool is_own_code(const void* address) noexcept;

}  // namespace ashlar::os
