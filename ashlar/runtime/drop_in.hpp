// runtime/drop_in.hpp: what runtime asks the drop-in library when a process starts: whether it
// serves that process, and all of it.
// Layer: runtime. Only the drop-in library calls these functions, and it defines them
// (ashlar/dropin).
#pragma once

namespace ashlar::runtime {

/// Returns: false when this copy of the library has nothing to do, because the process's malloc is
/// the program's own, a sanitizer's, or that of another copy of ashlar. Should a call arrive here
/// all the same, the heap starts then.
/// Effects: tells of another copy in one line on standard error. Ends the process with one line
/// when this library's malloc has displaced a sanitizer's: the sanitizer would hang or see nothing.
/// Calls no function that a sanitizer replaces.
[[nodiscard]] bool serves_this_process() noexcept;

/// Whether that was false when this process started. Operators that arrive here all the same are
/// made of the process's malloc then, as a C++ library's are: a block of theirs may go by its free.
extern constinit bool malloc_is_anothers;

/// Returns: whether every operator new and delete that another is made of is this library's in this
/// process, and made of its malloc. Defined beside the operators (dropin/operators.cpp).
[[nodiscard]] bool serves_all_operators() noexcept;

}  // namespace ashlar::runtime
