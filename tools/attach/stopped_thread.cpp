// tools/attach/stopped_thread.cpp. Layer: attach.
#include "tools/attach/stopped_thread.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <elf.h>
#include <fmt/format.h>
#include <linux/kcmp.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/image/process_status.hpp"

namespace ashlar::attach {

namespace {

constexpr int stop_patience_ms = 5000;
constexpr int call_patience_ms = 30'000;
constexpr int poll_us = 50;

/// Signals of the thread's own doing: held back, they would end the process.
std::uint64_t own_signals() {
  std::uint64_t all = 0;
  for (const int each : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS})
    all |= std::uint64_t{1} << (each - 1);
  return all;
}

}  // namespace

stopped_thread::stopped_thread(pid_t pid, pid_t thread)
    : pid_(pid), thread_(thread), wait_(image::timed_wait_of(thread)) {
  if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
    if (errno == ESRCH && thread != pid) return;  // it has ended
    image::refuse(pid, errno, "ptrace");
  }
  ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  for (int signal = 0;;) {
    const stop how = await(signal, stop_patience_ms);
    if (how == stop::ended) return;
    if (how == stop::asked_for) break;
    go_on(signal);  // it comes to its handler, and then to our stop
  }
  is_there_ = true;
  if (wait_ && !image::is_still_in(*wait_, thread)) wait_.reset();
  read_registers();
}

stopped_thread::~stopped_thread() {
  if (!is_there_) return;
  if (is_changed_) write_registers();
  if (holds_signals_) ::ptrace(PTRACE_SETSIGMASK, thread_, sizeof mask_, &mask_);
  image::begin_wait_again(thread_, wait_);
  ::ptrace(PTRACE_DETACH, thread_, nullptr, signal_at_end_);
}

void stopped_thread::go_on(int signal) const { ::ptrace(PTRACE_CONT, thread_, nullptr, signal); }

stopped_thread::stop stopped_thread::await(int& signal, int patience_ms) {
  for (int waited = 0;; ++waited) {
    int status = 0;
    const pid_t got = ::waitpid(thread_, &status, __WALL | WNOHANG);
    if (got == thread_ && WIFSTOPPED(status)) {
      signal = WSTOPSIG(status);
      return (status >> 16) == PTRACE_EVENT_STOP ? stop::asked_for : stop::by_signal;
    }
    if (got == thread_ || (got < 0 && errno != EINTR)) return stop::ended;
    if (waited > patience_ms * (1000 / poll_us))
      image::fail(fmt::format(
          "thread {} of process {} waits in the system and cannot be stopped: try again "
          "when it goes on",
          thread_, pid_));
    ::usleep(poll_us);
  }
}

void stopped_thread::read_registers() {
  iovec place{&registers_, sizeof registers_};
  ::ptrace(PTRACE_GETREGSET, thread_, NT_PRSTATUS, &place);
}

void stopped_thread::write_registers() {
  if (!floating_.empty()) {
    iovec more{floating_.data(), floating_.size()};
    ::ptrace(PTRACE_SETREGSET, thread_, floating_registers, &more);
  }
  iovec place{&registers_, sizeof registers_};
  ::ptrace(PTRACE_SETREGSET, thread_, NT_PRSTATUS, &place);
}

bool stopped_thread::is_at_safe_place(const process_modules& modules,
                                      std::span<const std::string> unsafe_files) const {
  const auto is_unsafe = [&](std::uint64_t address) {
    const trace::process_mapping* const at = modules.find(address);
    if (at == nullptr || at->path.starts_with("[v")) return true;
    return std::ranges::find(unsafe_files, at->path) != unsafe_files.end();
  };
  if (image::is_in_system_call(registers_)) {
    if (!image::is_long_wait(image::system_call_of(registers_),
                             image::second_argument_of(registers_)))
      return false;
  } else if (is_unsafe(place_of(registers_))) {
    return false;
  }
  // A handler of a signal may have interrupted the allocator.
  constexpr std::size_t looked_at = 32u << 10;
  std::vector<std::uint64_t> words(looked_at / sizeof(std::uint64_t));
  const trace::process_mapping* const stack = modules.find(stack_pointer());
  if (stack == nullptr) return false;
  const std::uint64_t bytes =
      std::min<std::uint64_t>(looked_at, stack->end - stack_pointer()) / 8 * 8;
  if (!read_bytes(pid_, stack_pointer(), words.data(), bytes)) return false;
  words.resize(bytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i + interrupted_at / 8 < words.size(); ++i) {
    const trace::process_mapping* const at = modules.find(words[i]);
    if (at == nullptr || at->rights.find('x') == std::string::npos) continue;
    std::array<unsigned char, signal_return_code.size()> code{};
    if (!read_bytes(pid_, words[i], code.data(), code.size()) || code != signal_return_code)
      continue;
    if (is_unsafe(words[i + interrupted_at / 8])) return false;
  }
  return true;
}

std::string stopped_thread::place(const process_modules& modules) const {
  if (image::is_in_system_call(registers_))
    return fmt::format("in call {} of the system", image::system_call_of(registers_));
  const trace::process_mapping* const at = modules.find(place_of(registers_));
  return at != nullptr && !at->path.empty() ? "in " + at->path : "in code of no file";
}

void stopped_thread::hold_signals() {
  std::vector<unsigned char> all(64u << 10);
  iovec place{all.data(), all.size()};
  if (::ptrace(PTRACE_GETREGSET, thread_, floating_registers, &place) != 0)
    image::refuse(pid_, errno, "a thread's registers");
  all.resize(place.iov_len);
  floating_ = std::move(all);
  if (::ptrace(PTRACE_GETSIGMASK, thread_, sizeof mask_, &mask_) != 0)
    image::refuse(pid_, errno, "a thread's signals");
  const std::uint64_t held = ~own_signals();
  holds_signals_ = ::ptrace(PTRACE_SETSIGMASK, thread_, sizeof held, &held) == 0;
}

std::uint64_t stopped_thread::call(std::uint64_t function, std::uint64_t stack_end,
                                   std::span<const std::uint64_t> arguments) {
  general_registers now = registers_;
  const std::uint64_t at = enter(now, function, stack_end, arguments);
  if (!write_bytes(pid_, at, &return_address, sizeof return_address))
    image::fail(fmt::format("thread {} of process {} has no room on its stack", thread_, pid_));
  is_changed_ = true;
  iovec place{&now, sizeof now};
  ::ptrace(PTRACE_SETREGSET, thread_, NT_PRSTATUS, &place);
  go_on(0);
  for (int signal = 0;;) {
    const stop how = await(signal, call_patience_ms);
    if (how == stop::ended) {
      is_there_ = false;
      image::fail_gone(pid_);
    }
    place.iov_len = sizeof now;
    ::ptrace(PTRACE_GETREGSET, thread_, NT_PRSTATUS, &place);
    if (how == stop::by_signal && signal == SIGSEGV && place_of(now) == return_address)
      return result_of(now);
    if (how == stop::by_signal && (own_signals() >> (signal - 1) & 1) != 0)
      image::fail(
          fmt::format("a call in process {} failed with signal {}; the process goes on, and "
                      "is not recorded",
                      pid_, signal));
    if (how == stop::by_signal) signal_at_end_ = signal;  // one that no mask holds back: SIGSTOP
    go_on(0);
  }
}

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
  std::uint64_t text_end = 0, stack_end = 0;
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
