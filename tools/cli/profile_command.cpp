// tools/cli/profile_command.cpp. Layer: cli.
#include "tools/cli/profile_command.hpp"

#include <cstdio>
#include <iostream>

#include <fmt/format.h>

#include "tools/cli/error.hpp"
#include "tools/cli/process_files.hpp"
#include "tools/cli/progress_line.hpp"
#include "tools/cli/replaced_files.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/profile/profile_builder.hpp"
#include "tools/profile/profile_file.hpp"

namespace ashlar::cli {

namespace {

void prepare(replaced_files& files, const std::string& output) {
  require_replaceable(output, profiling::profile_magic, "profile");
  files.prepare("-o", output);
}

void write(replaced_files& files, const profiling::profile& made, const std::string& output) {
  const std::string bytes = profiling::encode(made);
  files.commit({bytes});
  fmt::print(stderr, "ashlar: {}: {} run{}, {} births of {} sizes, in {}\n", output,
             format_count(made.runs), made.runs == 1 ? "" : "s", format_count(made.births()),
             made.pools.size(), format_bytes(bytes.size()));
  if (made.left_out > 0) {
    fmt::print(stderr, "ashlar: {} requests are too large for a pool and are left out\n",
               format_count(made.left_out));
  }
}

std::vector<std::string> names_of(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    if (word != "-") {
      names.push_back(word);
      continue;
    }
    for (std::string line; std::getline(std::cin, line);)
      if (!line.empty()) names.push_back(line);
  }
  if (names.empty())
    throw command_error(status_usage, "merge: standard input names no profile, one a line");
  return names;
}

}  // namespace

int profile_command(const profile_options& options) {
  replaced_files files(options.traces);
  prepare(files, options.output);
  profiling::profile all;
  for (const std::string& path : options.traces) {
    if (profiling::is_profile(path)) {
      throw input_error(
          fmt::format("'{}' is a profile already (`ashlar merge` makes one of several)", path));
    }
    const auto reader = open_trace(path);
    progress_line line;
    merge(all, profiling::profile_of(*reader, [&](double share) {
            line.tell(fmt::format("reading {}", path), share);
          }));
  }
  write(files, all, options.output);
  return 0;
}

int merge_command(const merge_options& options) {
  replaced_files files;  // all is read before: it may be added to a profile
  prepare(files, options.output);
  const std::vector<std::string> names = names_of(options.profiles);
  profiling::profile all;
  {
    progress_line line;
    for (std::size_t n = 0; n < names.size(); ++n) {
      line.tell("merging", static_cast<double>(n) / static_cast<double>(names.size()));
      merge(all, profiling::read_profile(names[n]));
    }
  }
  write(files, all, options.output);
  return 0;
}

}  // namespace ashlar::cli
