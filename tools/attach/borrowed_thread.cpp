// tools/attach/borrowed_thread.cpp. Layer: attach.
#include "tools/attach/borrowed_thread.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <linux/kcmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/attach/stopped_thread.hpp"
#include "tools/image/process_status.hpp"

namespace ashlar::attach {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::uint64_t stack_bytes = 256u << 10;
constexpr std::uint64_t text_bytes = 8u << 10;
// A function may read arguments there that it was not given, as syscall() does.
constexpr std::uint64_t more_arguments = 64;

/// Returns: the files in which a thread may hold a lock that our calls need.
std::vector<std::string> files_of_allocator(const process_modules& modules) {
  std::vector<std::string> files = modules.files_with("malloc");
  for (const char* const name : {"ld-", "libc.so", "libc-", "libpthread", "libdl", "libashlar-"}) {
    const std::string found = modules.find_file(name);
    if (!found.empty()) files.push_back(found);
  }
  const std::string copy = modules.find_file("memfd:libashlar-record");
  if (!copy.empty()) files.push_back(copy);
  return files;
}

}  // namespace

struct borrowed_thread::state {
  state(pid_t pid, const process_modules& modules);
  ~state();
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  std::uint64_t function(const char* name) const;
  std::uint64_t call(std::uint64_t function, std::span<const std::uint64_t> arguments) {
    return thread->call(function, stack_end != 0 ? stack_end : own_stack_end(), arguments);
  }
  std::uint64_t own_stack_end() const { return thread->stack_pointer() - red_zone_bytes; }
  void find_thread();

  pid_t pid;
  const process_modules& modules;
  std::string c_library;
  std::optional<stopped_thread> thread;
  std::uint64_t errno_at = 0;
  int errno_before = 0;
  std::uint64_t cancel_before = 0;  // 0: a call may be where the thread is cancelled
  std::uint64_t room = 0;           // [ texts | stack ]
  std::uint64_t text_end = 0;
  std::uint64_t stack_end = 0;
  clock::time_point begin;
};

std::uint64_t borrowed_thread::state::function(const char* name) const {
  const auto found = modules.find_function(c_library, name);
  if (!found)
    image::fail(
        fmt::format("the C library of process {} ({}) has no function {}", pid, c_library, name));
  return *found;
}

namespace {
/// Returns: whether the thread has the descriptors of the process. Ashlar's control thread has its own.
bool shares_descriptors(pid_t pid, pid_t thread) {
  const long compared = ::syscall(SYS_kcmp, pid, thread, KCMP_FILES, 0, 0);
  return compared == 0 || compared == -1;  // a system without that call
}
}  // namespace

void borrowed_thread::state::find_thread() {
  const std::vector<std::string> unsafe = files_of_allocator(modules);
  constexpr std::chrono::seconds patience{5};
  const clock::time_point until = clock::now() + patience;
  std::string last;
  for (;;) {
    std::vector<pid_t> threads = image::threads_of(pid);
    if (threads.empty()) image::fail_gone(pid);
    std::erase_if(threads, [this](pid_t each) { return !shares_descriptors(pid, each); });
    std::ranges::sort(threads);  // the first thread is the one that waits most
    for (const pid_t each : threads) {
      begin = clock::now();
      thread.emplace(pid, each);
      if (thread->is_there() && thread->is_at_safe_place(modules, unsafe)) return;
      if (thread->is_there()) last = fmt::format("thread {} was {}", each, thread->place(modules));
      thread.reset();
    }
    if (clock::now() > until)
      image::fail(fmt::format(
          "in {} seconds no thread of process {} was where it certainly holds no lock of the "
          "allocator or the loader ({}); the process goes on: try again",
          patience.count(), pid, last.empty() ? "all have ended" : last));
    ::usleep(500);
  }
}

borrowed_thread::state::state(pid_t of, const process_modules& in)
    : pid(of), modules(in), c_library(in.c_library()) {
  const std::uint64_t errno_location = function("__errno_location");
  const std::uint64_t map = function("mmap");
  const std::uint64_t set_cancel =
      modules.find_function(c_library, "pthread_setcancelstate").value_or(0);
  find_thread();
  thread->hold_signals();
  errno_at = call(errno_location, {});
  if (!read_bytes(pid, errno_at, &errno_before, sizeof errno_before)) errno_at = 0;
  const std::array<std::uint64_t, 6> arguments{0,
                                               text_bytes + stack_bytes,
                                               PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS,
                                               static_cast<std::uint64_t>(-1),
                                               0};
  const std::uint64_t got = call(map, arguments);
  if (got == static_cast<std::uint64_t>(-1))
    image::fail(fmt::format("process {} has no address space left (ulimit -v)", pid));
  room = got;
  text_end = room;
  stack_end = room + text_bytes + stack_bytes - more_arguments;
  if (set_cancel == 0) return;
  constexpr std::uint64_t disabled = 1;
  const std::uint64_t before_at = room;
  text_end += sizeof(std::uint64_t);
  const std::array<std::uint64_t, 2> cancel{disabled, before_at};
  call(set_cancel, cancel);
  int before = 0;
  if (read_bytes(pid, before_at, &before, sizeof before) && before == 0) cancel_before = set_cancel;
}

borrowed_thread::state::~state() {
  if (!thread || !thread->is_there()) return;
  try {
    if (cancel_before != 0) call(cancel_before, std::array<std::uint64_t, 2>{0, 0});
    stack_end = 0;
    if (room != 0)
      call(function("munmap"), std::array<std::uint64_t, 2>{room, text_bytes + stack_bytes});
  } catch (const std::exception&) {
    return;  // it has ended
  }
  if (errno_at != 0)
    static_cast<void>(write_bytes(pid, errno_at, &errno_before, sizeof errno_before));
}

borrowed_thread::borrowed_thread(pid_t pid, const process_modules& modules)
    : state_(std::make_unique<state>(pid, modules)) {}

borrowed_thread::~borrowed_thread() = default;

std::uint64_t borrowed_thread::call(std::uint64_t function,
                                    std::initializer_list<std::uint64_t> arguments) {
  const std::uint64_t result = state_->call(function, {arguments.begin(), arguments.size()});
  state_->text_end = state_->room + sizeof(std::uint64_t);
  return result;
}

int borrowed_thread::error_number() {
  int value = 0;
  return read_bytes(state_->pid, state_->errno_at, &value, sizeof value) ? value : 0;
}

std::uint64_t borrowed_thread::put(const std::string& text) {
  const std::uint64_t at = state_->text_end;
  if (at + text.size() + 1 > state_->room + text_bytes ||
      !write_bytes(state_->pid, at, text.c_str(), text.size() + 1))
    image::fail(fmt::format("'{}' is too long for a path", text));
  state_->text_end = (at + text.size() + 8) / 8 * 8;
  return at;
}

double borrowed_thread::pause_ms() const {
  return std::chrono::duration<double, std::milli>(clock::now() - state_->begin).count();
}

}  // namespace ashlar::attach
