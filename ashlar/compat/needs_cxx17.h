/* compat/needs_cxx17.h: one sentence for older C++, first in xallocator.h and what stands on it. */
#if defined(__cplusplus) && __cplusplus < 201703L
#error "xallocator.h, stl_allocator.h and the x containers need C++17: compile with -std=c++17"
#include "-std=c++17" /* is not there: the compiler stops, and that sentence is its last */
#endif
