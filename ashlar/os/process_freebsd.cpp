// os/process_freebsd.cpp: what of os/process.hpp is FreeBSD's own.
// Layer: os.
#include <pthread.h>
#include <pthread_np.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <ashlar/os/process.hpp>

// A program's own, not the C library's: so a library refers to it weakly.
extern "C" [[gnu::weak]] char** environ;

namespace ashlar::os {

char** environment() noexcept {
  return &environ != nullptr ? environ : nullptr;
}
bool is_static_program() noexcept {
  void* loader = nullptr;
  return ::elf_aux_info(AT_BASE, &loader, sizeof loader) == 0 && loader == nullptr;
}
bool has_more_rights() noexcept {
  return ::issetugid() != 0;
}
std::size_t new_thread_number() noexcept {
  return static_cast<std::size_t>(::pthread_getthreadid_np());
}

}  // namespace ashlar::os
