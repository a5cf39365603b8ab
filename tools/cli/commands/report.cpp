// tools/cli/commands/report.cpp: `ashlar report`: one page about one run, or its text: the answer,
// then figures. Layer: cli.
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
#include "tools/cli/pin_report.hpp"
#include "tools/cli/profile_report.hpp"
#include "tools/cli/results.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/cli/trace_report.hpp"
#include "tools/files/files.hpp"
#include "tools/files/json.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/findings/call_owner.hpp"
#include "tools/findings/finder.hpp"
#include "tools/findings/pins.hpp"
#include "tools/findings/rules.hpp"
#include "tools/findings/site_history.hpp"
#include "tools/profile/profile_file.hpp"
#include "tools/report/attachments.hpp"
#include "tools/report/html_page.hpp"
#include "tools/report/trace_data.hpp"
#include "tools/sites/growth.hpp"
#include "tools/trace/call_names.hpp"
#include "tools/trace/resident_memory.hpp"
#include "tools/trace/step_counts.hpp"

namespace ashlar::cli {
namespace {

struct report_options {
  std::vector<std::string> traces;  // one
  std::string process;              // of a folder
  std::string pools;                // of `ashlar tune`; empty: none
  std::string replay;               // of `ashlar replay --json`; empty: none
  std::string output;               // empty: report.html, but nothing with `json_path`
  std::string json_path;
  bool text = false;  // instead of a page
  bool full = false;  // the text
  bool interpreter = false;
  bool on_ashlar = false;     // findings are of its places and block sizes, not as recorded
  std::string format;         // instead of our own JSON; empty: none
  std::size_t rows = 10;      // of sizes, call sites and findings
  std::size_t moments = 200;  // of the JSON's figures over time
};

constexpr const char* report_footer =
    R"(The page needs nothing beside it: it loads no file, and asks no network. Of a folder it has a table
of all processes, and the figures of the 12 that had most memory, to choose from.

--text begins with the answer, on one screen: the memory at the peak and what it was, the lines that held
most of it, and what to change. Figures follow, and the findings with their remedies and code. Of a
profile it has figures alone. docs/findings.md has the kinds of findings and their thresholds.

Examples:
  ashlar report run.atrace -o run.html
  ashlar report run.atrace --pools pools.json --replay replay.json
  ashlar report build.atree -o build.html
  ashlar report --text run.atrace
  ashlar report --text --process cc1plus build.atree
  ashlar report --text --json run.atrace | jq .peak
  ashlar report --for github run.atrace
  ashlar report --for benchmark=memory.json run.atrace

Exit status: 0; 2 for a file that is no trace, is damaged, or is of a newer version.)";

findings::rounding rounding_for(const trace::trace_reader& reader, const report_options& options) {
  const findings::rounding recorded =
      findings::rounding_of(reader.header().get(trace::header_name::options));
  if (options.on_ashlar) return findings::rounding::ashlar;
  return recorded == findings::rounding::glibc && !trace::is_served_by_glibc(reader)
             ? findings::rounding::unknown
             : recorded;
}

// What to change, found while another reader of the trace passes its steps on.
class finding_pass {
 public:
  finding_pass(const trace::trace_reader& reader, const report::names_of_stack& names_of,
               const report_options& options)
      : interpreter_(options.interpreter),
        has_stacks_(!reader.stacks().empty()),
        stacks_(reader.stacks()),
        names_of_(names_of),
        times_of_trace_{reader.times().first, reader.ticks_per_second()},
        finder_(stacks_, names_of_, rounding_for(reader, options)),
        pins_(stacks_, names_of_, finder_.sites(), findings::run_course(reader),
              options.on_ashlar ? findings::placed_by::ashlar : findings::placed_by::recorded) {}
  void count(const trace::step& s) {
    if (!has_stacks_) return;
    finder_.count(s);
    pins_.count(s);
    timer_.count(s);
  }
  // Effects: reads the trace again where a replay is to verify a finding. Requires: called once,
  // behind all steps. Throws: command_error, trace_error.
  void finish(const std::string& path, const sites::growing_sites& growing) {
    if (!has_stacks_) return;
    found_ = finder_.findings();
    const auto again = [&](const findings::pin_finder::each_step& each) {
      trace::trace_reader reader(trace::open_file_source(path));
      trace::lifetimes steps(reader);
      for (trace::step s; steps.next(s);) each(s);
    };
    for (findings::finding& pin : pins_.findings(again)) found_.list.push_back(std::move(pin));
    for (findings::finding& each : findings::rising_findings(growing, found_.totals, found_.list))
      found_.list.push_back(std::move(each));
    if (!interpreter_)
      found_.in_interpreter = std::erase_if(found_.list, [](const findings::finding& f) {
        return findings::is_of_interpreter(f.calls[f.owner]);
      });
    findings::rank(found_.list);
    if (take_time(found_)) times_ = timer_.measure();
  }
  [[nodiscard]] nlohmann::json json() const {
    return has_stacks_ ? findings_json(found_, times_) : nlohmann::json();
  }
  [[nodiscard]] nlohmann::json pins() const {
    return has_stacks_ ? pins_json(pins_, times_of_trace_, stacks_, names_of_) : nlohmann::json();
  }
  [[nodiscard]] std::string first_text(std::size_t rows) const {
    return has_stacks_
               ? render_first_findings(found_, times_, rows)
               : "\n  no call stacks, so no line can be named: record without --no-stacks\n";
  }
  [[nodiscard]] std::string text(std::size_t rows) const {
    if (!has_stacks_) return {};
    return "\n" + render_pins(pins_, times_of_trace_, rows) + render_findings(found_, times_, rows);
  }
  [[nodiscard]] const std::vector<std::string>& without_lines() const {
    return found_.without_lines;
  }

 private:
  bool interpreter_, has_stacks_;
  const std::vector<trace::stack_definition>& stacks_;
  report::names_of_stack names_of_;
  trace_times times_of_trace_;
  findings::finder finder_;
  findings::pin_finder pins_;
  call_timer timer_;
  findings::findings_of_run found_;
  std::optional<call_times> times_;
};

std::vector<result> results_of(const nlohmann::json& found) {
  std::vector<result> results;
  if (found.is_null()) return results;
  for (const nlohmann::json& f : found["findings"]) {
    const auto text = [&](const char* member) { return f[member].get<std::string>(); };
    const std::string kind = text("kind");
    const bool holds = kind == "leak" || kind == "rising" || kind == "pins";
    results.push_back({kind, holds ? "warning" : "note",
                       fmt::format("{}: saves up to {}. {} {}", text("title"), text("savings"),
                                   text("evidence"), text("remedy")),
                       f["site"]["source"].get<std::string>()});
  }
  return results;
}

std::vector<benchmark_value> benchmark_of(const trace_report& report, const nlohmann::json& found) {
  const trace::trace_summary& s = report.summary;
  const std::vector<std::string> words =
      words_of_arguments(s.of_peak.get(trace::header_name::arguments));
  std::string program = words.empty() ? "program" : words.front();
  program.erase(0, program.rfind('/') + 1);
  std::vector<benchmark_value> values;
  const auto add = [&](const char* name, const char* unit, double value) {
    values.push_back({fmt::format("{}: {}", program, name), unit, value});
  };
  if (s.memory.peak != 0) add("peak RSS", "bytes", static_cast<double>(s.memory.peak));
  add("peak of live bytes", "bytes", static_cast<double>(s.peak_bytes));
  add("held at the end", "bytes", static_cast<double>(s.live_bytes));
  add("allocations", "blocks", static_cast<double>(s.births));
  if (found.is_object() && found.contains("times") && found["times"].is_object()) {
    const auto ns = [&](const char* name) { return found["times"][name].get<double>(); };
    add("time in the allocator, estimated", "ms",
        (static_cast<double>(s.births) * ns("allocate_ns") +
         static_cast<double>(s.deaths) * ns("free_ns")) /
            1e6);
  }
  return values;
}

int text_of_profile(const report_options& options) {
  const std::string& path = options.traces.front();
  if (!options.format.empty())
    throw input_error(
        fmt::format("'{}' is a profile, of which --for has nothing: name a trace", path));
  const profiling::profile runs = profiling::read_profile(path);
  print_report(
      options.json_path, [&] { return files::json_text(profile_report_json(runs, path), 2); },
      [&] { return render_profile_report(runs, path, options.rows, reader_glyphs()); });
  return 0;
}

int text_report(const report_options& options) {
  const chosen_trace chosen = choose_trace(options.traces.front(), options.process);
  if (!chosen.tree && profiling::is_profile(chosen.path)) return text_of_profile(options);
  const auto reader = open_trace(chosen.path);
  trace::call_names names(*reader);
  finding_pass pass(
      *reader, [&](const trace::stack_definition& stack) { return names.of(stack); }, options);
  trace_report report =
      make_trace_report(*reader, names, chosen.path, options.rows, options.moments,
                        [&](const trace::step& s) { pass.count(s); });
  pass.finish(chosen.path, report.growing);
  const auto json = [&] {
    nlohmann::json figures = trace_report_json(report);
    if (chosen.tree) figures["tree"] = index_json(*chosen.tree);
    figures["findings"] = pass.json();
    figures["pins"] = pass.pins();
    if (options.format == "benchmark")
      return benchmark_text(benchmark_of(report, figures["findings"]));
    if (!options.format.empty())
      return results_text(options.format, "report", results_of(figures["findings"]));
    return files::json_text(figures, 2);
  };
  const auto text = [&] {
    return render_answer(report) + pass.first_text(options.rows) + "\n" +
           (chosen.tree ? render_tree(*chosen.tree, chosen.folder, options.rows) : "") +
           render_figures(report, options.rows, options.full, reader_glyphs()) +
           pass.text(options.rows);
  };
  print_report(options.json_path, json, text, option_of_path(options.format));
  for (const std::string& file : pass.without_lines())
    if (std::ranges::find(report.without_lines, file) == report.without_lines.end())
      report.without_lines.push_back(file);
  tell_missing_names(names.lost(), report.without_lines);
  return 0;
}

constexpr unsigned report_schema = 1;

nlohmann::json report_data(const report_options& options, const std::string& trace) {
  report::trace_request request{
      .file = trace, .chosen = {}, .names_of = {}, .site_of = site_for, .also = {}};
  nlohmann::json pools;
  nlohmann::json replay;
  if (!options.pools.empty()) {
    report::chosen_pools read = report::read_pools(files::read_input(options.pools), options.pools);
    request.chosen = std::move(read.classes);
    pools = std::move(read.about);
  }
  if (!options.replay.empty())
    replay = report::read_replay(files::read_input(options.replay), options.replay);
  const auto reader = open_trace(trace);
  trace::call_names calls(*reader);
  request.names_of = [&](const trace::stack_definition& stack) { return calls.of(stack); };
  finding_pass pass(*reader, request.names_of, options);
  trace::held_counter held(reader->times());
  request.also = [&](const trace::step& s) {
    pass.count(s);
    held.count(s);
  };
  nlohmann::json data = report::trace_data(*reader, request);
  pass.finish(trace, sites::find_growth(*reader, held.all(), calls));
  data["findings"] = pass.json();
  data["pins"] = pass.pins();
  tell_missing_names(calls.lost(), {});
  data["ashlar"] = ASHLAR_CLI_VERSION;
  data["report"] = "trace";
  data["schema"] = report_schema;
  data["pools"] = std::move(pools);
  data["replay"] = std::move(replay);
  return data;
}

// So many processes of a folder have a page: those that had most memory.
constexpr std::size_t pages_max = 12;

// Returns: what the page of a whole tree shows: the processes, and the data of the chosen one, which
// comes first, and of others.
nlohmann::json tree_data(const report_options& options, const chosen_trace& chosen) {
  if (!options.pools.empty() || !options.replay.empty())
    throw input_error(fmt::format(
        "--pools and --replay are of one process: name its trace, as '{}'", chosen.path));
  std::vector<std::size_t> places = places_by_memory(*chosen.tree);
  places.erase(std::ranges::find(places, chosen.place));
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

// Effects: writes the page and the data. Throws: command_error, status_usage for whatever cannot be
// read.
int page_report(const report_options& options) {
  const std::string output =
      options.output.empty() && options.json_path.empty() ? "report.html" : options.output;
  const chosen_trace chosen = choose_trace(options.traces.front(), options.process);
  if (!chosen.tree && profiling::is_profile(chosen.path))
    throw input_error(fmt::format(
        "'{0}' is a profile, of which there is no page: ashlar report --text {0}", chosen.path));
  files::replaced_files files({chosen.path, options.pools, options.replay});
  if (!options.json_path.empty()) files.prepare("--json", options.json_path);
  if (!output.empty()) files.prepare("-o", output);
  nlohmann::json data;
  try {
    data = chosen.tree ? tree_data(options, chosen) : report_data(options, chosen.path);
  } catch (const report::attachment_error& error) {
    throw input_error(error.what());
  }
  std::vector<std::string> contents;
  if (!options.json_path.empty()) contents.push_back(files::json_text(data, 1) + "\n");
  if (!output.empty()) contents.push_back(report::html_page(data));
  files.commit(contents);
  if (!output.empty())
    fmt::print(stderr, "ashlar report: {} ({})\n", output, format_bytes(contents.back().size()));
  return 0;
}

int report_command(const report_options& options) {
  if (options.traces.size() > 1)
    throw command_error(
        status_usage,
        fmt::format("report: one trace at a time; two are compared by: ashlar diff {}",
                    shell_quoted(options.traces)));
  return with_trace_errors([&] {
    return options.text || !options.format.empty() ? text_report(options) : page_report(options);
  });
}

}  // namespace

void add_report(command_parser& to) {
  command& report =
      to.add({"report", "What a trace says: a page with charts, or text; what to change",
              "[OPTIONS] TRACE", report_footer});
  const auto with = std::make_shared<report_options>();
  report.arguments("TRACE", with->traces, "What ashlar record wrote: a file, or a folder");
  report.value("--process", "NAME", with->process, process_help);
  const option output = report.output(with->output, "The page (default: report.html)");
  report
      .flag("--text", with->text,
            "Print what holds memory and what to change instead; of a profile its figures")
      .excludes(output);
  report.flag("--full", with->full,
              "--text: also sizes, what lived over time, lifetimes, and the calls of blocks");
  report.flag("--interpreter", with->interpreter,
              "Also findings in the code of an interpreter (python, node, ruby, php, ...)");
  report.flag("--on-ashlar", with->on_ashlar,
              "Findings as if ashlar's heap had placed the blocks: the pages that they pin, their "
              "rounding");
  report.value("--rows", "N", with->rows,
               "--text: so many sizes, call sites, processes and findings (default 10)");
  report.file("--pools", with->pools, "The pools that ashlar tune chose (JSON)");
  report.file("--replay", with->replay, "The trace on several allocators, by ashlar replay --json");
  report.json(with->json_path, "What the page, or the text, shows; a page then only with -o");
  report
      .value("--for", "FORMAT[=FILE]", with->format,
             "The findings for other readers, on standard output or into FILE: sarif (SARIF 2.1.0: "
             "code hosts, editors), junit (JUnit XML: CI), github (annotations); or benchmark: its "
             "figures for github-action-benchmark (customSmallerIsBetter)")
      .excludes(output);
  report.does([with] {
    take_format(with->format, with->json_path, true);
    return report_command(*with);
  });
}

}  // namespace ashlar::cli
