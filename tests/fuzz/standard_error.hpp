// fuzz/standard_error.hpp: what the library says on standard error, caught. Requires: the program is linked with
// --wrap=write, which leads the library's calls here: a descriptor of their own would be three system calls an input.
#pragma once

#include <cstddef>
#include <string>

#include <unistd.h>

namespace fuzz {

/// While one lives, what is written there is its text. One at a time.
class caught_standard_error {
 public:
  caught_standard_error() { current() = this; }
  ~caught_standard_error() { current() = nullptr; }
  caught_standard_error(const caught_standard_error&) = delete;
  caught_standard_error& operator=(const caught_standard_error&) = delete;

  [[nodiscard]] const std::string& text() const { return text_; }

  /// Returns: null where nothing is caught.
  static caught_standard_error*& current() {
    static caught_standard_error* one = nullptr;
    return one;
  }
  void add(const void* bytes, std::size_t count) {
    text_.append(static_cast<const char*>(bytes), count);
  }

 private:
  std::string text_;
};

}  // namespace fuzz

extern "C" ssize_t __real_write(int file, const void* bytes, std::size_t count);
extern "C" ssize_t __wrap_write(int file, const void* bytes, std::size_t count) {
  fuzz::caught_standard_error* const caught = fuzz::caught_standard_error::current();
  if (caught == nullptr || file != STDERR_FILENO) return __real_write(file, bytes, count);
  caught->add(bytes, count);
  return static_cast<ssize_t>(count);
}
