// os/thread_end_posix.cpp: thread_end of os/process.hpp by a key of POSIX threads.
// Layer: os. For systems where a thread's thread-local objects live longer than its keys.
#include <cstdint>

#include <pthread.h>

#include <ashlar/os/process.hpp>

namespace ashlar::os {

static_assert(sizeof(pthread_key_t) == sizeof(std::uint32_t));

void thread_end::start(void (*ended)(void*) noexcept) noexcept {
  is_valid_ = ::pthread_key_create(reinterpret_cast<pthread_key_t*>(&key_), ended) == 0;
}
bool thread_end::watch(void* value) noexcept {
  return is_valid_ && ::pthread_setspecific(static_cast<pthread_key_t>(key_), value) == 0;
}

}  // namespace ashlar::os
