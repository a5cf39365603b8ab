// os/service_thread_posix.cpp: os/service_thread.hpp by POSIX threads.
// Layer: os.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include <pthread.h>
#if __has_include(<pthread_np.h>)
#include <pthread_np.h>
#endif

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/clock.hpp>
#include <ashlar/os/errno_keeper.hpp>
#include <ashlar/os/not_cancelled.hpp>
#include <ashlar/os/service_thread.hpp>

namespace ashlar::os {
namespace {

constexpr const char* name = "ashlar";

static_assert(sizeof(pthread_t) == sizeof(std::uintptr_t));

void name_this_thread() noexcept {
#if defined(__APPLE__)
  ::pthread_setname_np(name);
#else
  static_cast<void>(::pthread_setname_np(::pthread_self(), name));
#endif
}

/// Returns: 0, or the system's error.
int create(pthread_t& thread, void* (*run)(void*), void* with, std::size_t bytes,
           int detached = PTHREAD_CREATE_JOINABLE) noexcept {
  pthread_attr_t attributes;
  int error = ::pthread_attr_init(&attributes);
  if (error != 0) return error;
  if (bytes != 0) error = ::pthread_attr_setstacksize(&attributes, bytes);
  if (error == 0) error = ::pthread_attr_setdetachstate(&attributes, detached);
  if (error == 0) error = ::pthread_create(&thread, &attributes, run, with);
  ::pthread_attr_destroy(&attributes);
  return error;
}

}  // namespace

void* service_thread::work_and_tell(void* self) noexcept {
  name_this_thread();
  auto& own = *static_cast<service_thread*>(self);
  own.work_();
  own.has_ended_.store(true, std::memory_order_release);
  own.end_.ring();
  return nullptr;
}

bool service_thread::start(void (*work)() noexcept, std::size_t stack_bytes) noexcept {
  if (has_new_call_filter()) return false;
  const int saved = errno;
  work_ = work;
  has_ended_.store(false, std::memory_order_relaxed);
  end_.reset();
  // The new thread inherits the mask. A handler of the program's must not run on this small stack.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  int error = create(thread, work_and_tell, this, stack_bytes);
  // The process's thread-local objects are on the stack, too, and may be larger than it.
  if (error == EINVAL) error = create(thread, work_and_tell, this, 0);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) handle_ = std::bit_cast<std::uintptr_t>(thread);
  errno = saved;
  return error == 0;
}

void* program_thread::run(void* self) noexcept {
  const auto& own = *static_cast<const program_thread*>(self);
  const bool works = own.wait_();
  sigset_t blocked;
  sigemptyset(&blocked);
  std::memcpy(&blocked, own.blocked_, std::min(sizeof own.blocked_, sizeof blocked));
  ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  if (works) own.work_();
  return nullptr;
}

bool program_thread::start() noexcept {
  if (has_new_call_filter()) return false;
  const errno_keeper keeper;
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::memcpy(blocked_, &before, std::min(sizeof blocked_, sizeof before));
  pthread_t thread{};
  const int error = create(thread, run, this, 0, PTHREAD_CREATE_DETACHED);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error == 0;
}

bool service_thread::join_within(unsigned ms) noexcept {
  const not_cancelled here;
  const std::uint64_t until = steady_ns() + std::uint64_t{ms} * 1'000'000;
  while (!has_ended_.load(std::memory_order_acquire)) {
    const std::uint64_t now = steady_ns();
    if (now >= until) return false;
    end_.wait(static_cast<std::int64_t>((until - now) / 1'000'000) + 1);
  }
  ::pthread_join(std::bit_cast<pthread_t>(handle_), nullptr);
  return true;
}

}  // namespace ashlar::os
