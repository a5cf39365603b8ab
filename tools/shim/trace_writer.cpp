// tools/shim/trace_writer.cpp. Layer: shim.
#include "tools/shim/trace_writer.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/shim/log.hpp"

namespace ashlar::shim {
namespace {

constexpr std::size_t path_bytes = 4096;
constexpr std::size_t stack_bytes = 64u << 10;  // of each of two short processes
constexpr std::size_t variables_max = 1024;

constinit int writer = -1;         // its handle; -1: there is none
constinit pid_t writer_owner = 0;  // a forked child is not its parent

struct writer_call {
  char stacks[2][stack_bytes];
  char command[path_bytes];
  char pid[16];
  char spool_variable[spool_path_bytes + 16];
  const char* trace_file;
  const char* environment[variables_max + 2];
  int spool;
  pid_t writer;
};

/// Effects: finds the command that came with this library.
bool find_command(char (&command)[path_bytes]) {
  const char* const given = std::getenv("ASHLAR_COMMAND");
  if (given != nullptr && *given != '\0')
    return std::snprintf(command, path_bytes, "%s", given) < static_cast<int>(path_bytes);
  Dl_info own{};
  if (::dladdr(reinterpret_cast<void*>(&find_command), &own) == 0 || own.dli_fname == nullptr)
    return false;
  const char* const slash = std::strrchr(own.dli_fname, '/');
  if (slash == nullptr) return false;
  const int length = static_cast<int>(slash - own.dli_fname);
  // lib/, or lib/x86_64-linux-gnu/
  for (const char* const up : {"/..", "/../.."}) {
    const int used =
        std::snprintf(command, path_bytes, "%.*s%s/bin/ashlar", length, own.dli_fname, up);
    if (used < static_cast<int>(path_bytes) && ::access(command, X_OK) == 0) return true;
  }
  return false;
}

/// Effects: the command's environment is the program's, but for what is meant for the program.
void copy_environment(writer_call& call) {
  std::size_t count = 0;
  // None is left after clearenv.
  for (char** each = environ; each != nullptr && *each != nullptr && count < variables_max;
       ++each) {
    if (std::strncmp(*each, "LD_", 3) != 0 && std::strncmp(*each, "ASHLAR_", 7) != 0)
      call.environment[count++] = *each;
  }
  call.environment[count++] = call.spool_variable;
  call.environment[count] = nullptr;
}

// It has the program's memory, and the program's thread waits: nothing here changes any of it.
int execute_writer(void* argument) {
  const writer_call& call = *static_cast<writer_call*>(argument);
  ::fcntl(call.spool, F_SETFD, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const char* const arguments[] = {call.command, "record",        "-p",   call.pid,
                                   "-o",         call.trace_file, nullptr};
  ::execve(call.command, const_cast<char* const*>(arguments),
           const_cast<char* const*>(call.environment));
  ::syscall(SYS_exit, 127);
  return 0;
}

void* end_of(char (&stack)[stack_bytes]) { return stack + stack_bytes; }

// A child that executes a program tells its end to its parent, and this program's own waits would
// meet it. So the writer's parent is one that is gone at once, and of which nobody is told.
int make_writer(void* argument) {
  writer_call& call = *static_cast<writer_call*>(argument);
  call.writer = ::clone(&execute_writer, end_of(call.stacks[1]), CLONE_VM | CLONE_VFORK, &call);
  ::syscall(SYS_exit, 0);
  return 0;
}

void pause_a_little() {
  const timespec time{0, 1'000'000};
  ::syscall(SYS_nanosleep, &time, nullptr);
}

bool has_ended(int process) {
  pollfd end{process, POLLIN, 0};
  return ::poll(&end, 1, 0) > 0;
}

/// Returns: a handle of the writer; -1 and errno: there is none.
int run_writer(writer_call& call) {
  // A handler of the program's would run in its memory, too.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t between =
      ::clone(&make_writer, end_of(call.stacks[0]), CLONE_VM | CLONE_VFORK, &call);
  while (between > 0 && ::waitpid(between, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (between < 0) call.writer = -1;
  if (call.writer < 0) return errno = EAGAIN, -1;
  return static_cast<int>(::syscall(SYS_pidfd_open, call.writer, 0));
}

std::uint64_t magic_in(int file) {
  std::uint64_t found = 0;
  return ::pread(file, &found, sizeof found, 0) == sizeof found ? found : 0;
}

/// Returns: 0 when the writer has opened its files; else an error number.
int await_writer(int spool) {
  constexpr int patience_ms = 10'000;
  for (int waited = 0; waited < patience_ms; ++waited) {
    if (magic_in(spool) != 0) return 0;
    if (has_ended(writer)) return EIO;
    pause_a_little();
  }
  return ETIMEDOUT;
}

}  // namespace

bool is_spool(const char* file) {
  const int opened = ::open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return false;
  constexpr std::uint64_t name = ~std::uint64_t{0} >> 16;  // without the version
  const bool is = (magic_in(opened) & name) == (trace::spool::magic_value & name);
  ::close(opened);
  return is;
}

int start_writer(const char* trace_file, char (&spool_path)[spool_path_bytes]) {
  spool_path[0] = '\0';
  void* const room = ::mmap(nullptr, sizeof(writer_call), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return ENOMEM;
  writer_call& call = *static_cast<writer_call*>(room);
  int error = ENOENT;
  if (find_command(call.command)) {
    call.spool = static_cast<int>(::syscall(SYS_memfd_create, "ashlar-record", MFD_CLOEXEC));
    call.trace_file = trace_file;
    std::snprintf(call.pid, sizeof call.pid, "%d", ::getpid());
    // A thread may have descriptors of its own, as ashlar's control thread does.
    std::snprintf(spool_path, spool_path_bytes, "/proc/thread-self/fd/%d", call.spool);
    std::snprintf(call.spool_variable, sizeof call.spool_variable, "%s=/proc/self/fd/%d",
                  trace::spool_variable, call.spool);
    copy_environment(call);
    writer_owner = ::getpid();
    writer = run_writer(call);
    error = writer < 0 ? (errno == ESRCH ? EIO : errno) : await_writer(call.spool);
  }
  ::munmap(room, sizeof(writer_call));
  return error;
}

void forget_spool(const char* spool_path) {
  const char* const slash = std::strrchr(spool_path, '/');
  if (slash != nullptr) ::close(std::atoi(slash + 1));
}

int stop_writer() {
  if (writer < 0 || writer_owner != ::getpid()) return 0;
  if (the_spool != nullptr)
    the_spool->stop.store(1, std::memory_order_relaxed);
  else  // the recording did not begin: nobody else tells the writer
    ::syscall(SYS_pidfd_send_signal, writer, SIGTERM, nullptr, 0);
  while (!has_ended(writer)) pause_a_little();
  ::close(writer);
  writer = -1;
  return the_spool != nullptr && the_spool->written.load(std::memory_order_relaxed) != 0 ? 0 : EIO;
}

}  // namespace ashlar::shim
