// tools/cli/commands/profile.cpp: `ashlar profile`: traces in, their profile out; `ashlar merge`:
// profiles in, one out. Layer: cli.
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/process_files.hpp"
#include "tools/cli/progress_line.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/profile/profile_builder.hpp"
#include "tools/profile/profile_file.hpp"

namespace ashlar::cli {
namespace {

struct profile_options {
  std::vector<std::string> traces;
  std::string output;
};

struct merge_options {
  std::vector<std::string> profiles;  // "-": names from standard input, one a line
  std::string output;
};

constexpr const char* profile_footer =
    R"(A profile has what tune needs of runs, in some ten kilobytes; each trace is a run.

Example:
  ashlar profile monday.atrace tuesday.atrace -o week.aprof

Exit status: 0; 2 where a trace cannot be read or the profile not written.)";

constexpr const char* merge_footer =
    R"(In any order and any grouping the result is the same, to the byte.

Examples:
  ashlar merge monday.aprof tuesday.aprof -o week.aprof
  find runs -name '*.aprof' | ashlar merge - -o all.aprof

Exit status: 0; 2 where a profile cannot be read or the result not written.)";

void prepare(files::replaced_files& files, const std::string& output) {
  require_replaceable(output, profiling::profile_magic, "profile");
  files.prepare("-o", output);
}

void write(files::replaced_files& files, const profiling::profile& made,
           const std::string& output) {
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

// Effects: writes the profile whole or not at all, and says on standard error what it is of.
// Returns: the exit status. Throws: command_error, trace_error.
int profile_command(const profile_options& options) {
  files::replaced_files files(options.traces);
  prepare(files, options.output);
  profiling::profile all;
  for (const std::string& path : options.traces) {
    if (profiling::is_profile(path)) {
      throw input_error(
          fmt::format("'{}' is a profile already (`ashlar merge` makes one of several)", path));
    }
    const auto reader = open_trace(path);
    merge(all, profiling::profile_of(*reader));
  }
  write(files, all, options.output);
  return 0;
}

int merge_command(const merge_options& options) {
  files::replaced_files files;  // all is read before: it may be added to a profile
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

}  // namespace

void add_profile(command_parser& to) {
  command& profile = to.add({"profile", "What tune needs of traces, in a small file",
                             "-o PROFILE TRACE...", profile_footer});
  const auto with = std::make_shared<profile_options>();
  profile.arguments("TRACE", with->traces, "What ashlar record wrote");
  profile.output(with->output, "The profile").required();
  profile.does([with] { return profile_command(*with); });
}

void add_merge(command_parser& to) {
  command& merge =
      to.add({"merge", "One profile of several", "-o PROFILE PROFILE...", merge_footer});
  const auto with = std::make_shared<merge_options>();
  merge.arguments("PROFILE", with->profiles,
                  "What ashlar profile or merge wrote (-: their names, from standard input)");
  merge.output(with->output, "The profile of all").required();
  merge.does([with] { return merge_command(*with); });
}

}  // namespace ashlar::cli
