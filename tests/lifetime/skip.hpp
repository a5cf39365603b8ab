// lifetime/skip.hpp: how a mode ends where the system does not allow what it tests.
#pragma once

#include <cstdio>

namespace support {

/// Returns: the status that ctest knows as "skipped" (SKIP_RETURN_CODE), having told why.
inline int skipped(const char* reason) {
  std::printf("skipped: %s\n", reason);
  return 77;
}

}  // namespace support
