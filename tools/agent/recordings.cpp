// tools/agent/recordings.cpp. Layer: agent.
#include "tools/agent/recordings.hpp"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ashlar/core/control_protocol.hpp>

#include "tools/files/files.hpp"

namespace ashlar::agent {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// All of a recording is shorter than a connection may be (connection_watch.hpp).
constexpr milliseconds answer_time(6'000), pause(100), file_time(2000);

control::answer refused(std::string why) {
  return {.how = control::outcome::refused, .text = std::move(why), .from = 0};
}

// Returns: how many bytes the recorder has written: its file has a longer name until it is whole.
std::uint64_t bytes_until_now(const fs::path& folder, const std::string& name) {
  std::uint64_t bytes = 0;
  std::error_code failed, is_gone;
  for (fs::directory_iterator each(folder, failed), end; each != end; each.increment(failed))
    if (each->path().filename().string().starts_with(name + "."))
      if (const std::uintmax_t size = each->file_size(is_gone); !is_gone) bytes += size;
  return bytes;
}

control::answer read_trace(int folder, const std::string& name) {
  const files::open_file file(
      ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat of{}, around{};
  if (::fstat(file.descriptor(), &of) != 0) return refused("the process wrote no trace");
  if (::fstat(folder, &around) != 0 || !S_ISREG(of.st_mode) || of.st_uid != around.st_uid)
    return refused("what it wrote is no file of its user's");
  const auto size = static_cast<std::uint64_t>(of.st_size);
  if (size > recordings::bytes_max)
    return refused("its trace is too long: record it by ashlar ctl");
  std::string text(size, '\0');
  const ssize_t got = ::pread(file.descriptor(), text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return {.how = control::outcome::done, .text = std::move(text), .from = 0};
}

}  // namespace

std::optional<control::answer> recordings::make(const process_figures& of,
                                                std::chrono::seconds duration,
                                                const std::atomic<bool>& must_end) {
  if (library_.empty())
    return refused("libashlar-record.so is not where this command looks for it");
  const pid_t pid = of.socket.pid;
  {
    const std::lock_guard guard(mutex_);
    if (now_.contains(pid)) return refused("it is being recorded already");
    if (now_.size() == at_once_max) return std::nullopt;
    now_.insert(pid);
  }
  const std::shared_ptr<void> at_end(nullptr, [&](void*) {
    const std::lock_guard guard(mutex_);
    now_.erase(pid);
  });
  const auto ask = [&](const std::string& what, milliseconds time) {
    return std::move(control::ask_all({of.socket}, what, {.each = time, .all = time}).front());
  };
  const fs::path path = fs::path(of.socket.path).parent_path();
  const std::string name = fmt::format("{}.atrace", pid);
  const files::open_file folder(
      ::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::string owner_name = name + owner_end;
  const files::open_file owner(::openat(folder.descriptor(), owner_name.c_str(),
                                        O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                                        0644));
  if (::flock(owner.descriptor(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return refused("it is being recorded already");             // another agent begins just now
  ::unlinkat(folder.descriptor(), name.c_str(), 0);             // of one that nobody waited for
  const std::uint64_t left_over = bytes_until_now(path, name);  // of a recorder that was killed
  control::answer begun = ask(fmt::format("record start {}{}{}", library_,
                                          control_protocol::between_paths, (path / name).string()),
                              answer_time);
  ::unlinkat(folder.descriptor(), owner_name.c_str(), 0);  // the writer has it by now, or never
  if (begun.how == control::outcome::refused) return begun;
  const bool has_begun = begun.how == control::outcome::done;
  const auto end = steady_clock::now() + duration;
  while (has_begun && steady_clock::now() < end && !must_end.load() &&
         bytes_until_now(path, name) < left_over + enough_bytes)
    std::this_thread::sleep_for(pause);
  // One that is silent is told, too: it may begin when it runs again.
  static_cast<void>(ask("record stop " + library_, has_begun ? answer_time : pause));
  if (!has_begun) return begun;
  // The recorder writes the last of it also where the process has ended.
  const auto given_up = steady_clock::now() + file_time;
  while (::faccessat(folder.descriptor(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
         steady_clock::now() < given_up)
    std::this_thread::sleep_for(pause);
  control::answer trace = read_trace(folder.descriptor(), name);
  ::unlinkat(folder.descriptor(), name.c_str(), 0);
  return trace;
}

}  // namespace ashlar::agent
