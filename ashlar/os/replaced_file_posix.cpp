// os/replaced_file_posix.cpp: os/replaced_file.hpp by POSIX calls.
// Layer: os.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/not_cancelled.hpp>
#include <ashlar/os/replaced_file.hpp>

namespace ashlar::os {
namespace {

/// Returns: 0, or the error's number.
int write_all(int file, const void* bytes, std::size_t size) noexcept {
  const auto* at = static_cast<const char*>(bytes);
  while (size != 0) {
    const auto written = ::write(file, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return 0;
}

/// Effects: opens the file with these flags, writes, and closes it. Returns: 0, or the error's
/// number.
int write_file(const char* path, int flags, const void* bytes, std::size_t size) noexcept {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666);
  if (file < 0) return errno;
  const int error = write_all(file, bytes, size);
  const bool closed = ::close(file) == 0;
  return error != 0 || closed ? error : errno;
}

}  // namespace

int replace_file(const char* path, const void* bytes, std::size_t size) noexcept {
  const not_cancelled here;
  // A sandbox that allows files to be written need not allow more.
  if (has_new_call_filter()) return write_file(path, O_CREAT | O_TRUNC, bytes, size);
  struct stat there{};
  if (::stat(path, &there) == 0 && !S_ISREG(there.st_mode))
    return write_file(path, O_NONBLOCK, bytes, size);
  char beside[replaced_path_max + 32];
  if (std::strlen(path) >= replaced_path_max) return ENAMETOOLONG;
  text_writer name(beside, sizeof beside - 1);
  name << std::string_view(path) << "." << static_cast<std::size_t>(::getpid()) << ".part";
  beside[name.size()] = '\0';
  int error = write_file(beside, O_CREAT | O_TRUNC, bytes, size);
  if (error == 0 && std::rename(beside, path) != 0) error = errno;
  if (error != 0) ::unlink(beside);
  return error;
}

const char* describe_error(int error) noexcept {
  switch (error) {
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENOENT:
      return "there is no such folder";
    case ENOTDIR:
      return "a part of the path is no folder";
    case EISDIR:
      return "it is a folder";
    case EROFS:
      return "the file system is read-only";
    case ENOSPC:
    case EDQUOT:
      return "no space is left";
    case ENAMETOOLONG:
      return "the name is too long";
    case ENOMEM:
      return "the system refuses memory";
    default:
      return "the system refuses it";
  }
}

}  // namespace ashlar::os
