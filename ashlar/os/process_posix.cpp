// os/process_posix.cpp: what of os/process.hpp is POSIX.
// Layer: os.
#include <unistd.h>

#include <ashlar/os/process.hpp>

namespace ashlar::os {

std::size_t process_number() noexcept {
  return static_cast<std::size_t>(::getpid());
}

}  // namespace ashlar::os
