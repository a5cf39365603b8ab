// tools/control/process_socket.cpp. Layer: control.
#include "tools/control/process_socket.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ashlar/core/control_protocol.hpp>

#include "tools/files/error.hpp"
#include "tools/files/process_status.hpp"
#include "tools/files/text.hpp"

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

// Returns: the path that ASHLAR_CONTROL gives to processes and to this command, with `number` for
// each %p; empty: it gives none.
std::string path_by_environment(const std::string& number) {
  const char* const given = std::getenv("ASHLAR_CONTROL");
  std::string path = given != nullptr && given[0] == '/' ? given : "";
  for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos; at += number.size())
    path.replace(at, 2, number);
  return path;
}

// Returns: the files whose paths fit a pattern with *.
std::vector<std::string> files_like(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

// Returns: the process whose socket has this name; 0: it is another file.
pid_t process_named(std::string_view name) {
  constexpr std::string_view end = control_protocol::name_end;
  if (!name.ends_with(end)) return 0;
  name.remove_suffix(end.size());
  return std::max(0, files::number_in<pid_t>(name).value_or(0));
}

}  // namespace

std::string process_socket::name() const {
  return pid != 0 ? fmt::format("process {}", pid) : path;
}

namespace {

std::vector<process_socket> sockets_in(const std::vector<std::string>& folders, std::size_t most) {
  std::vector<process_socket> found;
  for (const std::string& folder : folders) {
    std::error_code failed;  // a folder that is not there, or goes meanwhile
    for (fs::directory_iterator each(folder, failed), end; each != end && found.size() < most;
         each.increment(failed)) {
      const pid_t pid = process_named(each->path().filename().string());
      if (pid != 0) found.push_back({pid, each->path().string()});
    }
  }
  for (const std::string& path : files_like(path_by_environment("*")))
    if (found.size() < most)
      found.push_back({process_named(fs::path(path).filename().string()), path});
  const auto key = [](const process_socket& s) { return std::tie(s.pid, s.path); };
  std::ranges::sort(found, [&](const auto& a, const auto& b) { return key(a) < key(b); });
  // Two of the folders may be one.
  found.erase(std::unique(found.begin(), found.end(),
                          [&](const auto& a, const auto& b) { return key(a) == key(b); }),
              found.end());
  return found;
}

// Effects: adds `folder`, of mode 0700, to `to`. Not a link, nor one that is not the user's.
void add_folder(const std::string& folder, uid_t user, std::vector<std::string>& to) {
  struct stat found{};
  if (::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == user)
    to.push_back(folder);
}

}  // namespace

std::vector<process_socket> sockets_of_user() {
  return sockets_in(folders_of(::geteuid()), SIZE_MAX);
}

std::vector<process_socket> sockets_of_all(std::size_t most) {
  if (::geteuid() != 0) return sockets_in(folders_of(::geteuid()), most);
  std::vector<std::string> folders = folders_of(0);
  const auto add_users = [&](const fs::path& parent, std::string_view name_begin,
                             std::string_view inner) {
    std::error_code failed;
    for (fs::directory_iterator each(parent, failed), end; each != end; each.increment(failed)) {
      const std::string name = each->path().filename().string();
      if (!name.starts_with(name_begin)) continue;
      if (const auto user =
              files::number_in<uid_t>(std::string_view(name).substr(name_begin.size())))
        add_folder(each->path().string() + std::string(inner), *user, folders);
    }
  };
  const fs::path shared(control_protocol::shared_folder);
  add_users("/run/user", "", control_protocol::runtime_subfolder);
  add_users(shared.parent_path(), shared.filename().string(), "");
  return sockets_in(folders, most);
}

process_socket socket_of(pid_t pid) {
  const auto fail = [](const std::string& why) { throw command_error(status_failed, why); };
  const std::string state = status_of(pid, "State");
  if (state.empty())
    fail(fmt::format("there is no process {} ('ashlar ctl' lists those that can be asked)", pid));
  if (state.starts_with('Z'))
    fail(fmt::format("process {} has ended, and only its exit status is left", pid));
  const uid_t owner = files::require_own_process(pid);
  // A path without %p may be another process's.
  const std::string elsewhere = path_by_environment(std::to_string(pid));
  if (elsewhere != path_by_environment(""))
    if (const std::vector<std::string> found = files_like(elsewhere); !found.empty())
      return {pid, found.front()};
  for (const uid_t user : {owner, ::geteuid()})
    for (const std::string& folder : folders_of(user)) {
      const std::string path = path_in(folder, pid);
      if (::access(path.c_str(), F_OK) == 0) return {pid, path};
    }
  if (files::has_drop_in(pid))
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
