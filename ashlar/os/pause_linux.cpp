// os/pause_linux.cpp: os/pause.hpp by a futex that nobody wakes: sleeping functions of the C
// library may be where a thread is cancelled.
// Layer: os.
#include <cerrno>
#include <cstdint>

#include <linux/futex.h>
#include <time.h>

#include <ashlar/os/pause.hpp>
#include <ashlar/os/system_call.hpp>

namespace ashlar::os {

void pause_us(unsigned microseconds) noexcept {
  const int saved = errno;
  std::uint32_t word = 0;
  const timespec duration{.tv_sec = 0, .tv_nsec = static_cast<long>(microseconds) * 1000};
  system_call(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, &duration, nullptr, 0);
  errno = saved;
}

}  // namespace ashlar::os
