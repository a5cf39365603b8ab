// tools/shim/process_exit.cpp. Layer: shim.
//
// Only its parent learns from the system how a process ended, and the recorder is the parent of one process. So each
// process tells it itself. What a signal kills tells nothing.
#include "tools/shim/process_exit.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>

#include "tools/shim/log.hpp"
#include "tools/trace/memory_map.hpp"

namespace ashlar::shim {
namespace {

// Not on the stack, which may be a signal handler's. One thread is here, once.
constinit char read_bytes[4096]{};
constinit trace::memory_map the_map{};
constinit std::atomic<bool> is_done{false};

/// Effects: calls `use(count)` for each part of the file in `read_bytes`, until that returns false.
/// The C library's functions are places where a thread may be cancelled.
template <class Use>
void read_file(const char* path, Use use) {
  const long file = ::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  for (long got = 0; (got = ::syscall(SYS_read, file, read_bytes, sizeof read_bytes)) > 0;)
    if (!use(static_cast<std::size_t>(got))) break;
  ::syscall(SYS_close, file);
}

/// Effects: records what the process has in memory. errno is kept. Requires: is_on(), this thread is not inside an event, and
/// no sandbox forbids to open files. Only the first call has an effect.
///
/// The recorder looks from outside, but never knows which look is the last one, and sees little of a process that ends at
/// once. So the process looks at itself when it exits. It asks for all its mappings only where it has more in memory than
/// the recorder saw.
void put_memory_at_end() {
  // A thread that told nothing would begin with this: then there is no trace, or another thread's.
  if (own_log.now == nullptr || own_log.generation != the_process->generation) return;
  if (is_done.exchange(true)) return;
  const int error = errno;
  std::uint64_t resident = 0, peak = 0;
  read_file("/proc/self/status", [&](std::size_t count) {
    resident = trace::kib_behind({read_bytes, count}, "VmRSS:") << 10;
    peak = trace::kib_behind({read_bytes, count}, "VmHWM:") << 10;
    return false;
  });
  const std::uint64_t seen =
      the_spool->processes[the_process->index].memory_seen.load(std::memory_order_relaxed);
  if (resident > seen + seen / 64) {
    read_file("/proc/self/smaps", [](std::size_t count) {
      the_map.add(read_bytes, count);
      return true;
    });
    if (the_map.size() != 0) resident = the_map.resident();
  }
  if (resident != 0) {
    const std::uint64_t ticks = now();
    const std::size_t entries = the_map.size() * sizeof(trace::map_entry);
    const trace::spool_record head[2] = {
        {static_cast<std::uint64_t>(trace::spool_kind::memory) << 56 | ticks, 0,
         static_cast<std::uint32_t>(sizeof(trace::spool_record) + entries)},
        {resident, static_cast<std::uint32_t>(peak), static_cast<std::uint32_t>(peak >> 32)}};
    put_records(ticks, head, 2, the_map.begin(), entries);
  }
  errno = error;
}

}  // namespace

/// `at_once`: no handler of exit() follows.
static void note_exit(int status, bool at_once) {
  if (the_process == nullptr || the_process->generation == 0) return;
  trace::spool_process& own = the_spool->processes[the_process->index];
  // A child by vfork() has its parent's memory.
  if (!os::has_new_call_filter() && own.pid != static_cast<std::uint32_t>(::getpid())) return;
  // A signal handler's _exit() in the middle of an event leaves no room for another one.
  if (!own_log.inside) {
    put_untouched_of_living();
    // Not where the recorder searches the process's memory then: it looks by itself.
    if (is_on() && (at_once || the_spool->looks_at_ends == 0) && !os::has_new_call_filter())
      put_memory_at_end();
  }
  own.exit_status.store(status & 0xff, std::memory_order_relaxed);
  own.exit_ticks.store(now(), std::memory_order_release);
}

void watch_exit() {
  if (the_spool != nullptr) ::on_exit([](int status, void*) { note_exit(status, false); }, nullptr);
}

}  // namespace ashlar::shim

namespace {

[[noreturn]] void end_now(int status) {
  ashlar::shim::note_exit(status, true);
  for (;;) ::syscall(SYS_exit_group, status);
}

}  // namespace

extern "C" {

// The C library's own does the same, but for telling. A child by vfork() calls it, so it changes nothing of the process.
[[gnu::visibility("default")]] void _exit(int status) { end_now(status); }
[[gnu::visibility("default")]] void _Exit(int status) noexcept { end_now(status); }

}  // extern "C"
