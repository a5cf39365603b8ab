// os/path_pattern.cpp: os/path_pattern.hpp, on every system.
// Layer: os.
#include <string_view>

#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/path_pattern.hpp>
#include <ashlar/os/process.hpp>

namespace ashlar::os {

bool has_place(const char* pattern, char what) noexcept {
  const char place[] = {'%', what};
  return std::string_view(pattern).find({place, sizeof place}) != std::string_view::npos;
}

bool expand_path(const char* pattern, char* path, std::size_t capacity,
                 std::size_t number) noexcept {
  text_writer text(path, capacity);
  for (const char* p = pattern; *p != '\0'; ++p) {
    if (p[0] == '%' && p[1] == 'p')
      text << process_number();
    else if (p[0] == '%' && p[1] == 'n')
      text << number;
    else {
      text << std::string_view(p, 1);
      continue;
    }
    ++p;
  }
  if (text.size() == capacity) return false;
  path[text.size()] = '\0';
  return true;
}

}  // namespace ashlar::os
