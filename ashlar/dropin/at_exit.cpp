// dropin/at_exit.cpp: the drop-in library's reports when its process ends.
// Layer: dropin. docs/statistics.md: ASHLAR_STATS_FILE, ASHLAR_SAMPLE_FILE; docs/checks.md:
// ASHLAR_LEAKS.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include <sys/resource.h>

#include <ashlar/adapt/c_api.h>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/dropin/export.hpp>
#include <ashlar/os/call_filter.hpp>
#include <ashlar/os/last_words.hpp>
#include <ashlar/os/path_pattern.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/runtime/process_heap.hpp>
#include <ashlar/runtime/sampling.hpp>
#include <ashlar/runtime/settings.hpp>

namespace {

void complain(const char* variable, const char* path, const char* why) {
  ashlar::line_writer<512> line;
  line << "ashlar: cannot write " << path << " (" << variable << "): " << why << "\n";
  ashlar::os::write_remark(line.data(), line.size());
}

constexpr std::size_t path_max = 4096;
/// A file that is written at exit, if the variable names one.
struct file_report {
  const char* variable;
  int (*write_to)(std::FILE*, ashlar_stats_format);
};
constexpr file_report files[] = {{"ASHLAR_LEAKS_FILE", ashlar_leaks_write},
                                 {"ASHLAR_STATS_FILE", ashlar_stats_write}};
// What the environment said when the process started: at its end, the program may have freed it.
constinit char patterns[std::size(files)][path_max] = {};
// Apart from these pages, which most processes need not touch.
constinit bool is_wanted[std::size(files)] = {};
constinit bool tells_leaks = false;

// The process wrote its reports before it closed itself into a sandbox, which may end it for
// opening a file.
constinit bool is_written_early = false;

/// Effects: writes JSON to the file.
void write_file(const file_report& report, const char* pattern) {
  char path[path_max];
  if (!ashlar::os::expand_path(pattern, path, sizeof path))
    return complain(report.variable, pattern, "the name is too long");
  std::FILE* file = std::fopen(path, "we");
  if (file == nullptr) return complain(report.variable, path, std::strerror(errno));
  // With a buffer of its own, the C library asks the system nothing about the file, which a sandbox
  // need not allow.
  static char buffer[4096];
  std::setvbuf(file, buffer, _IOFBF, sizeof buffer);
  const bool written = report.write_to(file, ASHLAR_STATS_JSON) == 0;
  const int error = errno;
  if (std::fclose(file) != 0 || !written) complain(report.variable, path, std::strerror(error));
}

void write_files() {
  for (std::size_t i = 0; i < std::size(files); ++i)
    if (is_wanted[i]) write_file(files[i], patterns[i]);
}

[[gnu::constructor]] void prepare_reports() {
  char** const environment = ashlar::runtime::process_environment();
  if (environment == nullptr) return;
  const char* const leaks = ashlar::runtime::find_setting(environment, "ASHLAR_LEAKS");
  tells_leaks = leaks != nullptr && std::strcmp(leaks, "1") == 0;
  for (std::size_t i = 0; i < std::size(files); ++i) {
    const char* const variable = files[i].variable;
    const char* const pattern = ashlar::runtime::find_file_setting(environment, variable);
    if (pattern == nullptr) continue;
    const std::size_t length = std::strlen(pattern);
    if (length >= path_max) {
      complain(variable, pattern, "the name is too long");
      continue;
    }
    std::memcpy(patterns[i], pattern, length);
    is_wanted[i] = true;
    // What a report needs to know in a sandbox that the process closes meanwhile.
    ashlar::os::note_call_filters();
    static_cast<void>(ashlar::os::process_number());
  }
}

[[gnu::destructor]] void report_at_exit() {
  // Where another copy of the library serves the process, its reports are the process's.
  if (!ashlar::runtime::the_heap.has_started()) return;
  ashlar::runtime::end_sampling();
  if (tells_leaks) static_cast<void>(ashlar_leaks_write(stderr, ASHLAR_STATS_TEXT));
  if (!is_written_early) write_files();
}

}  // namespace

void ashlar::os::before_call_filter(bool) noexcept {
  // A process that closes itself in may have forbidden itself files that are as long as a report:
  // the system would end it for a write.
  constexpr rlim_t report_bytes_max = 1 << 20;
  rlimit most{};
  if (::getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < report_bytes_max) return;
  if (ashlar::runtime::the_heap.has_started()) write_files();
}
void ashlar::os::after_call_filter() noexcept { is_written_early = true; }

/// For libashlar-at-signal.so (tools/signals). A program may have libashlar's ashlar_stats_get,
/// whose heap is another.
extern "C" ASHLAR_EXPORT void ashlar_stats_of_malloc(ashlar_stats* stats) {
  ashlar_stats_get(stats);
}
