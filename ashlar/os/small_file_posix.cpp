// os/small_file_posix.cpp: reading a small file whole by system calls.
// Layer: os.
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/small_file.hpp>

namespace ashlar::os {
namespace {

/// Not strerror, which may allocate and translate.
const char* describe(int error) noexcept {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "is not there";
    case EACCES:
    case EPERM:
      return "may not be read";
    case EISDIR:
      return "is a folder";
    default:
      return "cannot be read";
  }
}

file_text read_all(int file, char* buffer, std::size_t capacity) noexcept {
  file_text text;
  for (;;) {
    // One byte more than there may be tells whether there is more.
    char beyond = 0;
    const bool full = text.size == capacity;
    const auto got =
        ::read(file, full ? &beyond : buffer + text.size, full ? 1 : capacity - text.size);
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {0, describe(errno)};
    if (full) return {0, "is too long"};
    text.size += static_cast<std::size_t>(got);
  }
}

}  // namespace

file_text read_small_file(const char* path, char* buffer, std::size_t capacity) noexcept {
  if (is_in_sandbox()) return {0, "may not be read"};
  const int saved = errno;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  file_text text;
  if (file < 0) {
    text.why = describe(errno);
  } else {
    text = read_all(file, buffer, capacity);
    ::close(file);
  }
  errno = saved;
  return text;
}

}  // namespace ashlar::os
