// tools/cli/trace_input.hpp: the trace that a command reads. Layer: cli.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"
#include "tools/trace/error.hpp"
#include "tools/trace/reader.hpp"

namespace ashlar::cli {

// Effects: what libdebuginfod fetches from now on is told on standard error, if that is a terminal: a
// server may take long.
inline void show_downloads() {
  constexpr int replace = 0;  // what the user has set stays
  if (::isatty(STDERR_FILENO) == 1) ::setenv("DEBUGINFOD_PROGRESS", "1", replace);
}

// Effects: where the trace's end is missing, says so on standard error; all before is read. While it is
// read, a terminal shows how far that is. Throws: trace_error.
inline std::unique_ptr<trace::trace_reader> open_trace(const std::string& path) {
  show_downloads();
  auto reader = std::make_unique<trace::trace_reader>(trace::open_file_source(path));
  if (!reader->warning().empty()) fmt::print(stderr, "ashlar: warning: {}\n", reader->warning());
  reader->tell_progress(
      [line = std::make_shared<progress_line>(),
       what = fmt::format("reading {}", path)](double share) { line->tell(what, share); });
  return reader;
}

// Returns: what `work` returns. Throws: for a trace that cannot be read, input_error.
template <class Work>
int with_trace_errors(Work work) {
  try {
    return work();
  } catch (const trace::trace_error& error) {
    throw input_error(error.what());
  }
}

}  // namespace ashlar::cli
