// tools/cli/commands/check.cpp: `ashlar check`: the faults of a program, or of a log. Layer: cli.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/fault_report.hpp"
#include "tools/cli/results.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/files.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/measure/allocator_list.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/measure/program_file.hpp"

namespace ashlar::cli {
namespace fs = std::filesystem;
namespace {

struct fault_options {
  std::vector<std::string> command;
  std::string log;        // what was written before; empty: a program is run
  std::string json_path;  // empty: none
  std::string format;     // instead of objects a line; empty: none
  bool goes_on = false;
};

constexpr const char* fault_footer =
    R"(It runs the program with full checks (ASHLAR_CHECK=full), and prints each fault with the function, file
and line of its call stacks, on standard error. --log does the same for what the library wrote before, on
standard output.

Examples:
  ashlar check -- ./server --once
  ashlar check --continue --json=faults.json -- ./server --once
  ashlar check --log server.log
  ashlar check --for junit=faults.xml -- ./tests

Environment: docs/checks.md has the variables; ASHLAR_CHECK and ASHLAR_FAULT_* are set here.

Exit status: of a program its own, and where a signal killed it, ashlar dies by that signal, too;
1 where it ends with 0 and a fault was found. Of a log: 0 no fault, 1 a fault. 2 something cannot be
read.)";

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

// `lines`: named_faults::json. Returns: the same for other readers, where that is asked for. The place of a fault
// is its first line that is known.
std::string output_of(const std::string& lines, const fault_options& options) {
  if (options.format.empty()) return lines;
  std::vector<result> results;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const nlohmann::json fault = nlohmann::json::parse(line, nullptr, false);
    if (!fault.is_object()) continue;
    result one{fault.value("kind", "fault"), "error", fault.value("message", "a fault"), {}};
    for (const char* const from : {"", "found", "freed", "allocated"}) {
      const nlohmann::json of = *from == '\0' ? fault : fault.value(from, nlohmann::json::object());
      for (const nlohmann::json& frame : of.value("frames", nlohmann::json::array()))
        if (one.source.empty() && frame.contains("source") && frame.contains("line"))
          one.source = fmt::format("{}:{}", frame["source"].get<std::string>(),
                                   frame["line"].get<std::uint64_t>());
    }
    results.push_back(std::move(one));
  }
  return results_text(options.format, "check", results);
}

void tell_what_is_missing(const named_faults& named) {
  if (!named.has_frames || named.has_lines) return;
  fmt::print(
      stderr,
      "ashlar: no frame has a line: the files have no debug information (compile with -g, or "
      "install the -dbgsym package)\n");
}

// Effects: runs the program with full checks; tells its faults on standard error. Returns: how it
// ended; 1 where a fault was found and it ended with 0. Throws: command_error.
command_end check_program(const fault_options& options) {
  const std::string program = measure::find_program(options.command.front());
  const std::string library = measure::find_ashlar_library();
  files::replaced_files files({program, library});
  if (!options.json_path.empty()) files.prepare(option_of_path(options.format), options.json_path);

  const measure::signal_watch watch;
  const files::scratch_directory scratch;
  std::vector<std::pair<std::string, std::string>> changes{
      {"ASHLAR_CHECK", "full"},
      {"ASHLAR_FAULT_FORMAT", "json-only"},
      {"ASHLAR_FAULT_FILE", scratch.path() + "/%p" + faults_end},
      {"ASHLAR_STATS_FILE", scratch.path() + "/%p" + statistics_end}};
  if (options.goes_on) changes.emplace_back("ASHLAR_FAULT", "continue");
  const measure::child_outcome outcome =
      measure::run_preloaded(library, program, options.command, std::move(changes), scratch, watch);

  trace::source_lines sources;
  named_faults all;
  const std::string own = fmt::format("{}", outcome.pid);
  for (const auto& [process, log] : faults_in(scratch.path())) {
    const named_faults named = name_frames(log, sources, stderr);
    all.faults += named.faults;
    all.has_frames = all.has_frames || named.has_frames;
    all.has_lines = all.has_lines || named.has_lines;
    all.json += named.json;
    all.text +=
        fmt::format("{}ashlar: {} in {}process {}\n", named.text, counted(named.faults, "fault"),
                    process == own ? "" : "another process, ", process);
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
  if (!options.json_path.empty())
    status = files.commit_beside(status, {output_of(all.json, options)});
  return {0, status};
}

// Effects: prints the log with the places of its frames. Returns: 0; 1 where it has a fault. Throws:
// command_error.
command_end check_log(const fault_options& options) {
  files::replaced_files files({options.log});
  if (!options.json_path.empty()) files.prepare(option_of_path(options.format), options.json_path);
  trace::source_lines sources;
  const named_faults named = name_frames(files::read_input(options.log), sources, stdout);
  print_beside(files, named.text);
  tell_what_is_missing(named);
  const int status = named.faults == 0 ? 0 : status_failed;
  if (options.json_path.empty()) return {status, {}};
  files.commit({output_of(named.json, options)});
  return {status, {}};
}

}  // namespace

void add_check(command_parser& to) {
  command& check =
      to.add({"check", "Find a program's faults: double frees, overflows, use after free, leaks",
              "[OPTIONS] -- PROGRAM [ARGUMENTS...]\n       ashlar check --log FILE", fault_footer});
  const auto with = std::make_shared<fault_options>();
  const option log =
      check.file("--log", with->log, "What the library wrote of faults, as text or JSON");
  check.json(with->json_path,
             "The faults, too: a JSON object a line, with function, file and line");
  check.value("--for", "FORMAT[=FILE]", with->format, results_help);
  check.flag("--continue", with->goes_on, "The program goes on after faults that allow it")
      .excludes(log);
  check.takes_program();
  check.ends([&check, with]() -> command_end {
    take_format(with->format, with->json_path);
    if (with->log.empty()) {
      with->command = check.program();
      return check_program(*with);
    }
    if (check.has_program())
      throw command_error(status_usage, "check: --log runs nothing; a program is one too many");
    return check_log(*with);
  });
}

}  // namespace ashlar::cli
