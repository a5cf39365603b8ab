// tools/cli/commands/report.cpp: `ashlar report`: one page about one run. Layer: cli.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/debug_hints.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/finding_report.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/files/files.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/findings/call_owner.hpp"
#include "tools/findings/finder.hpp"
#include "tools/report/attachments.hpp"
#include "tools/report/html_page.hpp"
#include "tools/report/trace_data.hpp"
#include "tools/trace/call_names.hpp"

namespace ashlar::cli {
namespace {

struct report_options {
  std::string trace;
  std::string pools;    // of `ashlar tune`; empty: none
  std::string compare;  // of `ashlar compare --json`; empty: none
  std::string replay;   // of `ashlar replay --json`; empty: none
  std::string output;   // empty: report.html, but nothing with `json`
  bool json = false;    // print the page's data
};

constexpr const char* report_footer =
    R"(The page needs nothing beside it: it loads no file, and asks no network.

Examples:
  ashlar report run.atrace -o run.html
  ashlar report run.atrace --pools pools.json --compare compare.json
  ashlar report run.atrace --json | jq .peak)";

constexpr unsigned report_schema = 1;

// The line that the blocks are for. Where the C or C++ library keeps them, the innermost call.
report::call_site site_for(const std::vector<trace::named_call>& calls) {
  if (calls.empty()) return report::innermost_site(calls);
  const trace::named_call& call = calls[findings::owner_of(calls).value_or(0)];
  return {call.name, findings::short_name(findings::function_of(call)), call.place(), call.module};
}

nlohmann::json report_data(const report_options& options) {
  report::trace_request request{
      .file = options.trace, .chosen = {}, .names_of = {}, .site_of = site_for, .also = {}};
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
  const auto reader = open_trace(options.trace);
  trace::call_names calls(*reader);
  request.names_of = [&](const trace::stack_definition& stack) { return calls.of(stack); };
  findings::finder finder(reader->stacks(), request.names_of);
  request.also = [&](const trace::step& s) { finder.count(s); };
  nlohmann::json data = report::trace_data(*reader, request);
  data["findings"] = reader->stacks().empty() ? nlohmann::json() : findings_json(finder.findings());
  tell_missing_names(calls.lost(), {});
  data["ashlar"] = ASHLAR_CLI_VERSION;
  data["report"] = "trace";
  data["schema"] = report_schema;
  data["pools"] = std::move(pools);
  data["compare"] = std::move(compare);
  data["replay"] = std::move(replay);
  return data;
}

// Effects: writes the page, the data on standard output. Throws: command_error, status_usage for
// whatever cannot be read.
int report_command(const report_options& options) {
  const std::string output =
      options.output.empty() && !options.json ? "report.html" : options.output;
  return with_trace_errors([&] {
    files::replaced_files files({options.trace, options.pools, options.compare, options.replay});
    if (!output.empty()) files.prepare("-o", output);
    nlohmann::json data;
    try {
      data = report_data(options);
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
  report.argument("TRACE", with->trace, "What ashlar record wrote");
  report.output(with->output, "The page (default: report.html)");
  report.file("--pools", with->pools, "The classes that ashlar tune chose (JSON)");
  report.file("--compare", with->compare, "Several allocators, by ashlar compare --json");
  report.file("--replay", with->replay, "The trace on several allocators, by ashlar replay --json");
  report.flag("--json", with->json, "Print the page's data; the page itself only with -o");
  report.does([with] { return report_command(*with); });
}

}  // namespace ashlar::cli
