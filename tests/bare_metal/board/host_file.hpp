// A file of the host, by Arm's semihosting: what runs the image, an emulator or a debugger, writes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "semihosting.hpp"

namespace board {

/// Written once, from the beginning to the end. Zero bits are one that is not open.
class host_file {
 public:
  /// Effects: creates the file, in the folder where the emulator runs. Returns: whether it could.
  [[nodiscard]] bool open(const char* name) noexcept {
    std::uint32_t length = 0;
    while (name[length] != 0) ++length;
    const std::uint32_t arguments[3] = {word(name), to_be_written, length};
    handle_ = semihosting::call(open_file, arguments);
    is_open_ = handle_ != failed;
    return is_open_;
  }
  /// Returns: whether all was written. What was written in part is the file's end.
  [[nodiscard]] bool write(const std::byte* bytes, std::size_t count) noexcept {
    if (!is_open_) return false;
    const std::uint32_t arguments[3] = {handle_, word(bytes), static_cast<std::uint32_t>(count)};
    const std::uint32_t not_written = semihosting::call(write_file, arguments);
    if (not_written != 0) close();
    return not_written == 0;
  }
  void close() noexcept {
    if (is_open_) semihosting::call(close_file, &handle_);
    is_open_ = false;
  }

 private:
  static constexpr std::uint32_t open_file = 0x01;
  static constexpr std::uint32_t close_file = 0x02;
  static constexpr std::uint32_t write_file = 0x05;
  static constexpr std::uint32_t to_be_written = 5;  // as fopen's "wb"
  static constexpr std::uint32_t failed = UINT32_MAX;

  static std::uint32_t word(const void* p) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p));
  }

  std::uint32_t handle_ = 0;
  bool is_open_ = false;
};

}  // namespace board
