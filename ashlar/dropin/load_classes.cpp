// dropin/load_classes.cpp: the table that may be loaded, and loading it.
// Layer: dropin. runtime/process_classes.hpp declares both.
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
constinit detail::class_table undiverted_classes;
constinit std::atomic<const detail::class_table*> loadable_process_classes::true_classes{
    &loaded_classes};

namespace {
constexpr const char* setting = "ASHLAR_CONFIG";
}  // namespace

void loadable_process_classes::load() noexcept {
  static constinit bool done = false;  // the reserve starts later, while others use the table
  char** const environment = process_environment();
  if (environment == nullptr || std::exchange(done, true)) return;
  if (const char* const path = find_file_setting(environment, setting); path != nullptr)
    load_file(path);
}

void loadable_process_classes::divert_hits(bool on) noexcept {
  // The copy stays from the first time on: misses that have begun may read it.
  const detail::class_table* const truth = &undiverted_classes;
  if (true_classes.load(std::memory_order_relaxed) != truth) {
    if (!on) return;
    undiverted_classes = loaded_classes;
    true_classes.store(truth, std::memory_order_release);
  }
  for (std::size_t i = 0; i < loaded_classes.by_granules.size(); ++i)
    __atomic_store_n(&loaded_classes.by_granules[i], on ? class_index{0} : truth->by_granules[i],
                     __ATOMIC_RELAXED);
  for (std::size_t c = 0; c < loaded_classes.kept_sizes.size(); ++c)
    __atomic_store_n(&loaded_classes.kept_sizes[c], on ? 0 : truth->kept_sizes[c],
                     __ATOMIC_RELAXED);
  __atomic_store_n(&loaded_classes.hit_end, on ? 0 : truth->hit_end, __ATOMIC_RELAXED);
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
