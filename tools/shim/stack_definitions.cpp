// tools/shim/stack_definitions.cpp: stacks and files, each defined in the trace when it is first met. Layer: shim.
#include <algorithm>
#include <cstring>

#include <pthread.h>

#include <ashlar/os/code_file.hpp>
#include <ashlar/os/loaded_module.hpp>

#include "tools/shim/chunks.hpp"
#include "tools/shim/recording.hpp"
#include "tools/shim/stacks.hpp"

namespace ashlar::shim {

using trace::spool_kind;
using trace::spool_record;

namespace {

constinit stack_table stacks;
constinit defined_files files;
// Whoever asks the loader for its files has it, so that while a process forks none of our threads has the loader's own
// lock, which would stay locked in the child. It is waited for only there: a program may allocate while it has the
// loader's.
constinit pthread_mutex_t modules_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

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

void forget_definitions() {
  stacks.reset();
  files.reset();
  forget_looks();
}

void begin_definitions_of_child() {
  forget_definitions();
  modules_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

void with_modules_locked(void (*work)(void*), void* context) {
  ::pthread_mutex_lock(&modules_lock);
  work(context);
  ::pthread_mutex_unlock(&modules_lock);
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
