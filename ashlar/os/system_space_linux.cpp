// os/system_space_linux.cpp: what of os/system_space.hpp is Linux's own: madvise, mremap, and
// figures of the system.
// Layer: os.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <ashlar/core/memory_tools.hpp>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/errno_keeper.hpp>
#include <ashlar/os/page_calls.hpp>
#include <ashlar/os/system_call.hpp>
#include <ashlar/os/system_space.hpp>

namespace ashlar::os {
namespace {

ssize_t read_file(const char* name, char* text, std::size_t capacity) noexcept {
  const long file = system_call(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const ssize_t got = system_call(SYS_read, file, text, capacity);
  system_call(SYS_close, file);
  return got;
}

/// Some emulators and sandboxes let madvise succeed and do nothing. The first purge finds out.
enum class advice : unsigned char { not_known, is_followed, is_ignored };
constinit std::atomic<advice> dont_need{advice::not_known};
/// The same of guarding pages.
constinit std::atomic<advice> guard_install{advice::not_known};
constexpr int advice_guard = 102, advice_unguard = 103,
              advice_bring_in = 22;  // MADV_*; headers may be older

bool drop_pages(void* p, std::size_t bytes) noexcept {
  // DONTNEED, not FREE: the pages must read as zero afterwards, and RSS must show that they left.
  if (page_calls::advise(p, bytes, MADV_DONTNEED) == 0) return true;
  // Pages that their last owner locked in memory stay until other ones are mapped there.
  if (errno != EINVAL || !system_space::renew(p, bytes)) return false;
#if defined(MADV_DONTNEED_LOCKED)
  // In a process all of whose pages are locked, those are in memory at once.
  static_cast<void>(page_calls::advise(p, bytes, MADV_DONTNEED_LOCKED));
#endif
  return true;
}

}  // namespace

bool system_space::purge(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  const advice known = dont_need.load(std::memory_order_relaxed);
  if (known == advice::is_ignored || is_in_sandbox()) return renew(p, bytes);  // as commit
  if (known == advice::is_followed) return drop_pages(p, bytes);
  auto* const word = static_cast<volatile unsigned*>(p);
  detail::tell_looking();  // blocks that a tool has been told are freed may lie there
  const unsigned before = *word;
  *word = 1;
  const bool dropped = drop_pages(p, bytes);
  const bool follows = dropped && *word == 0;
  if (!dropped) *word = before;
  detail::tell_looked();
  if (!dropped) return false;
  dont_need.store(follows ? advice::is_followed : advice::is_ignored, std::memory_order_relaxed);
  return follows || renew(p, bytes);
}

bool system_space::guard(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  const advice known = guard_install.load(std::memory_order_relaxed);
  if (known == advice::is_ignored || is_in_sandbox()) return false;
  const bool done = page_calls::advise(p, bytes, advice_guard) == 0;
  if (known == advice::is_followed) return done;
  // A page that can be brought in is not guarded.
  const bool follows =
      done && page_calls::advise(p, bytes, advice_bring_in) != 0 && errno == EFAULT;
  guard_install.store(follows ? advice::is_followed : advice::is_ignored,
                      std::memory_order_relaxed);
  return follows;
}
void system_space::unguard(void* p, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  if (guard_install.load(std::memory_order_relaxed) != advice::is_followed) return;
  if (is_in_sandbox())
    static_cast<void>(renew(p, bytes));
  else
    page_calls::advise(p, bytes, advice_unguard);
}

void system_space::choose_pages(void* p, std::size_t bytes, huge_pages which) noexcept {
  if (which == huge_pages::as_the_system_says || is_in_sandbox()) return;
  const errno_keeper keeper;
  // A system that was built without them refuses, and has none.
  static_cast<void>(
      page_calls::advise(p, bytes, which == huge_pages::always ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
}

bool system_space::move(void* from, void* to, std::size_t bytes) noexcept {
  const errno_keeper keeper;
  // DONTUNMAP: the old addresses stay ours at every moment, so no other thread's mapping can land
  // in them. Systems that do not know the flag refuse, and the caller copies.
  // As page_calls.hpp says. It is for no sanitizer, which takes the copy.
  constexpr int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  if (system_call(SYS_mremap, from, bytes, bytes, how, to) == -1) return false;
#if !defined(__x86_64__)
  // qemu 7.2 takes the old addresses for unmapped then, and ends a program that writes there. It
  // seldom runs x86-64. If this is refused, they are as the system left them: zeros.
  static_cast<void>(renew(from, bytes));
#endif
  return true;
}

std::size_t system_space::limit() noexcept {
  const errno_keeper keeper;
  struct {
    std::uint64_t now, most;  // as the system has it
  } addresses{};
  if (has_new_call_filter() || system_call(SYS_prlimit64, 0, RLIMIT_AS, nullptr, &addresses) != 0 ||
      addresses.now > SIZE_MAX)
    return SIZE_MAX;
  return static_cast<std::size_t>(addresses.now);
}

std::size_t system_space::physical() noexcept {
  const errno_keeper keeper;
  struct sysinfo info{};
  if (system_call(SYS_sysinfo, &info) != 0) return 0;
  // More than there are addresses, where these have 32 bits.
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(std::uint64_t{info.totalram} * info.mem_unit, SIZE_MAX));
}

// Not sysconf, which reads a file.
std::size_t system_space::processors() noexcept {
  const errno_keeper keeper;
  cpu_set_t sets[8] = {};  // the system refuses if it was built for more processors than they hold
  if (system_call(SYS_sched_getaffinity, 0, sizeof sets, sets) < 0) return 1;
  return static_cast<std::size_t>(CPU_COUNT_S(sizeof sets, sets));
}

std::size_t resident_bytes() noexcept {
  const errno_keeper keeper;
  // By system calls: stdio would allocate from the heap that is being described, and the C
  // library's open and read are points where a thread may be cancelled, which would leave the file
  // open.
  char text[128];
  const ssize_t got = read_file("/proc/self/statm", text, sizeof text - 1);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* p = text;
  while (*p != '\0' && *p != ' ') ++p;  // the first field is the virtual size
  std::size_t pages = 0;
  for (++p; *p >= '0' && *p <= '9'; ++p) pages = pages * 10 + static_cast<std::size_t>(*p - '0');
  return pages * page_calls::page_bytes();
}

}  // namespace ashlar::os
