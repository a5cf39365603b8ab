// os/replaced_file_windows.cpp: os/replaced_file.hpp by MoveFileEx.
// Layer: os.
#include <cstring>
#include <string_view>

#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/replaced_file.hpp>
#include <ashlar/os/windows.hpp>

namespace ashlar::os {
namespace {

/// Returns: 0, or the system's error.
DWORD write_file(const char* path, const void* bytes, std::size_t size) noexcept {
  const HANDLE file =
      ::CreateFileA(path, GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return ::GetLastError();
  DWORD error = 0;
  for (const auto* at = static_cast<const char*>(bytes); size != 0 && error == 0;) {
    DWORD written = 0;
    if (::WriteFile(file, at, static_cast<DWORD>(size), &written, nullptr) == 0)
      error = ::GetLastError();
    at += written;
    size -= written;
  }
  ::CloseHandle(file);
  return error;
}

}  // namespace

int replace_file(const char* path, const void* bytes, std::size_t size) noexcept {
  const error_keeper keeper;
  char beside[replaced_path_max + 32];
  if (std::strlen(path) >= replaced_path_max) return ENAMETOOLONG;
  text_writer name(beside, sizeof beside - 1);
  name << std::string_view(path) << "." << process_number() << ".part";
  beside[name.size()] = '\0';
  DWORD error = write_file(beside, bytes, size);
  if (error == 0 && ::MoveFileExA(beside, path, MOVEFILE_REPLACE_EXISTING) == 0)
    error = ::GetLastError();
  if (error != 0) ::DeleteFileA(beside);
  return error == 0 ? 0 : errno_of(error);
}

const char* describe_error(int error) noexcept {
  switch (error) {
    case EACCES:
      return "permission denied";
    case ENOENT:
      return "there is no such folder";
    case ENOSPC:
      return "no space is left";
    case ENAMETOOLONG:
      return "the name is too long";
    default:
      return "the system refuses it";
  }
}

}  // namespace ashlar::os
