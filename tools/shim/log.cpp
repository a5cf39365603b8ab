// tools/shim/log.cpp. Layer: shim.
#include "tools/shim/log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <cxxabi.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/code_file.hpp>
#include <ashlar/os/loaded_module.hpp>
#include <ashlar/os/pause.hpp>
#include <ashlar/os/process.hpp>

#include "tools/shim/import_slots.hpp"
#include "tools/shim/stacks.hpp"

// The system's numbers of this process and thread, also where it may not be asked.
//
namespace ashlar::shim {

struct process_numbers {
  std::uint32_t own, parent;
};
inline constinit process_numbers known_numbers{};

/// Returns: those of this process. In a sandbox, as they were known last.
inline const process_numbers& numbers_of_process() {
  // A child by clone() was not told of.
  if (!os::has_new_call_filter())
    known_numbers = {static_cast<std::uint32_t>(::getpid()),
                     static_cast<std::uint32_t>(::getppid())};
  return known_numbers;
}

/// Effects: the child of a fork knows its numbers before it can close itself into a sandbox.
inline void note_numbers_of_child() {
  known_numbers = {static_cast<std::uint32_t>(os::new_thread_number()), known_numbers.own};
}

/// Returns: the calling thread's number. A child by clone() has another one than the C library knows.
inline std::uint32_t system_thread_number() {
  if (os::has_new_call_filter()) return static_cast<std::uint32_t>(os::new_thread_number());
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

}  // namespace ashlar::shim

namespace ashlar::shim {

using trace::chunk;
using trace::chunk_state;
using trace::event_kind;
using trace::spool;
using trace::spool_kind;
using trace::spool_record;

namespace {

constinit stack_table stacks;
constinit defined_files files;
// Whoever asks the loader for its files has it, so that while a process forks none of our threads has the loader's own
// lock, which would stay locked in the child. It is waited for only there: a program may allocate while it has the
// loader's.
constinit pthread_mutex_t modules_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
constinit os::thread_end thread_ends;
constinit bool is_told_of_ends = false;
constinit std::size_t mapped_bytes = 0;  // of the_spool
constinit bool is_attached = false;
constinit bool is_wanted_here = false;  // record_only() names this program, or none
constinit std::uint32_t last_generation =
    0;  // forks take it along: no two recordings have the same
[[gnu::tls_model("initial-exec")]] constinit thread_local bool diverts_next = false;

struct errno_kept {
  errno_kept() : value(errno) {}
  ~errno_kept() { errno = value; }
  errno_kept(const errno_kept&) = delete;
  errno_kept& operator=(const errno_kept&) = delete;
  int value;
};

void complain(const char* what) {
  char line[256];
  const int bytes = std::snprintf(line, sizeof line, "ashlar record: process %d (%.32s): %s\n",
                                  ::getpid(), program_invocation_short_name, what);
  [[maybe_unused]] const auto written = ::write(
      STDERR_FILENO, line, std::min<std::size_t>(static_cast<std::size_t>(bytes), sizeof line - 1));
}

void sleep_a_little() { os::pause_us(200); }

/// Effects: waits until `is_done()`. Returns: false when the recorder has gone before that.
template <class IsDone>
bool recorder_gets_to(IsDone is_done) {
  constexpr int patience = 25'000;  // five seconds without a sign of life
  std::uint32_t beat = the_spool->heartbeat.load(std::memory_order_relaxed);
  for (int waited = 0; waited < patience; ++waited) {
    if (the_spool->stop.load(std::memory_order_relaxed) != 0) break;
    if (is_done()) return true;
    sleep_a_little();
    const std::uint32_t now = the_spool->heartbeat.load(std::memory_order_relaxed);
    if (now != beat) waited = 0;
    beat = now;
  }
  the_spool->stop.store(1, std::memory_order_relaxed);
  recording = false;
  return false;
}

/// Effects: waits while there is too much that the recorder has not fetched. Returns: false when it has gone.
bool recorder_keeps_up() {
  return recorder_gets_to(
      [] { return the_spool->sealed.load(std::memory_order_acquire) <= trace::backlog_max; });
}

/// Returns: a free chunk, taken; chunks_max where there is none. The lowest ones are used again and again: they are in
/// memory, and perhaps in a cache.
std::uint32_t take_chunk() {
  if (!recorder_keeps_up()) return trace::chunks_max;
  for (std::uint32_t i = 0; i < trace::chunks_max; ++i) {
    chunk_state expected = chunk_state::free;
    if (the_spool->states[i].load(std::memory_order_relaxed) != expected) continue;
    if (!the_spool->states[i].compare_exchange_strong(expected, chunk_state::taken,
                                                      std::memory_order_acquire))
      continue;
    std::uint32_t known = the_spool->chunks.load(std::memory_order_relaxed);
    while (known <= i &&
           !the_spool->chunks.compare_exchange_weak(known, i + 1, std::memory_order_relaxed)) {
    }
    return i;
  }
  return trace::chunks_max;
}

void begin_chunk(std::uint32_t index, std::uint32_t thread, std::uint32_t system_thread,
                 std::uint32_t sequence, std::uint64_t ticks) {
  trace::chunk_header& header = trace::chunk_of(the_spool, index)->header;
  header.thread = thread;
  header.sequence = sequence;
  header.ticks = ticks;
  header.used.store(0, std::memory_order_relaxed);
  // What a thread does behind the last round of its destructors (the C library frees) goes into a chunk that nobody seals.
  header.system_thread = system_thread;
  header.owner.store(the_process->index + 1, std::memory_order_release);
}

void seal(std::uint32_t index) {
  the_spool->sealed.fetch_add(1, std::memory_order_relaxed);
  the_spool->states[index].store(chunk_state::sealed, std::memory_order_release);
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

void end_thread(void*) noexcept {
  // Other destructors may allocate behind this one: each time, what they did is sealed in the next round.
  thread_log& l = own_log;
  if (!is_on() || l.now == nullptr || l.generation != the_process->generation) return;
  put_other(event_kind::thread_exit, 0, nullptr, 0);
  if (l.now == nullptr) return;
  seal(l.index);
  l.now = nullptr;
  l.next = l.end = nullptr;
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

void forked() {
  // The table of the parent names stacks that only the parent's trace defines.
  stacks.reset();
  files.reset();
  forget_looks();
  modules_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

std::uint32_t last_index = 0;

void begin_generation() {
  last_index = the_process->index;
  the_process->generation = ++last_generation;
}

/// Returns: whether this process is being recorded; begins it in a forked child.
bool process_is_on() {
  if (the_process->generation != 0) return true;
  forked();
  recording = the_spool->stop.load(std::memory_order_relaxed) == 0 && begin_process(last_index + 1);
  if (!recording) return false;
  begin_generation();
  return true;
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

int begin_recording(const char* spool_path, recording_begin how) {
  os::note_call_filters();
  if (const int error = map_spool(spool_path); error != 0) return error;
  if (the_spool->stop.load(std::memory_order_relaxed) != 0) return ECANCELED;
  is_attached = how == recording_begin::attached;
  if (the_spool->stack_depth != 0) {
    stacks.reset();
    files.reset();
    forget_looks();
    if (!is_attached) os::note_first_files();
  }
  if (!begin_process(0)) return ENOSPC;
  begin_generation();
  if (!std::exchange(is_told_of_ends, true)) thread_ends.start(&end_thread);
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

void with_modules_locked(void (*work)(void*), void* context) {
  ::pthread_mutex_lock(&modules_lock);
  work(context);
  ::pthread_mutex_unlock(&modules_lock);
}

void divert_at_next_event() {
  diverts_next = true;
  own_log.end = own_log.next;  // so that the event asks for room
}

void wait_at_exit() {
  // Not atexit(): that would be over before the destructors of other libraries.
  if (is_on() && the_spool->looks_at_ends != 0) abi::__cxa_atexit(&wait_for_look, nullptr, nullptr);
}

bool refill(std::uint32_t records, std::uint64_t ticks) {
  thread_log& l = own_log;
  if (l.next != nullptr && l.generation == the_process->generation && l.end - l.next >= records)
    return true;
  const errno_kept keep;
  const bool was_inside = l.inside;
  l.inside = true;
  bool done = false;
  if (diverts_next) {
    diverts_next = false;
    divert_slots();
  }
  if (process_is_on()) {
    const bool is_new = l.generation != the_process->generation;
    if (is_new) {
      l = thread_log{};
      l.inside = true;
      l.generation = the_process->generation;
      l.system_thread = system_thread_number();
      l.thread =
          the_spool->processes[the_process->index].threads.fetch_add(1, std::memory_order_relaxed) +
          1;
    }
    static_cast<void>(thread_ends.watch(&own_log));
    if (l.now != nullptr) seal(l.index);
    l.now = nullptr;
    l.next = l.end = nullptr;
    l.index = take_chunk();
    if (l.index != trace::chunks_max) {
      begin_chunk(l.index, l.thread, l.system_thread, l.sequence++, ticks);
      l.now = trace::chunk_of(the_spool, l.index);
      l.next = l.now->records;
      l.end = l.next + chunk::records_max;
      l.ticks = ticks;
      if (is_new) put(event_kind::thread_start, nullptr, ticks, 0);
      done = true;
    } else if (is_on()) {
      the_spool->processes[the_process->index].lost.fetch_add(1, std::memory_order_relaxed);
    }
  }
  l.inside = was_inside;
  return done;
}

void put_records(std::uint64_t ticks, const spool_record* records, std::uint32_t count,
                 const void* bytes, std::size_t byte_count) {
  thread_log& l = own_log;
  const std::uint32_t whole = count + trace::records_for(static_cast<std::uint32_t>(byte_count));
  if (!refill(whole, ticks)) return;
  std::memcpy(l.next, records, count * sizeof(spool_record));
  if (byte_count != 0) std::memcpy(l.next + count, bytes, byte_count);
  l.next += whole;
  l.now->header.used.store(static_cast<std::uint32_t>(l.next - l.now->records),
                           std::memory_order_release);
}

namespace {

spool_record prefix(spool_kind kind, std::uint64_t value, std::uint32_t number) {
  return {static_cast<std::uint64_t>(kind) << 56 | (value & (~std::uint64_t{0} >> 8)), 0, number};
}

void put_file(const os::code_segment& file, void* ticks) {
  constexpr std::size_t fixed = 25;  // three numbers, and how long the build id is
  constexpr std::size_t build_id_bytes_max = 32, path_max = 4096;
  char bytes[fixed + build_id_bytes_max + path_max], room[path_max];
  const char* const path = os::full_path(file, room, sizeof room);
  const std::size_t path_bytes = std::min(std::strlen(path), path_max);
  const std::size_t id_bytes = file.build_id_bytes <= build_id_bytes_max ? file.build_id_bytes : 0;
  std::memcpy(bytes, &file.begin, 8);
  std::memcpy(bytes + 8, &file.end, 8);
  std::memcpy(bytes + 16, &file.bias, 8);
  bytes[24] = static_cast<char>(id_bytes);
  if (id_bytes != 0) std::memcpy(bytes + fixed, file.build_id, id_bytes);
  const std::size_t path_at = fixed + id_bytes;
  std::copy_n(path, path_bytes, bytes + path_at);
  const std::size_t all = path_at + path_bytes;
  const spool_record head = prefix(spool_kind::define_module, 0, static_cast<std::uint32_t>(all));
  put_records(*static_cast<std::uint64_t*>(ticks), &head, 1, bytes, all);
}

}  // namespace

void put_large(event_kind kind, std::uint64_t address, std::uint64_t ticks, std::uint64_t size,
               std::uint64_t alignment, std::uint32_t stack) {
  spool_record records[5];
  std::uint32_t count = 0;
  if (((own_log.ticks ^ ticks) >> 31) != 0) records[count++] = prefix(spool_kind::time, ticks, 0);
  if (size > UINT32_MAX) records[count++] = prefix(spool_kind::size, size, 0);
  if (alignment != 0) records[count++] = prefix(spool_kind::alignment, alignment, 0);
  if (stack != 0) records[count++] = prefix(spool_kind::stack, 0, stack);
  records[count++] = {static_cast<std::uint64_t>(kind) << 56 | address,
                      static_cast<std::uint32_t>(ticks), static_cast<std::uint32_t>(size)};
  put_records(ticks, records, count);
  own_log.ticks = ticks;
  if (stack != 0 && size >= least_bytes_looked_at && is_one_to_look_at(stack))
    watched.add(static_cast<std::uintptr_t>(address), size);
}

void put_other(event_kind kind, std::uint32_t number, const char* text, std::uint32_t bytes) {
  const std::uint64_t ticks = now();
  constexpr std::uint32_t most = chunk::records_max * sizeof(spool_record) / 2;
  bytes = bytes < most ? bytes : most;
  // The text is directly before its event, so that both are in one chunk.
  if (!refill(3 + trace::records_for(bytes), ticks)) return;
  const spool_record before[2] = {prefix(spool_kind::time, ticks, 0),
                                  prefix(spool_kind::text, 0, bytes)};
  put_records(ticks, before, bytes != 0 ? 2 : 1, text, bytes);
  const spool_record event{static_cast<std::uint64_t>(kind) << 56,
                           static_cast<std::uint32_t>(ticks), number};
  put_records(ticks, &event, 1);
  own_log.ticks = ticks;
}

fork_guard::fork_guard() {
  // A child that has recorded nothing yet may have the lock as another thread of its parent's left it.
  if (!is_on() || the_process->generation == 0) return;
  if (!is_attached && (the_spool->stack_depth == 0 || os::finds_code_without_lock())) return;
  constexpr int patience = 500;  // a tenth of a second: longer than the loader needs
  for (int waited = 0; !holds_ && waited < patience; ++waited) {
    holds_ = ::pthread_mutex_trylock(&modules_lock) == 0;
    if (!holds_) sleep_a_little();
  }
}
void fork_guard::leave(bool is_child) {
  if (is_child) {
    modules_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    note_numbers_of_child();
  } else if (holds_) {
    ::pthread_mutex_unlock(&modules_lock);
  }
}

std::uint32_t stack_here(std::uint64_t ticks) {
  thread_log& l = own_log;
  const errno_kept keep;
  const bool was_inside = l.inside;
  l.inside = true;  // the unwinder's first use allocates
  call_frames frames;
  find_frames(frames, the_spool->stack_depth);
  stack_table::entry found{};
  if (frames.is_cut)
    frames.frames[frames.depth++] = reinterpret_cast<const void*>(trace::cut_frame);
  if (refill(1, ticks))
    found = stacks.find_or_add(frames);  // a forked child's table is emptied first
  if (found.is_new) {
    // Where that needs the loader's lock it is not waited for: whoever has ours may wait for a thread that
    // has the loader's, and allocates. Then the files come with another stack.
    if (os::finds_code_without_lock() || ::pthread_mutex_trylock(&modules_lock) == 0) {
      files.for_new(frames, &put_file, &ticks);
      if (!os::finds_code_without_lock()) ::pthread_mutex_unlock(&modules_lock);
    }
    const auto bytes = static_cast<std::uint32_t>(frames.depth * sizeof frames.frames[0]);
    const spool_record head = prefix(spool_kind::define_stack, found.number, bytes);
    put_records(ticks, &head, 1, frames.frames, bytes);
  }
  l.inside = was_inside;
  return found.number;
}

}  // namespace ashlar::shim
