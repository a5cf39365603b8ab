// os/system_space_bsd.cpp: what of os/system_space.hpp macOS and FreeBSD have in common, and their
// resident bytes.
// Layer: os.
//
// A page that is purged has to read as zero, which madvise promises for none of its flags here. So
// it is mapped anew, and is resident no more from that moment on.
#include <sys/types.h>
#if defined(__APPLE__)
#include <mach/mach.h>
#else
#include <sys/sysctl.h>
#include <sys/user.h>
#endif
#include <sys/resource.h>
#include <unistd.h>

#include <ashlar/os/errno_keeper.hpp>
#include <ashlar/os/system_space.hpp>

namespace ashlar::os {
namespace {

/// Returns: a figure of sysconf; `otherwise` where it has none.
std::size_t figure(int name, std::size_t otherwise) noexcept {
  const errno_keeper keeper;
  const long value = ::sysconf(name);
  return value > 0 ? static_cast<std::size_t>(value) : otherwise;
}

}  // namespace

bool system_space::purge(void* p, std::size_t bytes) noexcept { return renew(p, bytes); }

void system_space::choose_pages(void*, std::size_t, huge_pages) noexcept {}

bool system_space::guard(void*, std::size_t) noexcept { return false; }
void system_space::unguard(void*, std::size_t) noexcept {}
bool system_space::move(void*, void*, std::size_t) noexcept { return false; }

std::size_t system_space::limit() noexcept {
  const errno_keeper keeper;
  rlimit addresses{};
  if (::getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY)
    return SIZE_MAX;
  return static_cast<std::size_t>(addresses.rlim_cur);  // signed on some systems
}

std::size_t system_space::physical() noexcept {
  return figure(_SC_PHYS_PAGES, 0) * figure(_SC_PAGESIZE, 0);
}

std::size_t system_space::processors() noexcept { return figure(_SC_NPROCESSORS_ONLN, 1); }

#if defined(__APPLE__)
std::size_t resident_bytes() noexcept {
  mach_task_basic_info info{};
  mach_msg_type_number_t words = MACH_TASK_BASIC_INFO_COUNT;
  const auto to = reinterpret_cast<task_info_t>(&info);
  return ::task_info(::mach_task_self(), MACH_TASK_BASIC_INFO, to, &words) == KERN_SUCCESS
             ? static_cast<std::size_t>(info.resident_size)
             : 0;
}
#else
std::size_t resident_bytes() noexcept {
  const errno_keeper keeper;
  const int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, ::getpid()};
  kinfo_proc process{};
  std::size_t bytes = sizeof process;
  if (::sysctl(name, sizeof name / sizeof *name, &process, &bytes, nullptr, 0) != 0) return 0;
  return static_cast<std::size_t>(process.ki_rssize) * figure(_SC_PAGESIZE, 0);
}
#endif

}  // namespace ashlar::os
