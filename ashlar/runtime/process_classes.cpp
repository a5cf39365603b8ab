// runtime/process_classes.cpp: the table that may be loaded, and loading it.
// Layer: runtime.
#include <cerrno>
#include <utility>

#include <unistd.h>

#include <ashlar/core/line_writer.hpp>
#include <ashlar/heap/class_file.hpp>
#include <ashlar/os/small_file.hpp>
#include <ashlar/runtime/process_classes.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {

constinit detail::class_table loaded_classes = built_in_classes;

namespace {
constexpr const char* setting = "ASHLAR_CONFIG";
}  // namespace

void loadable_process_classes::load() noexcept {
  static constinit bool done = false;  // the reserve starts later, while others use the table
  char** const environment = process_environment();
  if (environment == nullptr || std::exchange(done, true)) return;
  if (const char* const path = find_setting(environment, setting); path != nullptr) load_file(path);
}

void loadable_process_classes::load_file(const char* path) noexcept {
  line_writer<512> line;
  line << "ashlar: " << setting << "=" << path << " is ignored: it ";
  char text[detail::class_file_bytes_max];
  const os::file_text read = os::read_small_file(path, text, sizeof text);
  if (read.why == nullptr) {
    const detail::class_file file = detail::parse_class_file({text, read.size});
    if (file.wrong == nullptr) {
      loaded_classes = detail::make_class_table({file.sizes.data(), file.count});
      return;
    }
    line << "is wrong in line " << file.line << ": ";
    if (file.word.empty())
      line << "the end of the file";
    else
      line << "'" << file.word << "'";
    line << " " << file.wrong;
  } else {
    line << read.why;
  }
  line.end_line();
  const int saved = errno;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  errno = saved;
}

}  // namespace ashlar::runtime
