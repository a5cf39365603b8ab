// tools/measure/comparison.cpp. Layer: measure.
#include "tools/measure/comparison.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>

#include "tools/files/error.hpp"
#include "tools/files/files.hpp"
#include "tools/files/json.hpp"

namespace ashlar::measure {

namespace {

using files::count_at;

constexpr unsigned comparison_schema = 1;

bool failed(const comparison& compared, const run_sample& sample) {
  // WCOREDUMP is a matter of limits, not of the program: exit status and signal decide.
  const auto essence = [](int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0x100 + WTERMSIG(status);
  };
  return essence(sample.outcome.wait_status) != essence(compared.expected_status);
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

// The end of a failed run's standard error: enough to see why, not enough to bury the table.
std::string last_lines(const std::string& text) {
  constexpr std::size_t line_count = 3;
  constexpr std::size_t byte_count = 600;
  std::size_t begin = text.size();
  for (std::size_t lines = 0; begin > 0; --begin) {
    if (begin != text.size() && text[begin - 1] == '\n' && ++lines == line_count) break;
  }
  return text.substr(std::max(begin, text.size() > byte_count ? text.size() - byte_count : 0));
}

// Fills a comparison in.
class comparison_run {
 public:
  comparison_run(comparison& compared, const run_request& how, const signal_watch& watch)
      : compared_(compared), how_(how), watch_(watch) {}

  void run_all() {
    std::mt19937_64 generator(compared_.seed);
    for (const bool warmup : {true, false}) {
      const std::size_t rounds = warmup ? compared_.warmup : compared_.rounds;
      for (std::size_t round = 1; round <= rounds && compared_.interrupted_by == 0; ++round) {
        run_round(warmup, round, generator);
        if (compared_.interrupted_by == 0) how_.after_round(warmup, round);
      }
    }
  }

 private:
  void run_round(bool warmup, std::size_t round, std::mt19937_64& generator) {
    std::vector<std::size_t> order = shuffled_order(compared_.allocators.size(), generator);
    // The very first run is the baseline's: it says how the program is expected to end.
    if (!expectation_known_) std::swap(order.front(), *std::ranges::find(order, 0U));
    for (std::size_t position = 0; position < order.size(); ++position) {
      allocator_samples& target = compared_.allocators[order[position]];
      how_.before_run(warmup, round, target.which.name);
      run_sample sample{warmup, round, position, {}};
      const files::open_file errors = scratch_.make_unnamed_file();
      sample.outcome = run_once(target.which, errors);
      require_started(sample.outcome, how_.program);
      compared_.interrupted_by =
          sample.outcome.signal_seen != 0 ? sample.outcome.signal_seen : watch_.fetch_pending();
      if (compared_.interrupted_by != 0) return;  // the run that was interrupted is no sample
      if (!expectation_known_) {
        compared_.expected_status = sample.outcome.wait_status;
        expectation_known_ = true;
      }
      if (sample.outcome.wait_status != compared_.expected_status && target.error_output.empty()) {
        target.error_output = last_lines(files::read_whole(errors));
      }
      target.samples.push_back(sample);
    }
  }

  [[nodiscard]] child_outcome run_once(const allocator& which,
                                       const files::open_file& errors) const {
    child_request request;
    request.file = how_.program;
    request.arguments = compared_.command;
    request.environment =
        which.library.empty()
            ? environment_with({})
            : environment_with(
                  {{"LD_PRELOAD", preload_value(preloadable_name(which.library, scratch_))}});
    request.stdin_fd = null_.descriptor();
    if (!how_.show_output) {
      request.stdout_fd = null_.descriptor();
      request.stderr_fd = errors.descriptor();
    }
    request.on_signal = interrupted_child::dies_at_second;
    return run_child(request, watch_);
  }

  comparison& compared_;
  const run_request& how_;
  const signal_watch& watch_;
  files::scratch_directory scratch_;
  files::open_file null_ = files::open_null();
  bool expectation_known_ = false;
};

}  // namespace

void run_comparison(comparison& compared, const run_request& how, const signal_watch& watch) {
  comparison_run(compared, how, watch).run_all();
}

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

nlohmann::json comparison_json(const comparison& compared) {
  nlohmann::json document{
      {"ashlar", compared.ashlar_version}, {"schema", comparison_schema}, {"report", "compare"},
      {"label", compared.label},           {"command", compared.command}, {"seed", compared.seed},
      {"warmup", compared.warmup},         {"rounds", compared.rounds}};
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

stored_comparison parse_comparison(const std::string& text, const std::string& origin) {
  stored_comparison stored;
  try {
    const nlohmann::json document = nlohmann::json::parse(text);
    if (document.value("report", "") != "compare" ||
        count_at(document, "schema") != comparison_schema) {
      throw files::command_error(files::status_usage,
                                 fmt::format("'{}' was not written by this version's ashlar "
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
    throw files::command_error(files::status_usage,
                               fmt::format("'{}' is not the JSON of ashlar compare --json: {}",
                                           origin, files::reason_of(error)));
  }
  return stored;
}

}  // namespace ashlar::measure
