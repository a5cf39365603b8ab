// os/process_linux.cpp: what of os/process.hpp is Linux's own.
// Layer: os.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include <pthread.h>
#include <sys/auxv.h>

#include <ashlar/core/config.hpp>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/small_file.hpp>
#include <ashlar/os/system_call.hpp>

namespace ashlar::os {

namespace {
/// Of the process, as it was known last: 0: not yet.
constinit std::atomic<std::size_t> known_number{0};
}  // namespace

char** environment() noexcept { return environ; }
bool is_static_program() noexcept { return ::getauxval(AT_BASE) == 0; }
bool has_more_rights() noexcept { return ::getauxval(AT_SECURE) != 0; }
std::size_t process_number() noexcept {
  // Past a program's own getpid: sampling asks before the C library has its environment, which
  // libfaketime's reads, and that one may tell another number.
  if (!has_new_call_filter())
    known_number.store(static_cast<std::size_t>(system_call(SYS_getpid)),
                       std::memory_order_relaxed);
  return known_number.load(std::memory_order_relaxed);
}
void note_process_number() noexcept {
  known_number.store(new_thread_number(), std::memory_order_relaxed);
}
std::size_t new_thread_number() noexcept {
#if defined(__GLIBC__) && !ASHLAR_SANITIZED
  // The C library knows it, and writes it into a lock of this kind. A sandbox may not allow the
  // system call.
  pthread_mutex_t own = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  if (::pthread_mutex_lock(&own) == 0) {
    const int number = own.__data.__owner;
    ::pthread_mutex_unlock(&own);
    if (number > 0) return static_cast<std::size_t>(number);
  }
#endif
  return static_cast<std::size_t>(system_call(SYS_gettid));
}

bool are_last_threads(unsigned count) noexcept {
  char text[1024];
  const file_text got = read_small_file("/proc/self/stat", text, sizeof text - 1);
  if (got.why != nullptr) return false;
  text[got.size] = '\0';
  const char* at = std::strrchr(text, ')');  // ends the name: the first thread's state follows
  if (at == nullptr || std::strncmp(at, ") Z", 3) != 0) return false;
  for (int field = 2; field != 20 && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
  return at != nullptr && std::strtoul(at, nullptr, 10) <= count + 1ul;  // the first one counts
}

}  // namespace ashlar::os
