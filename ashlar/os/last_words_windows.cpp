// os/last_words_windows.cpp: os/last_words.hpp by WriteFile.
// Layer: os.
#include <ashlar/os/last_words.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {
namespace {

bool write_all(HANDLE file, const char* text, std::size_t size) noexcept {
  while (size != 0) {
    DWORD written = 0;
    if (::WriteFile(file, text, static_cast<DWORD>(size), &written, nullptr) == 0) return false;
    text += written;
    size -= written;
  }
  return true;
}

}  // namespace

bool write_to_stderr(const char* text, std::size_t size) noexcept {
  const error_keeper keeper;
  const HANDLE out = ::GetStdHandle(STD_ERROR_HANDLE);
  return out != nullptr && out != INVALID_HANDLE_VALUE && write_all(out, text, size);
}

int append_to_file(const char* path, const char* text, std::size_t size) noexcept {
  const error_keeper keeper;
  const HANDLE file = ::CreateFileA(path, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                    nullptr, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return errno_of(::GetLastError());
  const int error = write_all(file, text, size) ? 0 : errno_of(::GetLastError());
  ::CloseHandle(file);
  return error;
}

}  // namespace ashlar::os
