// tools/cli/commands/report.cpp: `ashlar report`: one page about one run. Layer: cli.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/call_sites.hpp"
#include "tools/cli/call_times.hpp"
#include "tools/cli/chosen_trace.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/debug_hints.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/finding_report.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/files.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/findings/finder.hpp"
#include "tools/report/attachments.hpp"
#include "tools/report/html_page.hpp"
#include "tools/report/trace_data.hpp"
#include "tools/trace/call_names.hpp"

namespace ashlar::cli {
namespace {

struct report_options {
  std::string trace;
  std::string process;  // of a folder
  std::string pools;    // of `ashlar tune`; empty: none
  std::string compare;  // of `ashlar compare --json`; empty: none
  std::string replay;   // of `ashlar replay --json`; empty: none
  std::string output;   // empty: report.html, but nothing with `json`
  bool json = false;    // print the page's data
};

constexpr const char* report_footer =
    R"(The page needs nothing beside it: it loads no file, and asks no network. Of a folder it has a table
of all processes, and the figures of the 12 that allocated most, to choose from.

Examples:
  ashlar report run.atrace -o run.html
  ashlar report run.atrace --pools pools.json --compare compare.json
  ashlar report build.atree -o build.html
  ashlar report run.atrace --json | jq .peak)";

constexpr unsigned report_schema = 1;

nlohmann::json report_data(const report_options& options, const std::string& trace) {
  report::trace_request request{
      .file = trace, .chosen = {}, .names_of = {}, .site_of = site_for, .also = {}};
  nlohmann::json pools;
  nlohmann::json compare;
  nlohmann::json replay;
  if (!options.pools.empty()) {
    report::chosen_pools read = report::read_pools(files::read_input(options.pools), options.pools);
    request.chosen = std::move(read.classes);
    pools = std::move(read.about);
  }
  if (!options.compare.empty())
    compare = report::read_comparison(files::read_input(options.compare), options.compare);
  if (!options.replay.empty())
    replay = report::read_replay(files::read_input(options.replay), options.replay);
  const auto reader = open_trace(trace);
  trace::call_names calls(*reader);
  request.names_of = [&](const trace::stack_definition& stack) { return calls.of(stack); };
  findings::finder finder(reader->stacks(), request.names_of);
  call_timer timer;
  request.also = [&](const trace::step& s) {
    finder.count(s);
    timer.count(s);
  };
  nlohmann::json data = report::trace_data(*reader, request);
  if (!reader->stacks().empty()) {
    const findings::findings_of_run found = finder.findings();
    data["findings"] = findings_json(found, take_time(found) ? timer.measure() : std::nullopt);
  } else {
    data["findings"] = nullptr;
  }
  tell_missing_names(calls.lost(), {});
  data["ashlar"] = ASHLAR_CLI_VERSION;
  data["report"] = "trace";
  data["schema"] = report_schema;
  data["pools"] = std::move(pools);
  data["compare"] = std::move(compare);
  data["replay"] = std::move(replay);
  return data;
}

// So many processes of a folder have a page: those that allocated most.
constexpr std::size_t pages_max = 12;

// Returns: what the page of a whole tree shows: the processes, and the data of the chosen one, which
// comes first, and of others.
nlohmann::json tree_data(const report_options& options, const chosen_trace& chosen) {
  if (!options.pools.empty() || !options.compare.empty() || !options.replay.empty())
    throw input_error(
        fmt::format("--pools, --compare and --replay are of one process: name its trace, as '{}'",
                    chosen.path));
  std::vector<std::size_t> places = places_by_bytes(*chosen.tree);
  places.erase(std::find(places.begin(), places.end(), chosen.place));
  places.insert(places.begin(), chosen.place);
  places.resize(std::min(places.size(), pages_max));
  nlohmann::json pages = nlohmann::json::array();
  for (const std::size_t place : places) {
    const recorded_process& p = chosen.tree->processes[place];
    if (!p.trace.empty())
      pages.push_back(report_data(options, fmt::format("{}/{}", chosen.folder, p.trace)));
  }
  nlohmann::json tree = index_json(*chosen.tree);
  tree["folder"] = chosen.folder;
  return {{"ashlar", ASHLAR_CLI_VERSION},
          {"report", "tree"},
          {"schema", report_schema},
          {"tree", std::move(tree)},
          {"pages", std::move(pages)}};
}

// Effects: writes the page, the data on standard output. Throws: command_error, status_usage for
// whatever cannot be read.
int report_command(const report_options& options) {
  const std::string output =
      options.output.empty() && !options.json ? "report.html" : options.output;
  return with_trace_errors([&] {
    const chosen_trace chosen = choose_trace(options.trace, options.process);
    files::replaced_files files({chosen.path, options.pools, options.compare, options.replay});
    if (!output.empty()) files.prepare("-o", output);
    nlohmann::json data;
    try {
      data = chosen.tree ? tree_data(options, chosen) : report_data(options, chosen.path);
    } catch (const report::attachment_error& error) {
      throw input_error(error.what());
    }
    if (options.json) fmt::print("{}\n", files::json_text(data, 1));
    if (output.empty()) return 0;
    const std::string page = report::html_page(data);
    files.commit({page});
    fmt::print(stderr, "ashlar report: {} ({})\n", output, format_bytes(page.size()));
    return 0;
  });
}

}  // namespace

void add_report(command_parser& to) {
  command& report = to.add({"report", "One page about a trace: charts, tables, call sites",
                            "[OPTIONS] TRACE", report_footer});
  const auto with = std::make_shared<report_options>();
  report.argument("TRACE", with->trace, "What ashlar record wrote: a file, or a folder");
  report.value("--process", "NAME", with->process, process_help);
  report.output(with->output, "The page (default: report.html)");
  report.file("--pools", with->pools, "The classes that ashlar tune chose (JSON)");
  report.file("--compare", with->compare, "Several allocators, by ashlar compare --json");
  report.file("--replay", with->replay, "The trace on several allocators, by ashlar replay --json");
  report.flag("--json", with->json, "Print the page's data; the page itself only with -o");
  report.does([with] { return report_command(*with); });
}

}  // namespace ashlar::cli
