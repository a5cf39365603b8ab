// os/call_stack_posix.cpp: os/call_stack.hpp by the C library's unwinder and dynamic loader.
// Layer: os.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>

#include <dlfcn.h>
#if __has_include(<execinfo.h>) && !defined(__FreeBSD__)  // there it is a library of its own
#define ASHLAR_HAS_BACKTRACE 1
#include <execinfo.h>
#else
#define ASHLAR_HAS_BACKTRACE 0
#include <unwind.h>
#endif

#include <ashlar/core/config.hpp>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/frame_walk.hpp>
#include <ashlar/os/own_code.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/thread_words.hpp>

namespace ashlar::os {

constinit thread_local thread_words own_words;

namespace {

/// Whether the unwinder is loaded. Its first use allocates: those calls are not looked at.
constinit std::atomic<bool> was_used{false};
/// Whether the unwinder of a static program has the program's tables. A constructor of the
/// compiler's, which is the first one, gives them to it; without them, it aborts the process. The
/// last destructor takes them back, and frees memory with the unwinder's lock taken. Before, the C
/// library prepares its own, and allocates for them.
enum class tables { not_yet, are_there, are_gone };
constinit std::atomic<tables> tables_of_program{tables::not_yet};
[[nodiscard]] bool has_tables() noexcept {
  return tables_of_program.load(std::memory_order_relaxed) == tables::are_there;
}
constinit std::atomic<bool> is_prepared_later{false};
/// Whether this is a child by fork(). The loader may never load anything in it: another thread of
/// its parent may have had a lock.
constinit std::atomic<bool> is_forked{false};

// No frame of their own, of which `capture` knows how many there are.
#if ASHLAR_HAS_BACKTRACE
ASHLAR_HOT int return_addresses(void** frames, int room) noexcept {
  return ::backtrace(frames, room);
}
#else
// A C library without backtrace: the unwinder is the program's, if it has one, as C++ programs
// have.
#pragma weak _Unwind_Backtrace
#pragma weak _Unwind_GetIP
ASHLAR_HOT int return_addresses(void** frames, int room) noexcept {
  if (&_Unwind_Backtrace == nullptr) return 0;
  struct storage {
    void** frames;
    int room, found;
  } to{frames, room, 0};
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* data) {
        auto& s = *static_cast<storage*>(data);
        if (s.found == s.room) return _URC_END_OF_STACK;
        s.frames[s.found++] = reinterpret_cast<void*>(_Unwind_GetIP(context));
        return _URC_NO_REASON;
      },
      &to);
  return to.found;
}
#endif

/// Returns: how many frames were stored in `frames`. The first is its own, by which `find_frames`
/// counts.
[[gnu::noinline]] int unwind(void** frames, int room) noexcept {
  own_words.is_capturing = true;
  const int saved = errno;
  const int found = return_addresses(frames, room);
  errno = saved;
  own_words.is_capturing = false;
  was_used.store(true, std::memory_order_relaxed);
  return found;
}

/// Returns: whether the unwinder can be asked: without it, a stack is cut where no rule leads on.
bool can_unwind() noexcept {
  return !own_words.is_capturing && environment() != nullptr &&
         (has_tables() || !is_static_program()) &&
         (was_used.load(std::memory_order_relaxed) ||
          (!is_forked.load(std::memory_order_relaxed) && !has_new_call_filter()));
}

/// As `capture_frames`, in the frame of its caller.
ASHLAR_HOT unsigned find_frames(const void** out, unsigned room) noexcept {
  room = std::min(room, frames_max);
  if (room == 0) return 0;
  if (tables_of_program.load(std::memory_order_relaxed) == tables::not_yet && is_static_program())
      [[unlikely]]
    return 0;
  const walk_result walked = walk_frames(out, room);
  if (walked.end != walk_end::unknown || !can_unwind()) return walked.depth;
  constexpr int inside_max = 12;  // frames of our own, which come first
  void* frames[frames_max + inside_max];
  const int found = unwind(frames, static_cast<int>(room) + inside_max);
  int i = 2;  // 0 is unwind, 1 the caller
  while (i < found && is_own_code(frames[i])) ++i;
  unsigned count = 0;
  for (; i < found && count < room; ++i) out[count++] = frames[i];
  return count;
}

// Without a priority: behind the compiler's constructor, and before its destructor.
[[gnu::constructor]] void note_tables() noexcept {
  tables_of_program.store(tables::are_there, std::memory_order_relaxed);
  if (is_prepared_later.load(std::memory_order_relaxed)) prepare_to_capture();
}
[[gnu::destructor]] void note_end_of_tables() noexcept {
  tables_of_program.store(tables::are_gone, std::memory_order_relaxed);
}

}  // namespace

void prepare_to_capture() noexcept {
  if (!is_static_program()) return;
  void* own[1];
  if (!has_tables())
    is_prepared_later.store(true, std::memory_order_relaxed);
  else if (can_unwind())
    static_cast<void>(unwind(own, 1));
}

unsigned capture_frames(const void** out, unsigned room) noexcept { return find_frames(out, room); }

void capture(call_stack& out, unsigned depth) noexcept {
  out.depth = find_frames(out.frames, std::min(depth, call_stack::depth_max));
}

void capture_interrupted(call_stack& out, unsigned depth, const void* interrupted) noexcept {
  out.depth = 0;
  depth = std::min(depth, call_stack::depth_max);
  if (interrupted == nullptr || depth == 0) return;
  out.frames[out.depth++] = interrupted;
  if (own_words.is_capturing || !was_used.load(std::memory_order_relaxed)) return;
  constexpr int handler_max = 12;  // frames of the handler and of what the system puts below it
  void* frames[call_stack::depth_max + handler_max];
  const int found = unwind(frames, static_cast<int>(depth) + handler_max);
  void** const end = frames + found;
  for (void** f = std::find(frames, end, interrupted); f < end && ++f < end && out.depth < depth;)
    out.frames[out.depth++] = *f;
}

frame_place place_of(const void* frame) noexcept {
  Dl_info info{};
  const auto* const address = static_cast<const char*>(frame);
  // A return address may be one behind the end of its function: the call is before it.
  if (::dladdr(address - 1, &info) == 0 || info.dli_fname == nullptr) return {};
  return {info.dli_fname,
          static_cast<std::size_t>(address - static_cast<const char*>(info.dli_fbase)),
          info.dli_sname};
}

std::size_t thread_number() noexcept {
  // To ask each time would take as long as all the other checks.
  if (own_words.number == 0) {
    constexpr int being_asked = 1;  // by a program's pthread_mutex_lock that allocates
    own_words.number = being_asked;
    own_words.number = static_cast<int>(new_thread_number());
  }
  return static_cast<std::size_t>(own_words.number);
}
void note_fork_child() noexcept {
  own_words.number = 0;
  note_process_number();
  is_forked.store(true, std::memory_order_relaxed);
}

}  // namespace ashlar::os
