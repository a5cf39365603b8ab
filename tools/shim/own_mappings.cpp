// tools/shim/own_mappings.cpp: large mappings that the program makes by itself, anonymous ones and those
// that it shares and writes, also segments of System V; and its stacks for signals.
// Layer: shim.
//
// malloc's own are not seen: the C library calls the system directly, and another allocator is
// inside of an outer call then. A wrapper makes the system call itself, so it works before the recorder is
// ready, and in a sandbox it makes no other call than the program's.
#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>

#include "tools/shim/log.hpp"

namespace ashlar::shim {
namespace {

constexpr std::size_t least_bytes = 64u << 10;

bool is_one_to_tell(std::size_t bytes) {
  return bytes >= least_bytes && is_on() && !own_log.inside && the_spool->stack_depth != 0;
}

/// Effects: from now on these bytes are of this stack, or of nobody; with 0 bytes, all that was told to
/// begin there.
void put_mapping(std::uintptr_t address, std::uint64_t bytes, bool is_gone) {
  const int error = errno;
  const std::uint64_t ticks = now();
  const std::uint64_t numbers[3] = {bytes, ticks, is_gone ? 0 : stack_here(ticks)};
  const trace::spool_record head{
      static_cast<std::uint64_t>(trace::spool_kind::mapping) << 56 | address, 0, sizeof numbers};
  const bool was_inside = own_log.inside;
  own_log.inside = true;
  put_records(ticks, &head, 1, numbers, sizeof numbers);
  own_log.inside = was_inside;
  errno = error;
}

void* told(void* mapped, std::size_t bytes) {
  if (mapped != MAP_FAILED && is_one_to_tell(bytes))
    put_mapping(reinterpret_cast<std::uintptr_t>(mapped), bytes, false);
  return mapped;
}

void* map_for_program(void* address, std::size_t bytes, int rights, int flags, int file,
                      long offset) {
  auto* const mapped =
      reinterpret_cast<void*>(::syscall(SYS_mmap, address, bytes, rights, flags, file, offset));
  const bool is_own =
      (flags & MAP_ANONYMOUS) != 0 || ((flags & MAP_SHARED) != 0 && (rights & PROT_WRITE) != 0);
  return is_own ? told(mapped, bytes) : mapped;
}

}  // namespace
}  // namespace ashlar::shim

extern "C" {

[[gnu::visibility("default")]] void* mmap(void* address, std::size_t bytes, int rights, int flags,
                                          int file, off_t offset) noexcept {
  return ashlar::shim::map_for_program(address, bytes, rights, flags, file, offset);
}
[[gnu::visibility("default")]] void* mmap64(void* address, std::size_t bytes, int rights, int flags,
                                            int file, off64_t offset) noexcept {
  return ashlar::shim::map_for_program(address, bytes, rights, flags, file, offset);
}
[[gnu::visibility("default")]] int munmap(void* address, std::size_t bytes) noexcept {
  // Before the call: behind it the addresses may be another thread's.
  if (ashlar::shim::is_one_to_tell(bytes))
    ashlar::shim::put_mapping(reinterpret_cast<std::uintptr_t>(address), bytes, true);
  return static_cast<int>(::syscall(SYS_munmap, address, bytes));
}
[[gnu::visibility("default")]] void* mremap(void* old, std::size_t old_bytes, std::size_t bytes,
                                            int flags, ...) noexcept {
  va_list more;
  va_start(more, flags);
  void* const wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  auto* const mapped =
      reinterpret_cast<void*>(::syscall(SYS_mremap, old, old_bytes, bytes, flags, wanted));
  if (mapped != MAP_FAILED && ashlar::shim::is_one_to_tell(old_bytes))
    ashlar::shim::put_mapping(reinterpret_cast<std::uintptr_t>(old), old_bytes, true);
  return ashlar::shim::told(mapped, bytes);
}
[[gnu::visibility("default")]] void* shmat(int segment, const void* address, int flags) noexcept {
  auto* const mapped = reinterpret_cast<void*>(::syscall(SYS_shmat, segment, address, flags));
  const int error = errno;
  shmid_ds about{};
  if (mapped != MAP_FAILED && (flags & SHM_RDONLY) == 0 &&
      ashlar::shim::is_one_to_tell(ashlar::shim::least_bytes) &&
      !ashlar::os::has_new_call_filter() && ::syscall(SYS_shmctl, segment, IPC_STAT, &about) == 0)
    ashlar::shim::told(mapped, about.shm_segsz);
  errno = error;
  return mapped;
}
[[gnu::visibility("default")]] int shmdt(const void* address) noexcept {
  if (ashlar::shim::is_one_to_tell(ashlar::shim::least_bytes))
    ashlar::shim::put_mapping(reinterpret_cast<std::uintptr_t>(address), 0, true);
  return static_cast<int>(::syscall(SYS_shmdt, address));
}
// Only the system has a pointer to it: this one is for the search at exit.
[[gnu::visibility("default")]] int sigaltstack(const stack_t* to, stack_t* before) noexcept {
  const long result = ::syscall(SYS_sigaltstack, to, before);
  if (result == 0 && to != nullptr)
    ashlar::shim::own_log.signal_stack = (to->ss_flags & SS_DISABLE) != 0 ? nullptr : to->ss_sp;
  return static_cast<int>(result);
}

}  // extern "C"
