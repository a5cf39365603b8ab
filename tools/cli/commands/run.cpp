// tools/cli/commands/run.cpp: `ashlar run`: a program on ashlar's heap, then the report of its
// pools. Layer: cli.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/pool_report.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/files.hpp"
#include "tools/files/json.hpp"
#include "tools/files/process_status.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/files/text.hpp"
#include "tools/measure/allocator_list.hpp"
#include "tools/measure/child_process.hpp"
#include "tools/measure/program_file.hpp"

namespace ashlar::cli {
namespace fs = std::filesystem;

namespace {

struct run_options {
  std::vector<std::string> command;
  std::string json_path;  // empty: none
  bool full_report = false, exact = false, hardened = false;
};

constexpr const char* run_footer =
    R"(The program's standard streams are its own; the report goes to standard error.

Examples:
  ashlar run -- python3 -c 'print(sum(range(10**6)))'
  ashlar run --exact --stats -- ./parser big.json
  ashlar run --json=pools.json -- make -j2 2> report.txt

Environment: ASHLAR_MALLOC_LIB is the path of the library to preload (default: the one of this
build or installation). ASHLAR_PURGE_DELAY_MS and ASHLAR_KEEP_BYTES are passed on to it.

Exit status: the program's; where a signal killed it, ashlar dies by that signal, too. 1 where the
program's is 0 and FILE could not be written in the end.)";

struct collected_statistics {
  std::optional<pool_statistics> own;   // of the program itself
  bool is_of_signal = false;            // these are of the moment when a signal ended it
  std::vector<pool_statistics> others;  // of processes that it started, largest peak first
  std::string damage;                   // why the program's own file could not be read
  std::vector<std::string> complaints;  // the same of the others
};

constexpr const char* at_exit = ".json";     // 4711.json, of a process that left by exit
constexpr const char* at_signal = ".stats";  // of one that SIGINT or SIGTERM ended

// Returns: what a process left. Throws: command_error.
pool_statistics read_statistics(const fs::path& path, const std::string& program) {
  const bool is_of_exit = path.extension() == at_exit;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string process = path.stem().string();
  const std::string origin = fmt::format("what process {} wrote at its {}", process,
                                         is_of_exit ? "exit" : "end by a signal");
  if (is_of_exit) return parse_pool_statistics(bytes, origin);
  const auto number = static_cast<pid_t>(files::number_in(process).value_or(0));
  return pool_statistics_of(bytes, number, program, origin);
}

collected_statistics collect(const std::string& folder, pid_t pid, const std::string& program) {
  collected_statistics collected;
  const std::string own = fmt::format("{}", pid);
  std::error_code is_gone;  // the program may have removed it: then there is nothing
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, is_gone)) {
    const fs::path& path = entry.path();
    const bool is_of_signal = path.extension() == at_signal;
    if (!is_of_signal && path.extension() != at_exit) continue;
    const bool is_own = path.stem() == own;
    try {
      pool_statistics statistics =
          read_statistics(path, is_own ? fs::path(program).filename().string() : "a child");
      if (is_own) {
        collected.own = std::move(statistics);
        collected.is_of_signal = is_of_signal;
      } else {
        collected.others.push_back(std::move(statistics));
      }
    } catch (const command_error& error) {
      if (is_own) {
        collected.damage = error.what();
      } else {
        collected.complaints.emplace_back(error.what());
      }
    }
  }
  std::ranges::sort(collected.others, [](const auto& a, const auto& b) {
    return a.total.peak_bytes_in_use > b.total.peak_bytes_in_use;
  });
  return collected;
}

// The most threads that a process had at one time, as far as looks at it tell.
class thread_watch {
 public:
  // Returns: how long to wait until the next look.
  std::chrono::nanoseconds look(pid_t pid) {
    most_ = std::max(most_, files::number_in(files::status_of(pid, "Threads")).value_or(0));
    return std::chrono::milliseconds(look_ms);
  }
  [[nodiscard]] std::uint64_t most() const { return most_; }
  static constexpr int look_ms = 10;

 private:
  std::uint64_t most_ = 1;
};

std::string why_missing(const std::string& program, const std::string& library, int wait_status) {
  const measure::preload_effect effect = measure::effect_of_preload(program, library);
  if (effect != measure::preload_effect::works) {
    return fmt::format("'{}' did not run on ashlar: {}", program, measure::describe(effect));
  }
  if (WIFSIGNALED(wait_status)) {
    return fmt::format("the program was {} before it could write its statistics",
                       measure::describe_wait_status(wait_status));
  }
  return "the program wrote no statistics: it left by _exit or by executing another program, "
         "cleared "
         "its environment, or could not load the library (the loader then says so above)";
}

nlohmann::json process_json(const measure::child_outcome& outcome) {
  nlohmann::json figures = measure::usage_json(outcome);
  figures["pid"] = outcome.pid;
  return figures;
}

nlohmann::json report_json(const run_options& options, const std::string& library,
                           const measure::child_outcome& outcome,
                           const collected_statistics& collected, const thread_watch& threads,
                           const std::string& missing) {
  nlohmann::json report{
      {"ashlar", ASHLAR_CLI_VERSION}, {"schema", 1},        {"report", "run"},
      {"command", options.command},   {"library", library}, {"process", process_json(outcome)}};
  const bool exited = WIFEXITED(outcome.wait_status);
  report["exit_status"] =
      exited ? nlohmann::json(WEXITSTATUS(outcome.wait_status)) : nlohmann::json();
  report["signal"] = exited ? nlohmann::json() : nlohmann::json(WTERMSIG(outcome.wait_status));
  report["most_threads_seen"] = threads.most();
  report["statistics_of"] =
      collected.own ? nlohmann::json(collected.is_of_signal ? "signal" : "exit") : nlohmann::json();
  report["statistics"] = collected.own ? collected.own->document : nlohmann::json();
  if (!missing.empty()) report["statistics_missing"] = missing;
  report["other_processes"] = nlohmann::json::array();
  for (const pool_statistics& other : collected.others) {
    report["other_processes"].push_back(other.document);
  }
  if (!collected.complaints.empty()) report["unreadable"] = collected.complaints;
  return report;
}

std::string report_text(const run_options& options, const measure::child_outcome& outcome,
                        const collected_statistics& collected, const thread_watch& threads,
                        const std::string& missing) {
  const glyphs set = reader_glyphs();
  const report_detail detail = options.full_report ? report_detail::full : report_detail::summary;
  std::string text = fmt::format("\nashlar: {}\n", shell_quoted(options.command));
  text += fmt::format("  {}; {}\n", measure::describe_wait_status(outcome.wait_status),
                      render_process_figures(outcome));
  text += fmt::format("  at most {} at one time, sampled every {} ms\n",
                      counted(threads.most(), "thread"), thread_watch::look_ms);
  if (collected.is_of_signal) text += "  the pools are those of the moment when the signal came\n";
  if (collected.own) {
    text += '\n';
    text += render_pool_report(*collected.own, detail, set);
  } else {
    text += fmt::format("  no pool report: {}\n", missing);
  }
  if (!collected.others.empty()) {
    std::uint64_t peaks = 0;
    for (const pool_statistics& other : collected.others) peaks += other.total.peak_bytes_in_use;
    const pool_statistics& largest = collected.others.front();
    text += fmt::format(
        "  others     {} that it started ran on ashlar too; their peaks sum to {}\n"
        "             (the largest: {}, process {}, {})\n",
        counted(collected.others.size(), "other process", "es"), format_bytes(peaks),
        largest.command, largest.pid, format_bytes(largest.total.peak_bytes_in_use));
    if (!collected.own) {
      text += fmt::format("\n  the pools of {}, process {}:\n\n", largest.command, largest.pid);
      text += render_pool_report(largest, detail, set);
    }
  }
  for (const std::string& complaint : collected.complaints)
    text += fmt::format("  {}\n", complaint);
  return text;
}

// Effects: runs the program with this process's own standard streams, prints the report on standard
// error. Returns: the program's wait status, for end_like(). Throws: command_error.
int run_command(const run_options& options) {
  const std::string program = measure::find_program(options.command.front());
  const std::string library = measure::find_ashlar_library();
  files::replaced_files files({program, library});
  if (!options.json_path.empty()) files.prepare("--json", options.json_path);

  const measure::signal_watch watch;
  const files::scratch_directory scratch;
  const std::string at_signal_library = measure::find_at_signal_library();
  std::vector<std::pair<std::string, std::string>> changes{
      {"ASHLAR_STATS_FILE", scratch.path() + "/%p.json"},
      {"ASHLAR_AT_SIGNAL", scratch.path() + "/"},
      {"LD_PRELOAD",
       measure::preload_value(fmt::format("{}:{}", measure::preloadable_name(library, scratch),
                                          measure::preloadable_name(at_signal_library, scratch)))}};
  if (options.exact) changes.emplace_back("ASHLAR_STATS", "exact");
  if (options.hardened) changes.emplace_back("ASHLAR_HARDEN", "1");
  thread_watch threads;
  measure::child_request request;
  request.file = program;
  request.arguments = options.command;
  request.environment = measure::environment_with(changes);
  request.meanwhile = [&](pid_t pid) { return threads.look(pid); };
  const measure::child_outcome outcome = measure::run_child(request, watch);
  measure::require_started(outcome, program);

  const collected_statistics collected = collect(scratch.path(), outcome.pid, program);
  std::string missing;
  if (!collected.own) {
    missing = collected.damage.empty() ? why_missing(program, library, outcome.wait_status)
                                       : collected.damage;
  }
  std::fputs(report_text(options, outcome, collected, threads, missing).c_str(), stderr);
  if (options.json_path.empty()) return outcome.wait_status;
  return files.commit_beside(
      outcome.wait_status,
      {files::json_text(report_json(options, library, outcome, collected, threads, missing), 2) +
       "\n"});
}

}  // namespace

void add_run(command_parser& to) {
  command& run = to.add({"run", "Run a program on ashlar's heap, then report its pools",
                         "[OPTIONS] -- PROGRAM [ARGUMENTS...]", run_footer});
  const auto with = std::make_shared<run_options>();
  run.json(with->json_path, "The report as JSON, too, on standard output or into FILE");
  run.flag("--stats", with->full_report, "List every block size that was used, with every column");
  const option exact =
      run.flag("--exact", with->exact, "Count every call (slower; sets ASHLAR_STATS=exact)");
  run.flag("--hardened", with->hardened, "Notice more misuses (slower; sets ASHLAR_HARDEN=1)")
      .excludes(exact);
  run.takes_program();
  run.does_as_program([&run, with] {
    with->command = run.program();
    return run_command(*with);
  });
}

}  // namespace ashlar::cli
