// tools/cli/commands/check_program.cpp: `ashlar check -- PROGRAM` and `ashlar check --log FILE`.
// Layer: cli.
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>

#include "tools/cli/commands/check.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/fault_report.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/files.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/measure/allocator_list.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/measure/program_file.hpp"

namespace ashlar::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* faults_end = ".faults";
constexpr const char* statistics_end = ".statistics";

// Faults of each process that ran, by its number.
std::map<std::string, std::string> faults_in(const std::string& folder) {
  std::map<std::string, std::string> logs;
  std::error_code is_gone;  // the program may have removed it
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, is_gone))
    if (entry.path().extension() == faults_end)
      logs[entry.path().stem().string()] = files::read_input(entry.path().string());
  return logs;
}

void tell_what_is_missing(const named_faults& named) {
  if (!named.has_frames || named.has_lines) return;
  if (trace::source_lines::reads_lines())
    fmt::print(
        stderr,
        "ashlar: no frame has a line: the files have no debug information (compile with -g, or "
        "install the -dbgsym package)\n");
  else
    fmt::print(stderr,
               "ashlar: this command was built without libdw, so it reads no lines: the addr2line "
               "commands above do (Debian: apt-get install libdw-dev, and build it again)\n");
}

}  // namespace

command_end check_program(const fault_options& options) {
  const std::string program = measure::find_program(options.command.front());
  const std::string library = measure::find_ashlar_library();
  files::replaced_files files({program, library});
  if (!options.json_path.empty()) files.prepare("--json", options.json_path);

  const measure::signal_watch watch;
  const files::scratch_directory scratch;
  std::vector<std::pair<std::string, std::string>> changes{
      {"ASHLAR_CHECK", "full"},
      {"ASHLAR_FAULT_FORMAT", "json"},
      {"ASHLAR_FAULT_FILE", scratch.path() + "/%p" + faults_end},
      {"ASHLAR_STATS_FILE", scratch.path() + "/%p" + statistics_end}};
  if (options.goes_on) changes.emplace_back("ASHLAR_FAULT", "continue");
  const measure::child_outcome outcome =
      measure::run_preloaded(library, program, options.command, std::move(changes), scratch, watch);

  trace::source_lines sources;
  named_faults all;
  const std::string own = fmt::format("{}", outcome.pid);
  for (const auto& [process, log] : faults_in(scratch.path())) {
    const named_faults named = name_frames(log, sources);
    all.faults += named.faults;
    all.has_frames = all.has_frames || named.has_frames;
    all.has_lines = all.has_lines || named.has_lines;
    all.json += named.json;
    all.text += fmt::format("\nashlar: {} fault{} in {}process {}:\n{}", named.faults,
                            named.faults == 1 ? "" : "s", process == own ? "" : "another process, ",
                            process, named.text);
  }
  std::fputs(all.text.c_str(), stderr);
  tell_what_is_missing(all);

  int status = outcome.wait_status;
  std::error_code none;
  const bool has_served = fs::exists(scratch.path() + "/" + own + statistics_end, none);
  const measure::preload_effect effect = measure::effect_of_preload(program, library);
  if (all.faults == 0 && !has_served && effect != measure::preload_effect::works) {
    fmt::print(stderr, "ashlar: '{}' did not run on ashlar, so nothing was checked: {}\n", program,
               measure::describe(effect));
    if (status == 0) status = W_EXITCODE(status_failed, 0);
  } else if (all.faults == 0) {
    fmt::print(stderr, "ashlar: {}: no fault was seen{}\n", shell_quoted(options.command),
               has_served || WIFSIGNALED(status)
                   ? ""
                   : "; it left by _exit, so blocks that were never freed were not looked at");
  } else if (status == 0) {
    status = W_EXITCODE(status_failed, 0);
  }
  if (!options.json_path.empty()) status = files.commit_beside(status, {all.json});
  return {0, status};
}

command_end check_log(const fault_options& options) {
  files::replaced_files files({options.log});
  if (!options.json_path.empty()) files.prepare("--json", options.json_path);
  trace::source_lines sources;
  const named_faults named = name_frames(files::read_input(options.log), sources);
  std::fputs(named.text.c_str(), stdout);
  tell_what_is_missing(named);
  const int status = named.faults == 0 ? 0 : status_failed;
  if (options.json_path.empty()) return {status, {}};
  files.commit({named.json});
  return {status, {}};
}

}  // namespace ashlar::cli
