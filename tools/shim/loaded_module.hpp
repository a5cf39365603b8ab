// tools/shim/loaded_module.hpp: whose code an address is, and whether it still is. Layer: shim.
//
// What the program began with stays until it ends. What it has loaded since then may be unloaded, and another file, or a
// later build of the same one, be mapped in its place. Such a file is known by its place and by its build id, which is
// looked up again in each walk that comes through it: that takes no lock, which a fork could leave taken, and no count
// of what was loaded, which only a lock gives. A file without a build id has no number.
#pragma once

#include <cstdint>

namespace ashlar::shim {

using module_number = std::uint16_t;
inline constexpr module_number stays_loaded = 0;

struct loaded_module {
  const void* unwind_table;  // .eh_frame_hdr
  module_number number;
};

/// Effects: notes what the program began with. Requires: nothing was loaded since then, or `goes_on`: then the program
/// began some time ago.
void note_first_modules(bool goes_on = false);

/// Returns: false where `address` is nobody's, or of a file without a table or a number.
[[nodiscard]] bool find_module(std::uintptr_t address, loaded_module& found);

/// Returns: whether `address` is code of the same file as when the number was given.
[[nodiscard]] bool is_still_loaded(module_number number, std::uintptr_t address);

}  // namespace ashlar::shim
