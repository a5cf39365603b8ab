// dropin/cxx_runtime.hpp: the C++ library of the program that preloads us, if it has one.
// Layer: dropin.
//
// The drop-in library must not bring a C++ library with it: a C program would pay a megabyte for it, and
// a private copy inside would know neither the program's new_handler nor be able to throw what the
// program catches. So everything is looked for in the process, when it is needed.
#pragma once

#include <cstddef>

namespace ashlar::cxx_runtime {

using new_handler = void (*)();

/// Returns: the installed handler; null without one, and without a C++ library.
[[nodiscard]] new_handler installed_new_handler() noexcept;

/// Throws: std::bad_alloc of the program's C++ library. Without one there is nobody to catch it: then
/// it ends in a fault that names `call`.
[[noreturn]] void throw_bad_alloc(const char* call);

}  // namespace ashlar::cxx_runtime
