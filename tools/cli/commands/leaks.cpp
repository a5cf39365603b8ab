// tools/cli/commands/leaks.cpp: `ashlar leaks`: what a program has lost or still holds at its end, by
// call site. Layer: cli.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/chosen_trace.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/debug_hints.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/memory_report.hpp"
#include "tools/cli/recorded_program.hpp"
#include "tools/cli/results.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_files.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/files.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/report/site_rows.hpp"
#include "tools/trace/file_recorder.hpp"

namespace ashlar::cli {
namespace {

struct leak_options {
  std::vector<std::string> command;
  std::string trace;    // instead of a program
  std::string process;  // of a folder
  std::string output;   // the trace that is kept; empty: none
  std::string json_path;
  std::uint32_t stack_depth = 64;
  std::uint64_t rows = 20;
  std::optional<std::uint64_t> fail_above;
  bool children = false;  // the processes that the program starts, too
  bool all = false;       // also what a pointer leads to
  bool full = false;      // with all calls
  std::string format;     // instead of our own JSON; empty: none
};

constexpr const char* leaks_footer =
    R"(It lists what is lost, the most bytes first, with the calls that asked for it: no pointer leads there
when the program exits. What a program still keeps is in one line; --all lists that, too. A trace that
'ashlar record' or -o wrote knows the same of its process. The program's standard streams are its own.
The list is on standard error; of --trace it is on standard output.

Examples:
  ashlar leaks -- ./server --once
  ashlar leaks --all -- ./server --once
  ashlar leaks --fail-above 64KiB --json=leaks.json -- ./tests
  ashlar leaks --trace run.atrace
  ashlar leaks --for github -- ./tests
  ashlar leaks --trace build.atree --process cc1plus

Exit status: the program's; where a signal killed it, ashlar dies by that signal, too. 1 where the
program's is 0 and of a process more is listed than --fail-above, or it was not recorded. Of
--trace: 0, or 1 above the limit; 2 for what is no trace.)";

constexpr const char* nobody_looked =
    "the process did not end by exit, or was recorded without the search for what is lost";
constexpr const char* not_listed =
    "only the first process was examined (leaks --children examines all)";

// What a process held.
struct held_memory {
  std::string text;
  nlohmann::json json;
  std::uint64_t bytes = 0;                 // of what is listed
  bool is_unreachable = false;             // what is listed
  std::vector<std::string> without_lines;  // programs and libraries
  std::vector<trace::call_names::lost_file> lost;
};

std::string blocks_text(std::uint64_t bytes, std::uint64_t blocks) {
  return fmt::format("{} in {}", format_bytes(bytes), counted(blocks, "block"));
}

// Throws: trace_error.
held_memory held_in(const std::string& path, const leak_options& options) {
  using namespace trace::header_name;
  const auto reader = open_trace(path);
  trace::trace_summary summary = trace::summarise(*reader, 2);
  const std::optional<trace::exit_look>& look = summary.looked_at_exit;
  const bool tells_apart = !options.all && look && look->failure.empty();
  const held_figures of = tells_apart ? unreachable_figures : held_at_end;
  trace::call_names names(*reader);
  std::vector<call_site> sites =
      call_sites(*reader, summary.stacks, names, of.bytes, std::numeric_limits<std::size_t>::max());
  held_memory held;
  trace::lost_blocks listed{0, summary.live_blocks, summary.live_bytes};
  if (tells_apart) listed = trace::sum_of(look->lost);
  held.bytes = listed.bytes;
  held.is_unreachable = tells_apart;
  const std::vector<std::string> words = words_of_arguments(summary.of_end.get(arguments));
  const std::string process = printable(reader->header().get(pid));
  held.json = {{"pid", reader->header().number(pid, 0)},
               {"program", std::string(summary.of_end.get(program))},
               {"arguments", words},
               {"bytes", summary.live_bytes},
               {"blocks", summary.live_blocks},
               {"call_sites", call_sites_json(sites)}};
  for (std::size_t i = 0; i < sites.size(); ++i)
    held.json["call_sites"][i]["site"] = report::site_json(site_for(sites[i].calls));
  if (tells_apart) {
    held.json["unreachable_bytes"] = listed.bytes;
    held.json["unreachable_blocks"] = listed.blocks;
    for (std::size_t i = 0; i < sites.size(); ++i) {
      held.json["call_sites"][i]["unreachable_bytes"] = sites[i].figures.unreachable_bytes;
      held.json["call_sites"][i]["unreachable_blocks"] = sites[i].figures.unreachable_blocks;
    }
  }
  name_mappings(summary, *reader, names);
  const report::memory_rows rows = report::memory_rows_of(summary.memory, summary.of_peak);
  held.json["memory"] = memory_json(
      summary.memory, rows,
      static_cast<double>(summary.memory.time - std::min(summary.memory.time, summary.first_time)) /
          static_cast<double>(reader->ticks_per_second()));
  if (const std::string line = memory_line(summary.memory, summary.of_peak); !line.empty())
    held.text = "ashlar: " + line;
  held.text += fmt::format("ashlar: {}{}{}: ", shortened(shell_quoted(words), screen_columns),
                           process.empty() ? "" : ", process ", process);
  if (summary.live_blocks == 0) {
    held.text += "nothing is held at the end\n";
    return held;
  }
  held.text +=
      fmt::format("{} held at the end", blocks_text(summary.live_bytes, summary.live_blocks));
  if (tells_apart) {
    held.text += listed.blocks == 0 ? ", and a pointer leads to each"
                                    : fmt::format(", {} of it unreachable",
                                                  blocks_text(listed.bytes, listed.blocks));
  }
  held.text += sites.empty() ? "\n" : ", the most bytes first:\n";
  std::uint64_t bytes = listed.bytes;
  std::uint64_t blocks = listed.blocks;
  const std::size_t all = sites.size();
  if (sites.size() > options.rows) sites.resize(static_cast<std::size_t>(options.rows));
  for (const call_site& site : sites) {
    bytes -= site.figures.*of.bytes;
    blocks -= site.figures.*of.blocks;
  }
  held.text += render_held(sites, options.full, of);
  if (sites.size() < all)
    held.text += fmt::format("  {} of {} more calls (--rows {} lists them)\n",
                             blocks_text(bytes, blocks), format_count(all - sites.size()), all);
  else if (blocks != 0)
    held.text += fmt::format("  {} of calls that were not recorded{}\n", blocks_text(bytes, blocks),
                             all == 0 ? " (record without --no-stacks)" : "");
  if (tells_apart && listed.blocks != summary.live_blocks)
    held.text += fmt::format(
        "  {} that a pointer leads to (--all lists it)\n",
        blocks_text(summary.live_bytes - listed.bytes, summary.live_blocks - listed.blocks));
  if (!options.all && !tells_apart)
    held.text += fmt::format("ashlar: all that is held is listed: {}\n",
                             look ? look->failure : nobody_looked);
  held.without_lines = files_without_lines(sites);
  held.lost = names.lost();
  return held;
}

struct leaks {
  std::string text;
  nlohmann::json processes = nlohmann::json::array();
  std::uint64_t most_bytes = 0;  // that are listed of one process
  const char* word = "held";     // what these are
  std::size_t not_listed = 0;    // processes
  std::vector<std::string> without_lines;
  std::vector<trace::call_names::lost_file> lost;

  void add(held_memory held) {
    text += held.text;
    processes.push_back(std::move(held.json));
    if (held.bytes > most_bytes) {
      most_bytes = held.bytes;
      word = held.is_unreachable ? "unreachable" : "held";
    }
    // Processes of one program miss the same.
    for (std::string& path : held.without_lines)
      if (std::ranges::find(without_lines, path) == without_lines.end())
        without_lines.push_back(std::move(path));
    for (auto& file : held.lost)
      if (std::ranges::find(lost, file) == lost.end()) lost.push_back(std::move(file));
  }
};

// The line of a call site is that of the program.
std::vector<result> results_of(const leaks& found) {
  std::vector<result> results;
  for (const nlohmann::json& process : found.processes) {
    for (const nlohmann::json& site : process["call_sites"]) {
      const std::string which = site.contains("unreachable_bytes") ? "unreachable" : "";
      const auto sum = [&](const char* what) {
        return site[which.empty() ? fmt::format("{}_at_end", what)
                                  : fmt::format("{}_{}", which, what)]
            .get<std::uint64_t>();
      };
      result one{which.empty() ? "held" : which, "warning", {}, site["site"]["source"]};
      one.message =
          fmt::format("{} {} at the end, asked for by {}", blocks_text(sum("bytes"), sum("blocks")),
                      which.empty() ? "held" : "that no pointer leads to,",
                      site["site"]["name"].get<std::string>());
      results.push_back(std::move(one));
    }
  }
  return results;
}

std::string json_text_of(const leaks& found, const leak_options& options) {
  if (!options.format.empty()) return results_text(options.format, "leaks", results_of(found));
  return files::json_text({{"ashlar", ASHLAR_CLI_VERSION},
                           {"schema", 1},
                           {"report", "leaks"},
                           {"processes", found.processes}},
                          2) +
         "\n";
}

// Returns: whether more is held than may be. Effects: says so.
bool is_too_much(const leaks& found, const leak_options& options) {
  if (!options.fail_above || found.most_bytes <= *options.fail_above) return false;
  fmt::print(stderr, "ashlar: {} {} at the end, more than {} (--fail-above)\n",
             format_bytes(found.most_bytes), found.word, format_bytes(*options.fail_above));
  return true;
}

command_end leaks_of_trace(const leak_options& options) {
  files::replaced_files files({options.trace});
  if (!options.json_path.empty()) files.prepare(option_of_path(options.format), options.json_path);
  const chosen_trace chosen = choose_trace(options.trace, options.process);
  leaks found;
  found.add(held_in(chosen.path, options));
  if (chosen.tree && options.children)
    for (const recorded_process& p : chosen.tree->processes)
      if (p.pid != chosen.process().pid && p.events != 0)
        found.add(held_in(fmt::format("{}/{}", chosen.folder, p.trace), options));
  // The file first: a reader who has seen enough ends this process (leaks ... | head).
  if (!options.json_path.empty()) files.commit({json_text_of(found, options)});
  if (chosen.tree) print_beside(files, render_tree(*chosen.tree, chosen.folder, options.rows));
  print_beside(files, found.text);
  tell_missing_names(found.lost, found.without_lines);
  return {is_too_much(found, options) ? status_failed : 0, {}};
}

// Effects: adds what each process held, the program's own first. Its trace is kept where that was
// asked for.
leaks leaks_of(const trace::file_recorder& recorder, trace_files& files, std::uint32_t own,
               const leak_options& options) {
  leaks found;
  auto results = recorder.results();
  std::ranges::sort(results, [&](const auto& a, const auto& b) {
    return std::pair(a.pid != own, a.pid) < std::pair(b.pid != own, b.pid);
  });
  for (const auto& result : results) {
    const trace_files::written written = files.commit(result.pid, own);
    if (options.children || result.pid == own)
      found.add(held_in(written.path, options));
    else
      ++found.not_listed;
    if (options.output.empty()) continue;
    fmt::print(stderr, "ashlar: {}: {} events of process {}\n", written.path,
               format_count(result.events), result.pid);
  }
  return found;
}

command_end leaks_of_program(const leak_options& options) {
  files::replaced_files json_file;
  if (!options.json_path.empty())
    json_file.prepare(option_of_path(options.format), options.json_path);
  const files::scratch_directory scratch;
  trace_files files(options.output.empty() ? scratch.path() + "/run.atrace" : options.output);
  recorded_program program(options.command);
  std::uint32_t own = 0;
  const auto look = [&](const trace::exiting_process& process, const std::function<void()>& sign) {
    if (!options.children && process.pid != own) return trace::exit_look{not_listed, {}};
    return search_at_exit(process, files.path_of(process.pid), sign);
  };
  trace::file_recorder recorder(
      {options.stack_depth, ASHLAR_CLI_VERSION, fmt::format("stacks={}", options.stack_depth),
       files.recording()},
      [&](std::uint32_t pid) { return files.open(pid); },
      options.all ? trace::look_at_exit() : look);
  const measure::child_outcome outcome =
      program.run(recorder, [&own](std::uint32_t pid) { own = pid; });
  int status = outcome.wait_status;
  if (!program.failure().empty()) return {0, fail_beside(status, program.failure())};
  leaks found;
  try {
    found = leaks_of(recorder, files, own, options);
  } catch (const std::exception& error) {
    return {0, fail_beside(status, reason_of(error))};
  }
  std::fputs(found.text.c_str(), stderr);
  tell_missing_names(found.lost, found.without_lines);
  if (found.not_listed != 0)
    fmt::print(stderr, "ashlar: of {} nothing is listed (--children lists them)\n",
               counted(found.not_listed, "more process", "es"));
  if (WIFSIGNALED(status))
    fmt::print(stderr, "ashlar: the program did not end by itself ({}): it held this then\n",
               measure::describe_wait_status(status));
  status = program.end(has_process(recorder.results(), outcome), "list of what is held", outcome);
  if (is_too_much(found, options) && status == 0) status = W_EXITCODE(status_failed, 0);
  if (!options.json_path.empty())
    status = json_file.commit_beside(status, {json_text_of(found, options)});
  return {0, status};
}

}  // namespace

void add_leaks(command_parser& to) {
  command& leaks = to.add({"leaks", "List what a program has lost at its end, by call site",
                           "[OPTIONS] -- PROGRAM [ARGUMENTS...]", leaks_footer});
  const auto with = std::make_shared<leak_options>();
  leaks
      .value("--fail-above", "SIZE", with->fail_above,
             "Exit status 1 where more bytes are listed of a process (0, 64KiB, ...)")
      .in_bytes();
  leaks.json(with->json_path, "All call sites as JSON, on standard output or into FILE");
  leaks.value("--for", "FORMAT[=FILE]", with->format, results_help);
  leaks.flag("--all", with->all, "List all that it holds, also what a pointer leads to");
  leaks.flag("--full", with->full, all_calls_help);
  leaks.flag("--children", with->children, "List the processes that it starts, too");
  leaks.value("--rows", "N", with->rows, "So many call sites (default 20)");
  const option depth =
      leaks.value("--depth", "N", with->stack_depth, "At most N calls of each (default 64)")
          .within(1, 64);
  const option output = leaks.output(with->output, "Keep the trace, for ashlar report");
  leaks
      .file("--trace", with->trace,
            "Run nothing: read what ashlar record wrote, a file or a folder")
      .excludes(depth)
      .excludes(output);
  leaks.value("--process", "NAME", with->process, process_help);
  leaks.takes_program();
  leaks.ends([&leaks, with]() -> command_end {
    take_format(with->format, with->json_path);
    if (!with->trace.empty()) {
      if (leaks.has_program())
        throw command_error(status_usage, "--trace runs nothing; a program is one too many");
      command_end end;
      with_trace_errors([&] {
        end = leaks_of_trace(*with);
        return 0;
      });
      return end;
    }
    if (!with->process.empty())
      throw command_error(status_usage, "--process chooses from the folder that --trace names");
    if (with->output == "-") throw command_error(status_usage, no_trace_beside_program);
    if (names_folder(with->output))
      throw command_error(
          status_usage,
          "-o of leaks names a file: 'ashlar record -o NAME.atree' writes a folder, "
          "which --trace reads");
    with->command = leaks.program();
    return leaks_of_program(*with);
  });
}

}  // namespace ashlar::cli
