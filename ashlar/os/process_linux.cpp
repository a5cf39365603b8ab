// os/process_linux.cpp: os/process.hpp by POSIX threads and the loader's vector.
// Layer: os.
#include <cstddef>

#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <ashlar/os/process.hpp>

namespace ashlar::os {

static_assert(sizeof(pthread_key_t) == sizeof(std::uint32_t));

char** environment() noexcept {
  return environ;
}
bool has_more_rights() noexcept {
  return ::getauxval(AT_SECURE) != 0;
}
std::size_t process_number() noexcept {
  return static_cast<std::size_t>(::getpid());
}

void thread_end::start(void (*ended)(void*) noexcept) noexcept {
  is_valid_ = ::pthread_key_create(&key_, ended) == 0;
}
bool thread_end::watch(void* value) noexcept {
  return is_valid_ && ::pthread_setspecific(key_, value) == 0;
}

void at_fork(void (*before)() noexcept, void (*in_parent)() noexcept,
             void (*in_child)() noexcept) noexcept {
  ::pthread_atfork(before, in_parent, in_child);
}

}  // namespace ashlar::os
