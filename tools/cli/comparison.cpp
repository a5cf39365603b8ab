// tools/cli/comparison.cpp. Layer: cli.
#include "tools/cli/comparison.hpp"

#include <string_view>

#include <fmt/format.h>
#include <sys/wait.h>

#include "tools/cli/error.hpp"
#include "tools/cli/table.hpp"
#include "tools/json/numbers.hpp"

namespace ashlar::cli {

namespace {

using json_files::count_at;

constexpr unsigned comparison_schema = 1;

bool failed(const comparison& compared, const run_sample& sample) {
  // WCOREDUMP is a matter of limits, not of the program: exit status and signal decide.
  const auto essence = [](int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0x100 + WTERMSIG(status);
  };
  return essence(sample.outcome.wait_status) != essence(compared.expected_status);
}

std::string range(std::string low, std::string high, glyphs set) {
  return fmt::format("{}{}{}", std::move(low), dash(set), std::move(high));
}

std::string ratio_cell(double value, double base) {
  return base > 0 ? fmt::format("{:.2f}", value / base) : std::string{};
}

void append_cells(std::vector<std::string>& cells, const spread& values, double base, glyphs set,
                  std::string (*format)(double)) {
  cells.push_back(format(values.median));
  cells.push_back(range(format(values.min), format(values.max), set));
  cells.push_back(ratio_cell(values.median, base));
}

nlohmann::json spread_json(const spread& values, double base) {
  nlohmann::json object{{"median", values.median}, {"min", values.min}, {"max", values.max}};
  object["ratio"] = base > 0 ? nlohmann::json(values.median / base) : nlohmann::json();
  return object;
}

spread spread_from(const nlohmann::json& object, std::size_t count) {
  spread values;
  object.at("median").get_to(values.median);
  object.at("min").get_to(values.min);
  object.at("max").get_to(values.max);
  values.count = count;
  return values;
}

nlohmann::json sample_json(const run_sample& sample) {
  const child_outcome& outcome = sample.outcome;
  const bool exited = WIFEXITED(outcome.wait_status);
  nlohmann::json object = usage_json(outcome);
  object["warmup"] = sample.warmup;
  object["round"] = sample.round;
  object["position"] = sample.position;
  object["exit_status"] =
      exited ? nlohmann::json(WEXITSTATUS(outcome.wait_status)) : nlohmann::json();
  object["signal"] = exited ? nlohmann::json() : nlohmann::json(WTERMSIG(outcome.wait_status));
  return object;
}

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string indented(std::string_view text, std::string_view before) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += fmt::format("{}{}\n", before, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The baseline's figures, or nothing to relate to where it failed.
struct base_figures {
  double wall = 0;
  double cpu = 0;
  double rss = 0;
};

base_figures base_of(const std::vector<allocator_summary>& summaries) {
  if (summaries.empty() || !summaries.front().quotable()) return {};
  return {summaries.front().wall_seconds.median, summaries.front().cpu_seconds.median,
          summaries.front().peak_rss_bytes.median};
}

std::vector<allocator_summary> summaries_of(const comparison& compared) {
  std::vector<allocator_summary> summaries;
  summaries.reserve(compared.allocators.size());
  for (const allocator_samples& samples : compared.allocators) {
    summaries.push_back(summarise(compared, samples));
  }
  return summaries;
}

void append_figures(std::vector<std::string>& cells, const allocator_summary& summary,
                    const base_figures& base, glyphs set) {
  if (summary.failed_runs > 0) {
    cells.emplace_back("failed");
  } else if (summary.runs == 0) {
    cells.emplace_back("not run");
  } else {
    append_cells(cells, summary.wall_seconds, base.wall, set, format_seconds);
    append_cells(cells, summary.cpu_seconds, base.cpu, set, format_seconds);
    append_cells(cells, summary.peak_rss_bytes, base.rss, set, format_mebibytes);
  }
}

std::vector<column> figure_columns(std::vector<column> columns) {
  for (const char* group : {"wall, s", "user + system, s", "peak RSS, MiB"}) {
    columns.push_back({"median", align::right, group});
    columns.push_back({"range", align::right, group});
    columns.push_back({"ratio", align::right, group});
  }
  return columns;
}

}  // namespace

allocator_summary summarise(const comparison& compared, const allocator_samples& samples) {
  allocator_summary summary;
  summary.name = samples.which.name;
  std::vector<double> wall;
  std::vector<double> cpu;
  std::vector<double> rss;
  for (const run_sample& sample : samples.samples) {
    if (failed(compared, sample)) {
      if (summary.failed_runs == 0)
        summary.failure = describe_wait_status(sample.outcome.wait_status);
      ++summary.failed_runs;
    }
    if (sample.warmup) continue;
    ++summary.runs;
    wall.push_back(sample.outcome.wall_seconds);
    cpu.push_back(sample.outcome.user_seconds + sample.outcome.system_seconds);
    rss.push_back(static_cast<double>(sample.outcome.peak_rss_bytes));
  }
  if (summary.failed_runs > 0) return summary;  // the time of a run that went wrong says nothing
  summary.wall_seconds = spread_of(std::move(wall));
  summary.cpu_seconds = spread_of(std::move(cpu));
  summary.peak_rss_bytes = spread_of(std::move(rss));
  return summary;
}

std::string render_comparison(const comparison& compared, glyphs set) {
  const std::vector<allocator_summary> summaries = summaries_of(compared);
  const base_figures base = base_of(summaries);
  table figures(figure_columns({{"allocator", align::left}, {"runs"}}));
  for (const allocator_summary& summary : summaries) {
    std::vector<std::string> cells{summary.name, fmt::format("{}", summary.runs)};
    append_figures(cells, summary, base, set);
    figures.add_row(std::move(cells));
  }

  std::string text = fmt::format("{}\n\n", shell_quoted(compared.command));
  text += figures.render();
  text +=
      fmt::format("\nratio: median to the median of {}; below 1 is better; seed {}\n",
                  summaries.empty() ? std::string("none") : summaries.front().name, compared.seed);
  if (!exited_with(compared.expected_status, 0)) {
    text += fmt::format(
        "note: the program's first run on {} ended with {}; the others were held to that\n",
        summaries.front().name, describe_wait_status(compared.expected_status));
  }
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const allocator_summary& summary = summaries[i];
    if (summary.failed_runs == 0) continue;
    text += fmt::format("failed: {}: {} of {} runs ({} expected; first failure: {})\n",
                        summary.name, summary.failed_runs, compared.allocators[i].samples.size(),
                        describe_wait_status(compared.expected_status), summary.failure);
    text += indented(compared.allocators[i].error_output, "    ");
  }
  if (compared.interrupted_by != 0) {
    text += fmt::format("note: ended early by {}: this is what had been measured by then\n",
                        signal_name(compared.interrupted_by));
  }
  return text;
}

nlohmann::json comparison_json(const comparison& compared) {
  nlohmann::json document{{"ashlar", ASHLAR_CLI_VERSION}, {"schema", comparison_schema},
                          {"report", "compare"},          {"label", compared.label},
                          {"command", compared.command},  {"seed", compared.seed},
                          {"warmup", compared.warmup},    {"rounds", compared.rounds}};
  document["interrupted_by"] = compared.interrupted_by != 0
                                   ? nlohmann::json(signal_name(compared.interrupted_by))
                                   : nlohmann::json();
  document["allocators"] = nlohmann::json::array();
  const std::vector<allocator_summary> summaries = summaries_of(compared);
  const base_figures base = base_of(summaries);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const allocator_summary& summary = summaries[i];
    nlohmann::json entry{{"name", summary.name},
                         {"library", compared.allocators[i].which.library},
                         {"runs", summary.runs},
                         {"failed_runs", summary.failed_runs},
                         {"failure", summary.failure}};
    if (summary.quotable()) {
      entry["wall_seconds"] = spread_json(summary.wall_seconds, base.wall);
      entry["cpu_seconds"] = spread_json(summary.cpu_seconds, base.cpu);
      entry["peak_rss_bytes"] = spread_json(summary.peak_rss_bytes, base.rss);
    }
    entry["samples"] = nlohmann::json::array();
    for (const run_sample& sample : compared.allocators[i].samples) {
      entry["samples"].push_back(sample_json(sample));
    }
    document["allocators"].push_back(std::move(entry));
  }
  return document;
}

std::string comparison_csv(const comparison& compared) {
  std::string text =
      "label,allocator,library,warmup,round,position,exit_status,signal,wall_seconds,user_seconds,"
      "system_seconds,peak_rss_bytes,minor_faults,major_faults,voluntary_switches,"
      "involuntary_switches\n";
  for (const allocator_samples& samples : compared.allocators) {
    for (const run_sample& sample : samples.samples) {
      const child_outcome& outcome = sample.outcome;
      const bool exited = WIFEXITED(outcome.wait_status);
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{:.9f},{:.6f},{:.6f},{},{},{},{},{}\n",
          csv_quoted(compared.label), csv_quoted(samples.which.name),
          csv_quoted(samples.which.library), sample.warmup ? 1 : 0, sample.round, sample.position,
          exited ? fmt::format("{}", WEXITSTATUS(outcome.wait_status)) : std::string{},
          exited ? std::string{} : fmt::format("{}", WTERMSIG(outcome.wait_status)),
          outcome.wall_seconds, outcome.user_seconds, outcome.system_seconds,
          outcome.peak_rss_bytes, outcome.minor_faults, outcome.major_faults,
          outcome.voluntary_switches, outcome.involuntary_switches);
    }
  }
  return text;
}

stored_comparison parse_comparison(const std::string& text, const std::string& origin) {
  stored_comparison stored;
  try {
    const nlohmann::json document = nlohmann::json::parse(text);
    if (document.value("report", "") != "compare" ||
        count_at(document, "schema") != comparison_schema) {
      throw command_error(status_usage, fmt::format("'{}' was not written by this version's ashlar "
                                                    "compare --json",
                                                    origin));
    }
    document.at("label").get_to(stored.label);
    for (const nlohmann::json& entry : document.at("allocators")) {
      allocator_summary summary;
      entry.at("name").get_to(summary.name);
      summary.runs = count_at(entry, "runs");
      summary.failed_runs = count_at(entry, "failed_runs");
      entry.at("failure").get_to(summary.failure);
      if (summary.quotable()) {
        summary.wall_seconds = spread_from(entry.at("wall_seconds"), summary.runs);
        summary.cpu_seconds = spread_from(entry.at("cpu_seconds"), summary.runs);
        summary.peak_rss_bytes = spread_from(entry.at("peak_rss_bytes"), summary.runs);
      }
      stored.allocators.push_back(std::move(summary));
    }
  } catch (const nlohmann::json::exception& error) {
    throw command_error(
        status_usage,
        fmt::format("'{}' is not the JSON of ashlar compare --json ({})", origin, error.what()));
  }
  return stored;
}

std::string render_summary(const std::vector<stored_comparison>& programs, glyphs set) {
  table figures(figure_columns({{"program", align::left}, {"allocator", align::left}, {"runs"}}));
  std::string notes;
  for (const stored_comparison& program : programs) {
    const base_figures base = base_of(program.allocators);
    for (const allocator_summary& summary : program.allocators) {
      std::vector<std::string> cells{&summary == &program.allocators.front() ? program.label : "",
                                     summary.name, fmt::format("{}", summary.runs)};
      append_figures(cells, summary, base, set);
      figures.add_row(std::move(cells));
      if (summary.failed_runs > 0) {
        notes +=
            fmt::format("failed: {} on {}: {}\n", program.label, summary.name, summary.failure);
      }
    }
  }
  return figures.render() + notes;
}

}  // namespace ashlar::cli
