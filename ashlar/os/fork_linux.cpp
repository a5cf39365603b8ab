// os/fork_linux.cpp: at_fork of os/process.hpp, where locks need nothing in the child
// (parking_posix.cpp has the other).
// Layer: os.
#include <pthread.h>

#include <ashlar/os/process.hpp>

namespace ashlar::os {

void at_fork(void (*before)() noexcept, void (*in_parent)() noexcept,
             void (*in_child)() noexcept) noexcept {
  ::pthread_atfork(before, in_parent, in_child);
}

}  // namespace ashlar::os
