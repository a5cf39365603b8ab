// os/process_linux.cpp: what of os/process.hpp is Linux's own.
// Layer: os.
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/os/process.hpp>

namespace ashlar::os {

char** environment() noexcept {
  return environ;
}
bool is_static_program() noexcept {
  return ::getauxval(AT_BASE) == 0;
}
bool has_more_rights() noexcept {
  return ::getauxval(AT_SECURE) != 0;
}
std::size_t new_thread_number() noexcept {
  return static_cast<std::size_t>(::syscall(SYS_gettid));
}

}  // namespace ashlar::os
