// dropin/at_exit.cpp: the drop-in library's reports when its process ends.
// Layer: dropin. docs/statistics.md: ASHLAR_STATS_FILE, ASHLAR_SAMPLE_FILE; docs/checks.md:
// ASHLAR_LEAKS.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

using writer = int (*)(std::FILE*, ashlar_stats_format);
constexpr const char* leaks_file = "ASHLAR_LEAKS_FILE";
constexpr const char* stats_file = "ASHLAR_STATS_FILE";

/// Effects: where the variable names a file, writes JSON to it.
void write_file(const char* variable, writer write_to) {
  char** const environment = ashlar::runtime::process_environment();
  if (environment == nullptr) return;
  const char* const pattern = ashlar::runtime::find_file_setting(environment, variable);
  if (pattern == nullptr) return;
  char path[4096];
  if (!ashlar::os::expand_path(pattern, path, sizeof path))
    return complain(variable, pattern, "the name is too long");
  std::FILE* file = std::fopen(path, "we");
  if (file == nullptr) return complain(variable, path, std::strerror(errno));
  // With a buffer of its own, the C library asks the system nothing about the file, which a sandbox
  // need not allow.
  static char buffer[4096];
  std::setvbuf(file, buffer, _IOFBF, sizeof buffer);
  const bool written = write_to(file, ASHLAR_STATS_JSON) == 0;
  const int error = errno;
  if (std::fclose(file) != 0 || !written) complain(variable, path, std::strerror(error));
}

/// What a report needs to know in a sandbox that the process closes meanwhile.
[[gnu::constructor]] void prepare_reports() {
  char** const environment = ashlar::runtime::process_environment();
  if (environment == nullptr) return;
  for (const char* const name : {leaks_file, stats_file})
    if (ashlar::runtime::find_setting(environment, name) != nullptr) {
      ashlar::os::note_call_filters();
      static_cast<void>(ashlar::os::process_number());
    }
}

[[gnu::destructor]] void report_at_exit() {
  // Where another copy of the library serves the process, its reports are the process's.
  if (!ashlar::runtime::the_heap.has_started()) return;
  ashlar::runtime::end_sampling();
  const char* leaks = std::getenv("ASHLAR_LEAKS");
  if (leaks != nullptr && std::strcmp(leaks, "1") == 0)
    static_cast<void>(ashlar_leaks_write(stderr, ASHLAR_STATS_TEXT));
  write_file(leaks_file, ashlar_leaks_write);
  write_file(stats_file, ashlar_stats_write);
}

}  // namespace

/// For libashlar-at-signal.so (tools/signals). A program may have libashlar's ashlar_stats_get,
/// whose heap is another.
extern "C" ASHLAR_EXPORT void ashlar_stats_of_malloc(ashlar_stats* stats) {
  ashlar_stats_get(stats);
}
