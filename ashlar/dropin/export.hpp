// dropin/export.hpp: what marks the drop-in library's functions for export.
// Layer: dropin. exports.map lists the same names.
#pragma once

#include <cstdlib>

// Behind the parameters of a C library's function: what the system's headers say of exceptions,
// which a definition has to repeat. glibc's say noexcept, others nothing. All that is marked so is
// compiled without exceptions.
#if defined(__GLIBC__)
#define ASHLAR_C_FUNCTION noexcept
#else
#define ASHLAR_C_FUNCTION
#endif

#define ASHLAR_EXPORT [[gnu::visibility("default")]]

/// For what programs call most: its hit begins with a cache line, and so lies in as few as it can.
/// A third line costs a cycle, and what stands before would decide whether there is one.
#define ASHLAR_AT_LINE [[gnu::aligned(64)]]

/// Effects: `name` is a second name of the function `of`, which this file defines. The assembler
/// makes it: an alias in C++ would have to repeat each attribute that the compiler knows of malloc.
/// Weak, so that a static program links even if it needs the object of glibc that has these names.
#define ASHLAR_SECOND_NAME(name, of) __asm__(".weak " #name "\n\t.set " #name ", " #of)
