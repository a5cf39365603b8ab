// os/pause_posix.cpp: os/pause.hpp by nanosleep.
// Layer: os.
#include <time.h>

#include <ashlar/os/not_cancelled.hpp>
#include <ashlar/os/pause.hpp>

namespace ashlar::os {

void pause_us(unsigned microseconds) noexcept {
  const not_cancelled here;
  const timespec duration{.tv_sec = 0, .tv_nsec = static_cast<long>(microseconds) * 1000};
  ::nanosleep(&duration, nullptr);
}

}  // namespace ashlar::os
