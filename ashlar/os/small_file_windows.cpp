// os/small_file_windows.cpp: reading a small file whole by ReadFile.
// Layer: os.
#include <ashlar/os/small_file.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {
namespace {

file_text read_all(HANDLE file, char* buffer, std::size_t capacity) noexcept {
  file_text text;
  for (;;) {
    // One byte more than there may be tells whether there is more.
    char beyond = 0;
    const bool full = text.size == capacity;
    DWORD got = 0;
    if (::ReadFile(file, full ? &beyond : buffer + text.size,
                   full ? 1 : static_cast<DWORD>(capacity - text.size), &got, nullptr) == 0)
      return {0, "cannot be read"};
    if (got == 0) return text;
    if (full) return {0, "is too long"};
    text.size += got;
  }
}

}  // namespace

file_text read_small_file(const char* path, char* buffer, std::size_t capacity) noexcept {
  const error_keeper keeper;
  const HANDLE file = ::CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                                    OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    const DWORD error = ::GetLastError();
    const DWORD attributes = ::GetFileAttributesA(path);
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0)
      return {0, "is a folder"};
    const bool missing = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
    return {0, missing ? "is not there" : "may not be read"};
  }
  const file_text text = read_all(file, buffer, capacity);
  ::CloseHandle(file);
  return text;
}

}  // namespace ashlar::os
