// tools/cli/trace_names.cpp. Layer: cli.
#include "tools/cli/trace_names.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "tools/cli/debug_hints.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/process_files.hpp"
#include "tools/cli/progress_line.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/files.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/trace/named_profile.hpp"
#include "tools/trace/named_trace.hpp"

namespace ashlar::cli {
namespace {

trace::found_names find_names(const std::string& path, const trace::trace_reader& reader,
                              trace::call_names& names) {
  progress_line line;
  return trace::find_names(reader, names, [&](double share) {
    line.tell(fmt::format("naming the calls of {}", path), share);
  });
}

std::string counts_of(const trace::found_names& found) {
  return fmt::format("{} of {} calls have names, {} have file and line",
                     format_count(found.names.size()), format_count(found.calls),
                     format_count(found.with_lines));
}

}  // namespace

void put_names_into(const std::string& path, const std::string& output) {
  with_trace_errors([&] {
    files::replaced_files files;  // it may be the trace: all is read before it is replaced
    const bool replaces = output == path;
    if (!replaces) require_replaceable(output, trace::magic, "trace");
    files.prepare(replaces ? "TRACE" : "-o", output, replaces);
    const auto reader = open_trace(path);
    if (reader->stacks().empty())
      throw input_error(
          fmt::format("'{}' has no calls to name: record it without --no-stacks", path));
    trace::call_names names(*reader);
    const trace::found_names found = find_names(path, *reader, names);
    const bool is_same = replaces && found.names == reader->names();
    if (!is_same) {
      const auto source = trace::open_file_source(path);
      trace::write_with_names(*source, reader->header(), found.names,
                              [&](std::string_view bytes) { files.write(0, bytes); });
      files.commit();
    }
    fmt::print(stderr, "ashlar: {}: {}{}\n", output, counts_of(found),
               is_same ? "; it stays as it was" : "");
    tell_missing_names(names.lost(), found.without_lines);
    return 0;
  });
}

bool put_names_into_profile(const std::string& path, const std::string& output) {
  std::string begin(trace::magic.size(), '\0');
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none) ||
      !std::ifstream(path, std::ios::binary).read(begin.data(), std::ssize(begin)) ||
      begin == trace::magic)
    return false;
  const auto named = trace::with_names(files::read_input(path));
  if (!named) return false;
  files::replaced_files files;
  files.prepare(output == path ? "TRACE" : "-o", output, output == path);
  files.write(0, named->bytes);
  files.commit();
  const std::uint64_t before = named->is_named;
  fmt::print(stderr, "ashlar: {}: {} of {} calls have names, {} have file and line{}\n", output,
             format_count(named->named + before), format_count(named->calls),
             format_count(named->lines),
             before != 0 ? fmt::format("; {} had names before", format_count(before)) : "");
  tell_missing_names(named->lost, named->without_lines);
  return true;
}

}  // namespace ashlar::cli
