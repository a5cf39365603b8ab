// os/find_object.hpp: whether the C library tells whose code an address is without the loader's
// lock.
// Layer: os. For loaded_module_elf.cpp and code_file_linux.cpp.
#pragma once

#include <dlfcn.h>

// glibc does since 2.35. Headers for several releases of it (zig's) declare _dl_find_object also
// for an older one, which then does not link.
#if defined(DLFO_EH_SEGMENT_TYPE) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 35)
#define ASHLAR_HAS_FIND_OBJECT 1
#else
#define ASHLAR_HAS_FIND_OBJECT 0
#endif
