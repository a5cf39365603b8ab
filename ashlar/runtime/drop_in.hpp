// runtime/drop_in.hpp: whether the drop-in library serves the process that it was loaded into.
// Layer: runtime; drop-in library only.
#pragma once

namespace ashlar::runtime {

/// Returns: false when this copy of the library has nothing to do, because the process's malloc is
/// the program's own, a sanitizer's, or that of another copy of ashlar. Should a call arrive here
/// all the same, the heap starts then.
/// Effects: tells of another copy in one line on standard error. Ends the process with one line
/// when this library's malloc has displaced a sanitizer's: the sanitizer would hang or see nothing.
/// Calls no function that a sanitizer replaces.
[[nodiscard]] bool serves_this_process() noexcept;

}  // namespace ashlar::runtime
