// os/thread_end_posix.cpp: thread_end of os/process.hpp by a key of POSIX threads.
// Layer: os. For systems where a thread's thread-local objects live longer than its keys.
#include <cstdint>

#include <pthread.h>

#include <ashlar/os/process.hpp>

namespace ashlar::os {

/// The key is not 0: a program that has not made its own yet asks for that one, and must find no
/// value.
void thread_end::start(void (*ended)(void*) noexcept) noexcept {
  pthread_key_t key = 0;
  is_valid_ = ::pthread_key_create(&key, ended) == 0;
  key_ = static_cast<std::uint32_t>(key);
  if (!is_valid_ || key != 0 || ::pthread_key_create(&key, ended) != 0) return;
  ::pthread_key_delete(static_cast<pthread_key_t>(key_));
  key_ = static_cast<std::uint32_t>(key);
}
bool thread_end::watch(void* value) noexcept {
  return is_valid_ && ::pthread_setspecific(static_cast<pthread_key_t>(key_), value) == 0;
}

}  // namespace ashlar::os
