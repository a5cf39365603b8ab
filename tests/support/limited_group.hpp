// support/limited_group.hpp: a control group that limits memory. It is made below (version 1) or beside (version 2) the one
// that the process is in, and goes with the object.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace support {

inline bool put_text(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return ::close(file) == 0 && written;
}

/// Returns: the path of this process's group in the hierarchy whose line in /proc/self/cgroup has
/// `controller` between its colons; empty if it is in none.
inline std::string own_group(const std::string& controller) {
  std::FILE* const file = std::fopen("/proc/self/cgroup", "re");
  if (file == nullptr) return {};
  char line[4096];
  std::string found;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    const std::string text(line, std::strcspn(line, "\n"));
    const auto first = text.find(':'), second = text.find(':', first + 1);
    if (text.substr(first + 1, second - first - 1) == controller) found = text.substr(second + 1);
  }
  std::fclose(file);
  return found;
}

/// A group that limits memory; of no path where none can be made.
class limited_group {
 public:
  explicit limited_group(std::size_t limit) : limit_(std::to_string(limit)) {
    if (!make("/sys/fs/cgroup/memory" + own_group("memory"), "memory.limit_in_bytes")) {
      // A group of version 2 that has processes gives its children no limits.
      std::string own = "/sys/fs/cgroup" + own_group("");
      make(own.substr(0, own.rfind('/')), "memory.max");
    }
  }
  limited_group(const limited_group&) = delete;
  limited_group& operator=(const limited_group&) = delete;
  ~limited_group() {
    // The system may need a moment after the last process has ended.
    for (int i = 0; !path_.empty() && ::rmdir(path_.c_str()) != 0 && i < 1'000; ++i)
      ::usleep(1'000);
  }
  [[nodiscard]] bool exists() const { return !path_.empty(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool enter() const { return put_text(path_ + "/cgroup.procs", "0"); }

 private:
  bool make(const std::string& parent, const char* limit_file) {
    const std::string path = parent + "/ashlar-test-" + std::to_string(::getpid());
    if (::mkdir(path.c_str(), 0755) != 0) return false;
    path_ = path;
    if (put_text(path + "/" + limit_file, limit_)) return true;
    ::rmdir(path.c_str());
    path_.clear();
    return false;
  }
  std::string limit_, path_;
};

}  // namespace support
