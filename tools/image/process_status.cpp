// tools/image/process_status.cpp. Layer: image.
#include "tools/image/process_status.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/files/error.hpp"
#include "tools/files/process_status.hpp"

namespace ashlar::image {

using files::command_error;
using files::status_failed;
using files::status_of;

std::string place(pid_t pid, const char* name) { return fmt::format("/proc/{}/{}", pid, name); }

void fail(const std::string& why) { throw command_error(status_failed, why); }
void fail_gone(pid_t pid) {
  fail(fmt::format("process {} is gone: nothing is known of its memory any more", pid));
}

void refuse(pid_t pid, int error, const char* what) {
  // One that is ending has no memory any more, and then no state.
  if (error == ESRCH || error == ENOENT || status_of(pid, "VmSize").empty()) fail_gone(pid);
  if (error != EPERM && error != EACCES)
    fail(fmt::format("process {}: {}: {}", pid, what, std::strerror(error)));
  static_cast<void>(files::require_own_process(pid));
  std::ifstream scope("/proc/sys/kernel/yama/ptrace_scope");
  int restricted = 0;
  if (scope >> restricted && restricted != 0)
    fail(
        fmt::format("the system lets nobody look into process {} (kernel.yama.ptrace_scope is {}): "
                    "run the command as root{}",
                    pid, restricted,
                    restricted == 1 ? ", or set it to 0 (sysctl kernel.yama.ptrace_scope=0)" : ""));
  fail(
      fmt::format("the system forbids to look into process {}: in a container, start it with "
                  "--cap-add=SYS_PTRACE; a process that has gained rights needs root",
                  pid));
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(place(pid, "task"), error))
    found.push_back(static_cast<pid_t>(std::atol(each.path().filename().c_str())));
  return found;
}

void require_process(pid_t pid) {
  if (pid == ::getpid()) fail("the command cannot look into itself: name another process");
  const std::string state = status_of(pid, "State");
  if (state.empty())
    fail(fmt::format("there is no process {} (pgrep -l NAME tells the numbers of processes)", pid));
  if (state.starts_with('Z'))
    fail(fmt::format("process {} has ended, and only its exit status is left: its memory is gone",
                     pid));
  if (status_of(pid, "VmSize").empty())
    fail(fmt::format(
        "process {} has no memory of its own: it is a part of the system, or is ending", pid));
}

}  // namespace ashlar::image
