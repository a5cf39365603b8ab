// tools/files/files.cpp. Layer: files.
#include "tools/files/files.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/files/error.hpp"

namespace ashlar::files {

open_file::~open_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

open_file open_null() {
  const int descriptor = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    throw command_error(status_failed,
                        fmt::format("cannot open /dev/null: {}", std::strerror(errno)));
  }
  return open_file(descriptor);
}

scratch_directory::scratch_directory() {
  const char* chosen = std::getenv("TMPDIR");
  std::string parent = chosen != nullptr && *chosen == '/' ? chosen : "/tmp";
  if (parent.find_first_of(" \t\n:$%") != std::string::npos) parent = "/tmp";
  path_ = parent + "/ashlar-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    throw command_error(status_failed,
                        fmt::format("cannot make a temporary folder in '{}': {}; set TMPDIR to a "
                                    "folder that can be written",
                                    parent, std::strerror(errno)));
  }
}

scratch_directory::~scratch_directory() {
  std::error_code ignored;  // nothing is left to do about a folder that cannot be removed
  std::filesystem::remove_all(path_, ignored);
}

open_file scratch_directory::make_unnamed_file() const {
  std::string name = path_ + "/file-XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) {
    throw command_error(status_failed, fmt::format("cannot make a temporary file in '{}': {}",
                                                   path_, std::strerror(errno)));
  }
  ::unlink(name.c_str());
  return open_file(descriptor);
}

std::string standard_input_as_file() {
  struct stat status{};
  if (::fstat(STDIN_FILENO, &status) != 0 || S_ISREG(status.st_mode)) return "/dev/stdin";
  const open_file copy = scratch_directory().make_unnamed_file();
  std::array<char, 65536> buffer{};
  for (ssize_t got = 0; (got = ::read(STDIN_FILENO, buffer.data(), buffer.size())) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    const int error =
        got < 0 ? errno
                : write_all(copy.descriptor(), {buffer.data(), static_cast<std::size_t>(got)});
    if (error != 0)
      throw input_error(fmt::format("cannot read standard input: {}", std::strerror(error)));
  }
  ::dup2(copy.descriptor(), STDIN_FILENO);
  return "/dev/stdin";
}

std::string read_whole(const open_file& file) {
  std::string contents;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::pread(file.descriptor(), buffer.data(), buffer.size(),
                                static_cast<off_t>(contents.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return contents;
    contents.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

std::string read_input(const std::string& path) {
  const open_file file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &status) != 0) {
    throw command_error(status_usage,
                        fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode))
    throw command_error(status_usage, fmt::format("cannot read '{}': it is no file", path));
  return read_whole(file);
}

}  // namespace ashlar::files
