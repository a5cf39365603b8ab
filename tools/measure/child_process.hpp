// tools/measure/child_process.hpp: run one program, measure it, and stay alive to tell. Layer:
// measure. The tool has one thread: signals are blocked and fetched, never handled, so nothing here
// can be interrupted at a bad moment.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace ashlar::measure {

// While it lives, SIGINT, SIGTERM, SIGHUP and SIGQUIT (those that were not ignored) and SIGCHLD are
// blocked in this process and kept for run_child, and SIGPIPE is ignored, so that a reader that
// goes away (`| head`) leaves no temporary files behind. Programs are started with the caller's own
// mask and actions.
class signal_watch {
 public:
  signal_watch();
  ~signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;

  // Returns: a watched signal that has arrived and was not fetched yet (other than SIGCHLD), or 0.
  [[nodiscard]] int fetch_pending() const;

  [[nodiscard]] const sigset_t& watched() const { return watched_; }
  [[nodiscard]] const sigset_t& original_mask() const { return original_mask_; }
  [[nodiscard]] const struct sigaction& original_child_action() const {
    return original_child_action_;
  }
  [[nodiscard]] const struct sigaction& original_pipe_action() const {
    return original_pipe_action_;
  }

 private:
  sigset_t watched_{};
  sigset_t original_mask_{};
  struct sigaction original_child_action_{};
  struct sigaction original_pipe_action_{};
};

enum class interrupted_child {
  may_decide,      // it gets every signal and ends when it likes
  dies_at_second,  // a second signal kills it
};

struct child_request {
  std::string file;                      // path to execute
  std::vector<std::string> arguments;    // argv, the program's name first
  std::vector<std::string> environment;  // all of it, NAME=VALUE
  int stdin_fd = -1;                     // -1: this process's own
  int stdout_fd = -1;
  int stderr_fd = -1;
  interrupted_child on_signal = interrupted_child::may_decide;
  // Called again and again while the program runs; says after how long the next time is due.
  std::function<std::chrono::nanoseconds(pid_t program)> meanwhile;
};

struct child_outcome {
  int start_error = 0;  // errno of execve; the rest is then meaningless
  pid_t pid = 0;
  int wait_status = 0;  // as waitpid(2) gives it
  int signal_seen = 0;  // the first watched signal that this process got meanwhile
  // Wall time by the steady clock, from before fork until the process was reaped. The others are
  // wait4(2)'s: processor time includes descendants that were waited for, the peak is that of the
  // largest single process among them.
  double wall_seconds = 0;
  double user_seconds = 0;
  double system_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
};

// Effects: starts the program and waits for it. A signal that a process sent to this one is sent on
// to the program; one that the terminal sent is not, because the program got it already.
// Throws: command_error when no process can be made.
child_outcome run_child(const child_request& request, const signal_watch& watch);

// Throws: command_error where the program did not start: as the shell, 127 where its interpreter is
// missing, else 126.
void require_started(const child_outcome& outcome, const std::string& program);

bool exited_with(int wait_status, int exit_status);

// "exit status 3", "killed by SIGSEGV (Segmentation fault), core dumped".
std::string describe_wait_status(int wait_status);
std::string signal_name(int signal_number);

// This process's environment with some variables set; the last entry for a name wins.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& changes);

// Effects: ends this process the way the program ended: by its exit status, or by its signal,
// without writing a core file of its own. Never returns.
[[noreturn]] void end_like(int wait_status);

// The times, memory, faults and switches of `outcome` by name, as every JSON file of the command
// has them.
nlohmann::json usage_json(const child_outcome& outcome);

}  // namespace ashlar::measure
