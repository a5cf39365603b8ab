// support/in_child.hpp: runs a function in a child process, for what may crash, hang or abort.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace support {

/// Effects: calls work() in a child of fork, which exits with what that returns, and ends by SIGALRM if it takes longer
/// than `seconds`. No destructor of a static object runs there. Returns: its wait status; -1 where there is no child.
/// Requires: no other thread in this process holds a lock.
template <class Work>
int wait_status_of(Work work, unsigned seconds = 60) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(seconds);
    ::_exit(work());
  }
  int status = -1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}
/// The same. Returns: its exit status; -1 where it did not end by itself.
template <class Work>
int exit_status_of(Work work, unsigned seconds = 60) {
  const int status = wait_status_of(work, seconds);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// How a child ended.
struct child_end {
  bool exited = false;  ///< by itself, with `code`; otherwise by the signal `code`
  int code = 0;
  std::string err;  ///< what it wrote to standard error

  [[nodiscard]] bool well() const noexcept { return exited && code == 0; }
  [[nodiscard]] bool aborted() const noexcept { return !exited && code == SIGABRT; }
};

/// The same, of a child that ends with 0 if work() returns true, with 1 if it returns false, with 2 if it throws.
template <class Work>
child_end in_child(Work work, unsigned seconds = 5) {
  std::FILE* const err = std::tmpfile();
  const int status = wait_status_of(
      [&] {
        ::dup2(::fileno(err), STDERR_FILENO);
        try {
          return work() ? 0 : 1;
        } catch (...) {
          return 2;
        }
      },
      seconds);
  child_end end{WIFEXITED(status), WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), {}};
  std::rewind(err);
  for (int c = 0; (c = std::fgetc(err)) != EOF;) end.err.push_back(static_cast<char>(c));
  std::fclose(err);
  return end;
}

/// Returns: whether work() returned true in a child, in time and without a crash.
template <class Work>
bool holds_in_child(Work work, unsigned seconds = 5) {
  return in_child(work, seconds).well();
}

}  // namespace support
