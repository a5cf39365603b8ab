// support/in_child.hpp: runs a function in a child process, for what may crash, hang or abort.
#pragma once

#include <csignal>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace support {

/// How a child ended.
struct child_end {
  bool exited = false;  ///< by itself, with `code`; otherwise by the signal `code`
  int code = 0;
  std::string err;  ///< what it wrote to standard error

  [[nodiscard]] bool well() const noexcept { return exited && code == 0; }
  [[nodiscard]] bool aborted() const noexcept { return !exited && code == SIGABRT; }
};

/// Effects: calls work() in a child of fork, which ends with 0 if that returns true, with 1 if it
/// returns false, with 2 if it throws, and by SIGALRM if it takes longer than `seconds`. No
/// destructor of a static object runs there. Requires: no other thread in this process holds a lock.
template <class Work>
child_end in_child(Work work, unsigned seconds = 5) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) throw std::runtime_error("pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    ::dup2(pipe_ends[1], STDERR_FILENO);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(seconds);
    int code = 2;
    try {
      code = work() ? 0 : 1;
    } catch (...) {
    }
    ::_exit(code);
  }
  ::close(pipe_ends[1]);
  child_end end;
  char bytes[1024];
  for (;;) {
    const auto length = ::read(pipe_ends[0], bytes, sizeof bytes);
    if (length <= 0) break;
    end.err.append(bytes, static_cast<std::size_t>(length));
  }
  ::close(pipe_ends[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid");
  end.exited = WIFEXITED(status);
  end.code = end.exited ? WEXITSTATUS(status) : WTERMSIG(status);
  return end;
}

/// Returns: whether work() returned true in a child, in time and without a crash.
template <class Work>
bool holds_in_child(Work work, unsigned seconds = 5) {
  return in_child(work, seconds).well();
}

}  // namespace support
