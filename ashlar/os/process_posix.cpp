// os/process_posix.cpp: numbers of processes of os/process.hpp.
// Layer: os.
#include <unistd.h>

#include <ashlar/os/process.hpp>

namespace ashlar::os {

std::size_t process_number() noexcept { return static_cast<std::size_t>(::getpid()); }

void note_process_number() noexcept {}

bool are_last_threads(unsigned) noexcept { return false; }

}  // namespace ashlar::os
