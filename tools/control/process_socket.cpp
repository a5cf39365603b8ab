// tools/control/process_socket.cpp. Layer: control.
#include "tools/control/process_socket.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <tuple>

#include <fmt/format.h>
#include <unistd.h>

#include <ashlar/core/control_protocol.hpp>

#include "tools/files/error.hpp"
#include "tools/files/process_status.hpp"

namespace ashlar::control {
namespace fs = std::filesystem;
namespace {

using files::command_error;
using files::status_failed;
using files::status_of;

// The folders in which a process of the user may have its socket. The environment is this
// command's, so the usual place of XDG_RUNTIME_DIR is looked at, too.
std::vector<std::string> folders_of(uid_t user) {
  std::vector<std::string> folders{
      fmt::format("/run/user/{}{}", user, control_protocol::runtime_subfolder),
      fmt::format("{}{}", control_protocol::shared_folder, user)};
  const char* const own = std::getenv("XDG_RUNTIME_DIR");
  if (own != nullptr && own[0] == '/')
    folders.insert(folders.begin(), fmt::format("{}{}", own, control_protocol::runtime_subfolder));
  return folders;
}

std::string path_in(const std::string& folder, pid_t pid) {
  return fmt::format("{}/{}{}", folder, pid, control_protocol::name_end);
}

// Returns: the process whose socket has this name; 0: it is another file.
pid_t process_named(std::string_view name) {
  constexpr std::string_view end = control_protocol::name_end;
  if (!name.ends_with(end)) return 0;
  name.remove_suffix(end.size());
  pid_t pid = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc() && rest == name.data() + name.size() && pid > 0 ? pid : 0;
}

// Whether the drop-in library is mapped in the process, as far as the system tells.
bool has_drop_in(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);)
    if (line.find("/libashlar-malloc") != std::string::npos) return true;
  return false;
}

}  // namespace

std::string process_socket::name() const {
  return pid != 0 ? fmt::format("process {}", pid) : path;
}

std::vector<process_socket> sockets_of_user() {
  std::vector<process_socket> found;
  for (const std::string& folder : folders_of(::geteuid())) {
    std::error_code is_missing;
    for (const fs::directory_entry& each : fs::directory_iterator(folder, is_missing)) {
      const pid_t pid = process_named(each.path().filename().string());
      if (pid != 0) found.push_back({pid, each.path().string()});
    }
  }
  const auto key = [](const process_socket& s) { return std::tie(s.pid, s.path); };
  std::sort(found.begin(), found.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  // Two of the folders may be one.
  found.erase(std::unique(found.begin(), found.end(),
                          [&](const auto& a, const auto& b) { return key(a) == key(b); }),
              found.end());
  return found;
}

process_socket socket_of(pid_t pid) {
  const auto fail = [](const std::string& why) { throw command_error(status_failed, why); };
  const std::string state = status_of(pid, "State");
  if (state.empty())
    fail(fmt::format("there is no process {} ('ashlar ctl' lists those that can be asked)", pid));
  if (state.starts_with('Z'))
    fail(fmt::format("process {} has ended, and only its exit status is left", pid));
  const uid_t owner = files::require_own_process(pid);
  for (const uid_t user : {owner, ::geteuid()})
    for (const std::string& folder : folders_of(user)) {
      const std::string path = path_in(folder, pid);
      if (::access(path.c_str(), F_OK) == 0) return {pid, path};
    }
  if (has_drop_in(pid))
    fail(
        fmt::format("process {} has no control socket: start it with ASHLAR_CONTROL=1, or name the "
                    "socket's path where ASHLAR_CONTROL or the program names one",
                    pid));
  fail(
      fmt::format("process {} has no control socket: start it with LD_PRELOAD=libashlar-malloc.so "
                  "and ASHLAR_CONTROL=1",
                  pid));
  return {};
}

}  // namespace ashlar::control
