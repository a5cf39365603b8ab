// os/random_bytes_posix.cpp: os/random_bytes.hpp by getentropy.
// Layer: os.
#include <cerrno>

#include <sys/random.h>
#include <unistd.h>

#include <ashlar/os/random_bytes.hpp>

namespace ashlar::os {

bool fill_with_random_bytes(void* p, std::size_t bytes) noexcept {
  const int saved = errno;
  const bool filled = ::getentropy(p, bytes) == 0;
  errno = saved;
  return filled;
}

}  // namespace ashlar::os
