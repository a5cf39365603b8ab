// tools/measure/child_process.cpp. Layer: measure.
#include "tools/measure/child_process.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/files/error.hpp"

namespace ashlar::measure {

namespace {

constexpr std::array forwarded_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

double to_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The child between fork and exec: only calls that POSIX allows there, no memory. The pipe closes
// by itself when exec succeeds; otherwise it carries errno.
[[noreturn]] void become(const child_request& request, char* const* arguments,
                         char* const* environment, const signal_watch& watch, int error_pipe) {
  const std::array redirections{std::pair{request.stdin_fd, STDIN_FILENO},
                                std::pair{request.stdout_fd, STDOUT_FILENO},
                                std::pair{request.stderr_fd, STDERR_FILENO}};
  bool ready = true;
  for (const auto& [from, to] : redirections) {
    if (from >= 0 && ::dup2(from, to) < 0) ready = false;
  }
  if (ready) {
    ::sigaction(SIGCHLD, &watch.original_child_action(), nullptr);
    ::sigaction(SIGPIPE, &watch.original_pipe_action(), nullptr);
    ::sigprocmask(SIG_SETMASK, &watch.original_mask(), nullptr);
    // The path has a slash, so nothing is searched; what remains of the p is that a file without
    // "#!" is given to the shell, as shells do.
    ::execvpe(request.file.c_str(), arguments, environment);
  }
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(error_pipe, &error, sizeof error);
  ::_exit(files::status_not_found);
}

int read_start_error(int pipe_end) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(pipe_end, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof error) ? error : 0;
}

// Returns: the signal, or -1 when it was time for `meanwhile` again.
int wait_for_signal(const child_request& request, pid_t program, const signal_watch& watch,
                    siginfo_t& what) {
  if (!request.meanwhile) return ::sigwaitinfo(&watch.watched(), &what);
  const auto pause = std::chrono::nanoseconds(request.meanwhile(program)).count();
  const timespec timeout{pause / 1'000'000'000, pause % 1'000'000'000};
  return ::sigtimedwait(&watch.watched(), &what, &timeout);
}

}  // namespace

signal_watch::signal_watch() {
  sigemptyset(&watched_);
  sigaddset(&watched_, SIGCHLD);
  for (const int number : forwarded_signals) {
    struct sigaction now{};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&watched_, number);  // nohup stays nohup
  }
  // With SIGCHLD ignored the system would reap children itself, and their figures would be lost.
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  sigemptyset(&plain.sa_mask);
  ::sigaction(SIGCHLD, &plain, &original_child_action_);
  plain.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &plain, &original_pipe_action_);
  ::sigprocmask(SIG_BLOCK, &watched_, &original_mask_);
}

signal_watch::~signal_watch() {
  while (fetch_pending() != 0) {
  }
  ::sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
  ::sigaction(SIGCHLD, &original_child_action_, nullptr);
  ::sigaction(SIGPIPE, &original_pipe_action_, nullptr);
}

int signal_watch::fetch_pending() const {
  for (;;) {
    siginfo_t what{};
    const timespec at_once{};
    const int number = ::sigtimedwait(&watched_, &what, &at_once);
    if (number < 0 && errno == EINTR) continue;
    if (number < 0) return 0;
    if (number != SIGCHLD) return number;
  }
}

child_outcome run_child(const child_request& request, const signal_watch& watch) {
  const std::vector<char*> arguments = pointers_to(request.arguments);
  const std::vector<char*> environment = pointers_to(request.environment);
  std::array<int, 2> error_pipe{};
  if (::pipe2(error_pipe.data(), O_CLOEXEC) != 0) {
    throw files::command_error(files::status_failed,
                               fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }

  child_outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  // Not vfork or posix_spawn: a child that shares this process's memory until exec is charged with
  // its peak in ru_maxrss. After fork it is charged only with the few pages that fork copies.
  outcome.pid = ::fork();
  if (outcome.pid == 0) {
    become(request, arguments.data(), environment.data(), watch, error_pipe[1]);
  }
  const int fork_error = errno;
  ::close(error_pipe[1]);
  if (outcome.pid < 0) {
    ::close(error_pipe[0]);
    throw files::command_error(
        files::status_failed, fmt::format("cannot start a process: {}", std::strerror(fork_error)));
  }
  outcome.start_error = read_start_error(error_pipe[0]);
  ::close(error_pipe[0]);

  rusage usage{};
  for (;;) {
    const pid_t reaped = ::wait4(outcome.pid, &outcome.wait_status, WNOHANG, &usage);
    if (reaped == outcome.pid) break;
    if (reaped < 0 && errno != EINTR) {
      throw files::command_error(
          files::status_failed,
          fmt::format("cannot wait for process {}: {}", outcome.pid, std::strerror(errno)));
    }
    siginfo_t what{};
    const int number = wait_for_signal(request, outcome.pid, watch, what);
    if (number <= 0 || number == SIGCHLD) continue;
    if (outcome.signal_seen != 0 && request.on_signal == interrupted_child::dies_at_second) {
      ::kill(outcome.pid, SIGKILL);
      continue;
    }
    if (outcome.signal_seen == 0) outcome.signal_seen = number;
    if (what.si_code != SI_KERNEL) ::kill(outcome.pid, number);
  }
  outcome.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.user_seconds = to_seconds(usage.ru_utime);
  outcome.system_seconds = to_seconds(usage.ru_stime);
  outcome.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  outcome.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt);
  outcome.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
  outcome.voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
  outcome.involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
  return outcome;
}

void require_started(const child_outcome& outcome, const std::string& program) {
  if (outcome.start_error == 0) return;
  const bool has_no_interpreter = outcome.start_error == ENOENT;
  throw files::command_error(
      has_no_interpreter ? files::status_not_found : files::status_not_executable,
      fmt::format("cannot run '{}': {}{}", program, std::strerror(outcome.start_error),
                  has_no_interpreter ? " (its interpreter is missing)" : ""));
}

bool exited_with(int wait_status, int exit_status) {
  return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == exit_status;
}

std::string signal_name(int signal_number) {
  const char* name = ::sigabbrev_np(signal_number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal_number);
}

std::string describe_wait_status(int wait_status) {
  if (WIFEXITED(wait_status)) return fmt::format("exit status {}", WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  const char* words = ::sigdescr_np(number);
  return fmt::format("killed by {} ({}){}", signal_name(number), words != nullptr ? words : "?",
                     WCOREDUMP(wait_status) ? ", core dumped" : "");
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : changes) {
      replaced = replaced || (text.starts_with(name) && text.substr(name.size()).starts_with('='));
    }
    if (!replaced) result.emplace_back(text);
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    bool repeated = false;
    for (std::size_t later = i + 1; later < changes.size(); ++later) {
      repeated = repeated || changes[later].first == changes[i].first;
    }
    if (!repeated) result.push_back(changes[i].first + "=" + changes[i].second);
  }
  return result;
}

void end_like(int wait_status) {
  if (WIFEXITED(wait_status)) std::exit(WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  sigemptyset(&plain.sa_mask);
  ::sigaction(number, &plain, nullptr);
  sigset_t only{};
  sigemptyset(&only);
  sigaddset(&only, number);
  std::fflush(nullptr);
  ::raise(number);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  // Only where this process's own signal could not kill it, as in a container's first process.
  std::_Exit(128 + number);
}

nlohmann::json usage_json(const child_outcome& outcome) {
  return {{"wall_seconds", outcome.wall_seconds},
          {"user_seconds", outcome.user_seconds},
          {"system_seconds", outcome.system_seconds},
          {"peak_rss_bytes", outcome.peak_rss_bytes},
          {"minor_faults", outcome.minor_faults},
          {"major_faults", outcome.major_faults},
          {"voluntary_switches", outcome.voluntary_switches},
          {"involuntary_switches", outcome.involuntary_switches}};
}

}  // namespace ashlar::measure
