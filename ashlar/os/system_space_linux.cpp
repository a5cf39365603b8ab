// os/system_space_linux.cpp: os/system_space.hpp by mmap, mprotect, madvise and mremap.
// Layer: os.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include <ashlar/os/system_space.hpp>

namespace ashlar::os {
namespace {

// An allocator's callers look at errno: what the heap tries and survives must not show there.
class errno_keeper {
 public:
  errno_keeper() noexcept : saved_(errno) {}
  ~errno_keeper() { errno = saved_; }
  errno_keeper(const errno_keeper&) = delete;
  errno_keeper& operator=(const errno_keeper&) = delete;

 private:
  int saved_;
};

void* map(std::size_t bytes, int protection) noexcept {
  const errno_keeper keeper;
  void* p = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

ssize_t read_file(const char* name, char* text, std::size_t capacity) noexcept {
  const int file = ::open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const ssize_t got = ::read(file, text, capacity);
  ::close(file);
  return got;
}

}  // namespace

// Not writable, so that the system charges nothing for it, whatever its overcommit policy is.
void* system_space::reserve(std::size_t bytes) noexcept {
  return map(bytes, PROT_NONE);
}
void* system_space::reserve_zeros(std::size_t bytes) noexcept {
  return map(bytes, PROT_READ);
}

bool system_space::commit(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  return ::mprotect(p, bytes, PROT_READ | PROT_WRITE) == 0;
}

bool system_space::populate(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
#ifdef MADV_POPULATE_WRITE
  if (::madvise(p, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;  // else the system is older than the flag
#endif
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const first = static_cast<unsigned char*>(p);
  // A write that changes nothing, whatever another thread writes there meanwhile.
  for (std::size_t i = 0; i < bytes; i += page)
    std::atomic_ref(first[i]).fetch_or(0, std::memory_order_relaxed);
  return true;
}

bool system_space::purge(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  // DONTNEED, not FREE: the pages must read as zero afterwards, and RSS must show that they left.
  if (::madvise(p, bytes, MADV_DONTNEED) == 0) return true;
  // Pages that their last owner locked in memory stay until they are unlocked.
  return errno == EINVAL && ::munlock(p, bytes) == 0 && ::madvise(p, bytes, MADV_DONTNEED) == 0;
}

bool system_space::renew(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  return ::mmap(p, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
         MAP_FAILED;
}

// A mapping in place of the old one: it leaves no page table entry, and is one with its neighbours again, of which a
// process may have no more than some 65,000.
bool system_space::close(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  return ::mmap(p, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

bool system_space::move(void* from, void* to, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  // DONTUNMAP: the old addresses stay ours at every moment, so no other thread's mapping can land
  // in them. Systems that do not know the flag refuse, and the caller copies.
  return ::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) !=
         MAP_FAILED;
}

void system_space::release(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  ::munmap(p, bytes);
}

std::size_t system_space::resident(const void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  unsigned char present[256];
  std::size_t pages = 0;
  auto* const begin = const_cast<char*>(static_cast<const char*>(p));
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(bytes - done, sizeof present * page);
    if (::mincore(begin + done, part, present) != 0) return 0;
    pages += static_cast<std::size_t>(std::count_if(present, present + part / page,
                                                    [](unsigned char c) { return (c & 1) != 0; }));
    done += part;
  }
  return pages * page;
}

std::size_t system_space::limit() noexcept {
  const errno_keeper keeper;
  rlimit addresses{};
  if (::getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY)
    return SIZE_MAX;
  return addresses.rlim_cur;
}

std::size_t system_space::physical() noexcept {
  const errno_keeper keeper;
  struct sysinfo info{};
  return ::sysinfo(&info) == 0 ? std::size_t{info.totalram} * info.mem_unit : 0;
}

// Not sysconf, which reads a file.
std::size_t system_space::processors() noexcept {
  const errno_keeper keeper;
  cpu_set_t sets[8] = {};  // the system refuses if it was built for more processors than they hold
  if (::sched_getaffinity(0, sizeof sets, sets) != 0) return 1;
  return static_cast<std::size_t>(CPU_COUNT_S(sizeof sets, sets));
}

std::uint64_t system_space::now_ms() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

std::size_t resident_bytes() noexcept {
  const errno_keeper keeper;
  // Read by hand: stdio would allocate from the heap that is being described. Opening and reading
  // are points where a thread may be cancelled, which would leave the file open.
  int cancel = 0;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  char text[128];
  const ssize_t got = read_file("/proc/self/statm", text, sizeof text - 1);
  ::pthread_setcancelstate(cancel, nullptr);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* p = text;
  while (*p != '\0' && *p != ' ') ++p;  // the first field is the virtual size
  std::size_t pages = 0;
  for (++p; *p >= '0' && *p <= '9'; ++p) pages = pages * 10 + static_cast<std::size_t>(*p - '0');
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace ashlar::os
