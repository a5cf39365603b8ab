// dropin/cxx_runtime.hpp: the C++ library of the program that preloads us, if it has one.
// Layer: dropin.
//
// The drop-in library must not bring a C++ library with it: a C program would pay a megabyte for
// it, and a private copy inside would know neither the program's new_handler nor be able to throw
// what the program catches. So everything is looked for in the process, when it is needed.
#pragma once

#include <cstddef>

// What the compiler refers to in functions that catch or may not throw: weak, so that whoever
// includes this takes in no C++ library. On ARM CMake makes the first one weak
// (ashlar/CMakeLists.txt): the assembler takes no weak one.
#if !defined(__ARM_EABI__)
__asm__(".weak __gxx_personality_v0, _Unwind_Resume");
#endif
__asm__(".weak __cxa_begin_catch, __cxa_end_catch, _ZSt9terminatev");

namespace ashlar::cxx_runtime {

using new_handler = void (*)();

/// Returns: the installed handler; null without one, and without a C++ library.
[[nodiscard]] new_handler installed_new_handler() noexcept;

/// Throws: std::bad_alloc of the program's C++ library. Without one there is nobody to catch it:
/// then it ends in a fault that names `call`.
[[noreturn]] void throw_bad_alloc(const char* call);

}  // namespace ashlar::cxx_runtime
