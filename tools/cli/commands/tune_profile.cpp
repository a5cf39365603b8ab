// tools/cli/commands/tune_profile.cpp: `ashlar tune profile`: traces and profiles in, one profile out.
// Layer: cli.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_files.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/files.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/profile/profile_builder.hpp"
#include "tools/profile/profile_file.hpp"

namespace ashlar::cli {
namespace {

struct profile_options {
  std::vector<std::string> inputs;
  std::string list;  // a file that names more, one a line; empty: none
  std::string output;
};

constexpr const char* profile_footer =
    R"(A profile has what tune needs of runs, in some ten kilobytes; each trace is a run. In any order and any
grouping the result is the same, to the byte. It may replace a profile that is read.

Examples:
  ashlar tune profile monday.atrace tuesday.atrace -o week.aprof
  ashlar tune profile week.aprof wednesday.aprof -o month.aprof
  find runs -name '*.aprof' | ashlar tune profile --list - -o all.aprof

Exit status: 0; 2 where an input cannot be read or the profile not written.)";

void write(files::replaced_files& files, const profiling::profile& made,
           const std::string& output) {
  const std::string bytes = profiling::encode(made);
  files.commit({bytes});
  fmt::print(stderr, "ashlar: {}: {}, {} births of {} sizes, in {}\n", output,
             counted(made.runs, "run"), format_count(made.births()), made.pools.size(),
             format_bytes(bytes.size()));
  if (made.left_out > 0) {
    fmt::print(stderr, "ashlar: {} requests are too large for a pool and are left out\n",
               format_count(made.left_out));
  }
}

std::vector<std::string> inputs_of(const profile_options& options) {
  std::vector<std::string> inputs = options.inputs;
  if (!options.list.empty()) {
    std::istringstream lines(files::read_input(options.list));
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) inputs.push_back(line);
  }
  if (inputs.empty())
    throw command_error(status_usage, "tune profile: no trace or profile is named");
  return inputs;
}

// Effects: writes the profile whole or not at all, and says on standard error what it is of.
// Returns: the exit status. Throws: command_error, trace_error.
int profile_command(const profile_options& options) {
  const std::vector<std::string> inputs = inputs_of(options);
  std::vector<std::string> traces;
  for (const std::string& path : inputs)
    if (!profiling::is_profile(path)) traces.push_back(path);
  files::replaced_files files(traces);  // a profile is read before it is replaced
  require_replaceable(options.output, profiling::profile_magic, "profile");
  files.prepare("-o", options.output);
  profiling::profile all;
  {
    progress_line line;
    for (std::size_t n = 0; n < inputs.size(); ++n) {
      line.tell("merging", static_cast<double>(n) / static_cast<double>(inputs.size()));
      if (std::ranges::find(traces, inputs[n]) == traces.end())
        merge(all, profiling::read_profile(inputs[n]));
      else
        merge(all, profiling::profile_of(*open_trace(inputs[n])));
    }
  }
  write(files, all, options.output);
  return 0;
}

}  // namespace

void add_tune_profile(command_parser& to) {
  command& profile =
      to.add({"tune-profile", "What tune needs of traces and profiles, in a small file",
              "-o PROFILE TRACE...", profile_footer});
  const auto with = std::make_shared<profile_options>();
  profile.further_arguments("TRACE", with->inputs, "What ashlar record or tune profile wrote");
  profile.file("--list", with->list, "Names of more of them, one a line");
  profile.output(with->output, "The profile of all").required();
  profile.does([with] { return profile_command(*with); });
}

}  // namespace ashlar::cli
