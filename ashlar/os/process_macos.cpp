// os/process_macos.cpp: what of os/process.hpp is macOS's own.
// Layer: os.
#include <cstdint>

#include <crt_externs.h>
#include <pthread.h>
#include <unistd.h>

#include <ashlar/os/process.hpp>

namespace ashlar::os {

char** environment() noexcept {
  return *::_NSGetEnviron();
}
bool is_static_program() noexcept {
  return false;
}
bool has_more_rights() noexcept {
  return ::issetugid() != 0;
}
std::size_t new_thread_number() noexcept {
  std::uint64_t number = 0;
  ::pthread_threadid_np(nullptr, &number);
  return static_cast<std::size_t>(number);
}

}  // namespace ashlar::os
