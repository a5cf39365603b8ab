// tools/shim/recording.cpp: how a process comes into the recorder's memory, and leaves it. Layer: shim.
#include "tools/shim/recording.hpp"

#include <cstdlib>
#include <cstring>

#include <cxxabi.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/code_file.hpp>
#include <ashlar/os/loaded_module.hpp>
#include <ashlar/os/process.hpp>

#include "tools/shim/chunks.hpp"

namespace ashlar::shim {

using trace::chunk;
using trace::chunk_state;
using trace::spool;

namespace {

constinit std::size_t mapped_bytes = 0;  // of the_spool
constinit bool is_wanted_here = false;   // record_only() names this program, or none
constinit std::uint32_t last_generation =
    0;  // forks take it along: no two recordings have the same

struct process_numbers {
  std::uint32_t own, parent;
};
constinit process_numbers known_numbers{};

/// Returns: the system's numbers of this process. In a sandbox, as they were known last.
const process_numbers& numbers_of_process() {
  // A child by clone() was not told of.
  if (!os::has_new_call_filter())
    known_numbers = {static_cast<std::uint32_t>(::getpid()),
                     static_cast<std::uint32_t>(::getppid())};
  return known_numbers;
}

void complain(const char* what) {
  char line[256];
  const int bytes = std::snprintf(line, sizeof line, "ashlar record: process %d (%.32s): %s\n",
                                  ::getpid(), program_invocation_short_name, what);
  [[maybe_unused]] const auto written = ::write(
      STDERR_FILENO, line, std::min<std::size_t>(static_cast<std::size_t>(bytes), sizeof line - 1));
}

/// Returns: what follows the last slash.
const char* file_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

/// Returns: whether a process of this program, which was called by this word, is to be recorded.
bool is_wanted(const char* program, const char* word) {
  const char* name = the_spool->only;
  if (*name == '\0') return true;
  for (; *name != '\0'; name += std::strlen(name) + 1)
    if (std::strcmp(name, file_name(program)) == 0 || std::strcmp(name, file_name(word)) == 0)
      return true;
  return false;
}

/// Effects: tells what this process is: its path and arguments, in a chunk of their own. Returns: whether its events are
/// to be told, too.
bool describe_process() {
  const std::uint32_t index = take_chunk();
  if (index == trace::chunks_max) return true;
  begin_chunk(index, 0, system_thread_number(), 0, now());
  chunk* const c = trace::chunk_of(the_spool, index);
  char* const text = reinterpret_cast<char*>(c->records);
  constexpr std::size_t room = sizeof c->records - 1;  // behind it, a zero ends the last word
  const ssize_t path = ::readlink("/proc/self/exe", text, 4096);
  std::size_t used = path > 0 ? static_cast<std::size_t>(path) : 0;
  text[used++] = '\0';
  const int file = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    for (ssize_t got = 1; got > 0 && used < room;
         used += static_cast<std::size_t>(got > 0 ? got : 0))
      got = ::read(file, text + used, room - used);
    ::close(file);
  }
  text[used] = '\0';
  const bool wanted = is_wanted(text, text + std::strlen(text) + 1);
  if (!wanted)
    the_spool->processes[the_process->index].is_skipped.store(1, std::memory_order_relaxed);
  c->header.used.store(static_cast<std::uint32_t>(used), std::memory_order_release);
  seal(index);
  return wanted;
}

/// Effects: enters this process into the spool. Returns: false when it is not to be recorded.
bool begin_process(std::uint32_t parent) {
  const std::uint32_t index = the_spool->processes_count.fetch_add(1, std::memory_order_relaxed);
  if (index >= trace::processes_max) {
    the_spool->processes_count.store(trace::processes_max, std::memory_order_relaxed);
    return false;
  }
  trace::spool_process& entry = the_spool->processes[index];
  entry.parent = parent;
  const process_numbers& numbers = numbers_of_process();
  entry.system_parent = numbers.parent;
  entry.begin_ticks = now();
  __atomic_store_n(&entry.pid, numbers.own, __ATOMIC_RELEASE);
  the_process->index = index;
  return true;
}

/// Effects: overwrites what calls have left on the stack: addresses of blocks are no pointers there.
[[gnu::noinline]] void clear_stack_below() {
  char left[6u << 10];
  __builtin_memset(left, 0, sizeof left);
  asm volatile("" : : "r"(left) : "memory");
}

/// Behind all other handlers of exit(), so that what those free is free.
void wait_for_look(void*) {
  if (!is_on() || the_process->generation == 0) return;
  // The recorder searches for pointers to blocks: behind this nothing is watched.
  if (!own_log.inside) put_untouched_of_living();  // as note_exit
  clear_stack_below();
  recording = false;
  trace::spool_process& own = the_spool->processes[the_process->index];
  own.stack_at_end.store(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)),
                         std::memory_order_relaxed);
  own.end.store(trace::process_end::waits, std::memory_order_release);
  static_cast<void>(recorder_gets_to(
      [&own] { return own.end.load(std::memory_order_acquire) == trace::process_end::goes_on; }));
}

std::uint32_t last_index = 0;

void begin_generation() {
  last_index = the_process->index;
  the_process->generation = ++last_generation;
}

/// Effects: maps the recorder's memory. Returns: 0, or an error number.
int map_spool(const char* path) {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return errno;
  void* const memory = ::mmap(nullptr, trace::spool_bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) return ENOMEM;
  if (the_process == nullptr) {
    void* const page =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || ::madvise(page, 4096, MADV_WIPEONFORK) != 0) return ENOMEM;
    the_process = static_cast<process_state*>(page);
  }
  auto* const found = static_cast<spool*>(memory);
  if (found->magic != spool::magic_value) {
    ::munmap(memory, trace::spool_bytes);
    return EPROTO;
  }
  // Of a recorder that was killed: its memory would stay.
  if (the_spool != nullptr) ::madvise(the_spool, mapped_bytes, MADV_REMOVE);
  the_spool = found;
  mapped_bytes = trace::spool_bytes;
  return 0;
}

/// Effects: unmaps the chunks that were never taken, which nobody takes any more. A thread may stand
/// in another one.
void give_back_addresses() {
  if (mapped_bytes != trace::spool_bytes) return;
  std::uint32_t end = trace::chunks_max;
  while (end > the_spool->chunks.load(std::memory_order_relaxed)) {
    chunk_state expected = chunk_state::free;
    if (!the_spool->states[end - 1].compare_exchange_strong(expected, chunk_state::taken)) break;
    --end;
  }
  if (end == trace::chunks_max) return;
  mapped_bytes = trace::chunks_at + std::size_t{end} * trace::chunk_bytes;
  ::munmap(trace::chunk_of(the_spool, end), trace::spool_bytes - mapped_bytes);
}

const char* describe_refusal(int error) {
  if (error == EPROTO) return "the recorder is of another version";
  if (error == ENOMEM) return "not recorded: no address space for the recorder's memory";
  return "not recorded: it cannot open the recorder's memory (as another user, or with another "
         "/proc)";
}

}  // namespace

// A child by clone() has another one than the C library knows.
std::uint32_t system_thread_number() {
  if (os::has_new_call_filter()) return static_cast<std::uint32_t>(os::new_thread_number());
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

void note_numbers_of_child() {
  known_numbers = {static_cast<std::uint32_t>(os::new_thread_number()), known_numbers.own};
}

bool process_is_on() {
  if (the_process->generation != 0) return true;
  begin_definitions_of_child();
  recording = the_spool->stop.load(std::memory_order_relaxed) == 0 && begin_process(last_index + 1);
  if (!recording) return false;
  begin_generation();
  return true;
}

int begin_recording(const char* spool_path, recording_begin how) {
  os::note_call_filters();
  if (const int error = map_spool(spool_path); error != 0) return error;
  if (the_spool->stop.load(std::memory_order_relaxed) != 0) return ECANCELED;
  is_attached = how == recording_begin::attached;
  if (the_spool->stack_depth != 0) {
    forget_definitions();
    if (!is_attached) os::note_first_files();
  }
  if (!begin_process(0)) return ENOSPC;
  begin_generation();
  watch_ends_of_threads();
  is_wanted_here = describe_process();
  return 0;
}

void record_from_now() { recording = is_wanted_here; }

void end_recording() {
  recording = false;
  give_back_addresses();
}

bool has_recorder() {
  constexpr int patience = 2500;  // half a second
  const std::uint32_t beat = the_spool->heartbeat.load(std::memory_order_relaxed);
  for (int waited = 0; waited < patience; ++waited) {
    if (the_spool->stop.load(std::memory_order_relaxed) != 0) return false;
    if (the_spool->heartbeat.load(std::memory_order_relaxed) != beat) return true;
    sleep_a_little();
  }
  return false;
}

bool open_spool() {
  if (environ == nullptr) return false;
  static std::atomic<bool> tried{false};
  if (tried.exchange(true)) return true;
  const errno_kept keep;
  const char* const path = std::getenv(trace::spool_variable);
  if (path == nullptr || *path == '\0') return true;
  const int error = begin_recording(path, recording_begin::with_the_program);
  if (error == 0) record_from_now();
  if (error != 0 && error != ECANCELED && error != ENOSPC) complain(describe_refusal(error));
  return true;
}

void wait_at_exit() {
  // Not atexit(): that would be over before the destructors of other libraries.
  if (is_on() && the_spool->looks_at_ends != 0) abi::__cxa_atexit(&wait_for_look, nullptr, nullptr);
}

}  // namespace ashlar::shim
