// tools/cli/profile_options.cpp: the words of `ashlar profile` and `ashlar merge`. Layer: cli.
#include <memory>

#include "tools/cli/commands.hpp"
#include "tools/cli/profile_command.hpp"

namespace ashlar::cli {

namespace {

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
