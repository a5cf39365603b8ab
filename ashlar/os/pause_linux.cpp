// os/pause_linux.cpp: os/pause.hpp by a futex that nobody wakes: sleeping functions of the C
// library may be where a thread is cancelled.
// Layer: os.
#include <cerrno>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <ashlar/os/pause.hpp>

namespace ashlar::os {

void pause_us(unsigned microseconds) noexcept {
  const int saved = errno;
  std::uint32_t word = 0;
  const timespec duration{.tv_sec = 0, .tv_nsec = static_cast<long>(microseconds) * 1000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, &duration, nullptr, 0);
  errno = saved;
}

}  // namespace ashlar::os
