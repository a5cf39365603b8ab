// os/service_thread_linux.cpp: os/service_thread.hpp by POSIX threads and a futex.
// Layer: os.
#include <cerrno>
#include <csignal>
#include <cstddef>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <ashlar/os/service_thread.hpp>

namespace ashlar::os {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;
constexpr long nanoseconds_a_ms = 1'000'000;
constexpr long nanoseconds_a_second = 1'000'000'000;

static_assert(sizeof(pthread_t) == sizeof(std::uintptr_t));
pthread_t thread_of(std::uintptr_t handle) noexcept {
  return static_cast<pthread_t>(handle);
}

/// No thread is cancelled while this lives: waiting would be a point where it could be.
class cancellation_guard {
 public:
  cancellation_guard() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~cancellation_guard() { ::pthread_setcancelstate(before_, nullptr); }
  cancellation_guard(const cancellation_guard&) = delete;
  cancellation_guard& operator=(const cancellation_guard&) = delete;

 private:
  int before_ = 0;
};

void* run(void* work) noexcept {
  static_cast<void>(::pthread_setname_np(::pthread_self(), "ashlar"));
  reinterpret_cast<void (*)() noexcept>(work)();
  return nullptr;
}

/// Returns: 0, or the system's error.
int create(pthread_t& thread, void (*work)() noexcept, std::size_t bytes) noexcept {
  pthread_attr_t attributes;
  int error = ::pthread_attr_init(&attributes);
  if (error != 0) return error;
  if (bytes != 0) error = ::pthread_attr_setstacksize(&attributes, bytes);
  if (error == 0)
    error = ::pthread_create(&thread, &attributes, run, reinterpret_cast<void*>(work));
  ::pthread_attr_destroy(&attributes);
  return error;
}

timespec duration_of(std::int64_t ms) noexcept {
  timespec t{};
  t.tv_sec = static_cast<time_t>(ms / 1'000);
  t.tv_nsec = static_cast<long>(ms % 1'000) * nanoseconds_a_ms;
  return t;
}

}  // namespace

bool service_thread::start(void (*work)() noexcept) noexcept {
  const int saved = errno;
  // The new thread inherits the mask. A handler of the program's must not run on this small stack.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  int error = create(thread, work, stack_bytes);
  // The process's thread-local objects are on the stack, too, and may be larger than it.
  if (error == EINVAL) error = create(thread, work, 0);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) handle_ = static_cast<std::uintptr_t>(thread);
  errno = saved;
  return error == 0;
}

bool service_thread::join_within(unsigned ms) noexcept {
  const cancellation_guard guard;
  const int saved = errno;
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  const timespec more = duration_of(ms);
  until.tv_sec += more.tv_sec;
  until.tv_nsec += more.tv_nsec;
  if (until.tv_nsec >= nanoseconds_a_second) {
    until.tv_nsec -= nanoseconds_a_second;
    ++until.tv_sec;
  }
  const bool ended = ::pthread_timedjoin_np(thread_of(handle_), nullptr, &until) == 0;
  errno = saved;
  return ended;
}

void bell::wait(std::int64_t ms) noexcept {
  const int saved = errno;
  if (rung_.exchange(0, std::memory_order_acquire) == 0) {
    const timespec duration = duration_of(ms < 0 ? 0 : ms);
    ::syscall(SYS_futex, &rung_, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, ms < 0 ? nullptr : &duration,
              nullptr, 0);
    rung_.exchange(0, std::memory_order_acquire);
  }
  errno = saved;
}

void bell::ring() noexcept {
  const int saved = errno;
  if (rung_.exchange(1, std::memory_order_release) == 0)
    ::syscall(SYS_futex, &rung_, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr, 0);
  errno = saved;
}

}  // namespace ashlar::os
