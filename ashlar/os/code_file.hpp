// os/code_file.hpp: whose code an address is, and whether it still is.
// Layer: os. For frame_walk_linux.cpp, and for the recorder. One file per system implements it.
//
// What the program began with stays until it ends. What it has loaded since then may be unloaded,
// and another file, or a later build of the same one, be mapped in its place. Such a file is known
// by its place and by its build id, which is looked up again in each walk that comes through it.
// That takes no lock, which a fork could leave taken, and no count of what was loaded, which only a
// lock gives. A file without a build id has no number.
#pragma once

#include <cstdint>

namespace ashlar::os {

using file_number = std::uint16_t;
inline constexpr file_number stays_loaded = 0;

struct code_file {
  const void* unwind_table;  // .eh_frame_hdr
  file_number number;
};

/// Effects: notes what the program began with. Without this call, only some of it is known to stay,
/// and the others are looked up in each walk. Requires: nothing was loaded since then; no other
/// thread walks.
void note_first_files() noexcept;

/// Returns: false where `address` is nobody's, or of a file without a table or a number.
[[nodiscard]] bool find_code_file(std::uintptr_t address, code_file& found) noexcept;

/// Returns: whether `address` is code of the same file as when the number was given.
[[nodiscard]] bool is_still_loaded(file_number number, std::uintptr_t address) noexcept;

}  // namespace ashlar::os
