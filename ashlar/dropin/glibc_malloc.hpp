// dropin/glibc_malloc.hpp: the types and numbers of glibc's <malloc.h> that the drop-in library
// serves.
// Layer: dropin. They are glibc's binary interface, which does not change. So the library is the
// same where the C library is older than a name, or is not glibc. tests/dropin compares them with
// the system's header.
#pragma once

#include <cstddef>

namespace ashlar::glibc {

struct mallinfo {
  int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo2 {
  std::size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

/// What mallopt is asked for, as far as the answer is not always 1.
inline constexpr int trim_threshold = -1;  // M_TRIM_THRESHOLD
inline constexpr int perturb = -6;         // M_PERTURB
inline constexpr int max_fast = 1;         // M_MXFAST
inline constexpr unsigned largest_max_fast = 20 * sizeof(std::size_t);

}  // namespace ashlar::glibc
