// os/random_bytes_linux.cpp: os/random_bytes.hpp by getrandom.
// Layer: os.
#include <cerrno>

#include <linux/random.h>

#include <ashlar/os/random_bytes.hpp>
#include <ashlar/os/system_call.hpp>

namespace ashlar::os {

// By the system call: the C library's function may be a point where a thread is cancelled.
bool fill_with_random_bytes(void* p, std::size_t bytes) noexcept {
  const int saved = errno;
  const long got = system_call(SYS_getrandom, p, bytes, GRND_NONBLOCK);
  errno = saved;
  return got >= 0 && static_cast<std::size_t>(got) == bytes;
}

}  // namespace ashlar::os
